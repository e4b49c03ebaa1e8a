#include "options/setting.h"

#include <string.h>

setting *
setting_child(const setting *group, const char *name)
{
	if (group == NULL || group->kind != SETTING_GROUP)
		return NULL;
	for (size_t i = 0; i < group->child_count; i++)
		if (group->children[i]->name != NULL && strcmp(group->children[i]->name, name) == 0)
			return group->children[i];
	return NULL;
}

const char *
setting_kind_name(const setting *s)
{
	switch (s->kind) {
	case SETTING_GROUP:
		return "group";
	case SETTING_LIST:
		return "list";
	case SETTING_ARRAY:
		return "array";
	case SETTING_STRING:
		return "string";
	case SETTING_INT:
		return "integer";
	case SETTING_FLOAT:
		return "float";
	default:
		return "boolean";
	}
}
