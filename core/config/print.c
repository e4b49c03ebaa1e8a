/* A setting as it would stand in a file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"

static void print(const setting *s, FILE *to);

static void
print_quoted(const char *text, size_t size, FILE *to)
{
	fputc('"', to);
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c == '"' || c == '\\')
			fprintf(to, "\\%c", c);
		else if (c == '\n')
			fputs("\\n", to);
		else if (c == '\t')
			fputs("\\t", to);
		else if (c < 0x20 || c == 0x7F)
			fprintf(to, "\\x%02x", c);
		else
			fputc(c, to);
	}
	fputc('"', to);
}

static int
is_plain_name(const char *name)
{
	return name[0] != '\0' &&
		   strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_*") == strlen(name);
}

static void
print_group(const setting *s, FILE *to)
{
	fputc('{', to);
	for (size_t i = 0; i < s->child_count; i++) {
		const setting *child = s->children[i];
		fputc(' ', to);
		if (is_plain_name(child->name))
			fputs(child->name, to);
		else
			print_quoted(child->name, strlen(child->name), to);
		fputs(child->kind == SETTING_GROUP ? ": " : " = ", to);
		print(child, to);
		fputc(';', to);
	}
	fputs(" }", to);
}

static void
print_items(const setting *s, const char *open, const char *close, FILE *to)
{
	fputs(open, to);
	for (size_t i = 0; i < s->child_count; i++) {
		if (i != 0)
			fputs(", ", to);
		print(s->children[i], to);
	}
	fputs(close, to);
}

static void
print_number(const setting *s, FILE *to)
{
	if (s->text != NULL)
		fputs(s->text, to);
	else
		fprintf(to, "%lld%s", (long long)s->integer, s->integer < INT32_MIN || s->integer > INT32_MAX ? "L" : "");
}

static void
print(const setting *s, FILE *to)
{
	if (s->secret) {
		fputs("********", to);
		return;
	}
	switch (s->kind) {
	case SETTING_GROUP:
		print_group(s, to);
		break;
	case SETTING_LIST:
		print_items(s, "(", ")", to);
		break;
	case SETTING_ARRAY:
		print_items(s, "[", "]", to);
		break;
	case SETTING_STRING:
		print_quoted(s->text, s->size, to);
		break;
	case SETTING_BOOL:
		fputs(s->integer ? "true" : "false", to);
		break;
	default:
		print_number(s, to);
	}
}

char *
setting_print(arena *a, const setting *s)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);
	if (to == NULL)
		return NULL;
	print(s, to);
	int complete = fclose(to) == 0;
	char *copy = complete ? arena_copy(a, text, size) : NULL;
	free(text);
	return copy;
}
