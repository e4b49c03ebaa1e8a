#include "host/location.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"

#define WORDS_MOST 256 /* that are listed */

struct address {
	const char *scheme;
	const char *host; /* NULL: none */
	const char *path;
};

static int
no_memory(void)
{
	fprintf(stderr, "flowd: out of memory\n");
	return EXIT_RUN_FAILED;
}

static int
hexadecimal(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
		   : c >= 'a' && c <= 'f' ? c - 'a' + 10
		   : c >= 'A' && c <= 'F' ? c - 'A' + 10
								  : -1;
}

/* %41 is A. 0: a percent sign stands before something else than the two digits of a byte that may stand in a name. */
static int
decode_percents(char *text)
{
	char *to = text;
	for (; *text != '\0'; text++) {
		if (*text != '%') {
			*to++ = *text;
			continue;
		}
		int high = hexadecimal(text[1]), low = high < 0 ? -1 : hexadecimal(text[2]);
		if (low < 0 || high + low == 0)
			return 0;
		*to++ = (char)(high * 16 + low);
		text += 2;
	}
	*to = '\0';
	return 1;
}

/* kafka://HOST/PATH, with bytes as %41; a word without scheme is a path, and taken as it is. Returns an EXIT_* code. */
static int
split(const location *l, arena *a, const char *word, struct address *to)
{
	size_t size = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789+.-");
	*to = (struct address){ "file", NULL, word };
	if (size == 0 || strncmp(word + size, "://", 3) != 0)
		return EXIT_DONE;
	const char *rest = word + size + 3;
	size_t host_size = strcspn(rest, "/");
	char *host = arena_copy(a, rest, host_size), *path = arena_copy_text(a, rest + host_size);
	to->scheme = arena_copy(a, word, size);
	to->host = host;
	to->path = path;
	if (to->scheme == NULL || host == NULL || path == NULL)
		return no_memory();
	if (decode_percents(host) && decode_percents(path))
		return EXIT_DONE;
	fprintf(stderr,
			"flowd %s: %s: behind %% stand two hexadecimal digits, other than 00, in an address; %%25 is the percent "
			"sign\n",
			l->command, word);
	return EXIT_USAGE;
}

/* "avro, bytes, csv": all components of a kind. */
static const char *
list_ids(session *s, uint32_t kind)
{
	const char *ids[WORDS_MOST];
	size_t count = registry_ids(s->registry, kind, ids, WORDS_MOST);
	const char *list = "";
	for (size_t i = 0; i < count && i < WORDS_MOST && list != NULL; i++)
		list = arena_format(s->arena, "%s%s%s", list, i == 0 ? "" : ", ", ids[i]);
	return list == NULL ? "" : list;
}

/* "csv, json": what all components of a kind serve, without (dots 0) or with the words that begin with a dot. */
static const char *
list_served(session *s, uint32_t kind, int dots)
{
	const char *words[WORDS_MOST];
	size_t count = registry_served(s->registry, kind, s->arena, words, WORDS_MOST);
	const char *list = "";
	for (size_t i = 0; i < count && i < WORDS_MOST && list != NULL; i++)
		if ((words[i][0] == '.') == dots)
			list = arena_format(s->arena, "%s%s%s", list, list[0] == '\0' ? "" : ", ", words[i]);
	return list == NULL ? "" : list;
}

static int
load(const location *l, session *s, uint32_t kind, const char *id, const flow_component **component)
{
	flow_error error = { 0 };
	flow_status status = registry_component(s->registry, kind, id, component, &error);
	if (status != FLOW_OK)
		fprintf(stderr, "flowd %s: %s\n", l->command, error_message(&error));
	error_clear(&error);
	return status == FLOW_OK ? EXIT_DONE : status == FLOW_E_NOT_FOUND ? EXIT_USAGE : EXIT_PLUGIN;
}

static int
read_system(location *l, session *s, const struct address *address)
{
	const char *options;
	const manifest_component *found = registry_serving(s->registry, FLOW_SYSTEM, address->scheme, &options);
	if (found == NULL) {
		fprintf(stderr, "flowd %s: %s: no plugin serves %s://; known are: %s\n", l->command, l->place, address->scheme,
				list_served(s, FLOW_SYSTEM, 0));
		return EXIT_USAGE;
	}
	uint32_t needed = l->direction == FLOW_DIRECTION_INPUT ? FLOW_SYSTEM_HAS_INPUTS : FLOW_SYSTEM_HAS_OUTPUTS;
	if ((found->flags & needed) == 0) {
		fprintf(stderr, "flowd %s: %s: %s cannot be %s\n", l->command, l->place, found->id,
				l->direction == FLOW_DIRECTION_INPUT ? "read" : "written");
		return EXIT_USAGE;
	}
	return load(l, s, FLOW_SYSTEM, found->id, &l->system);
}

/* --- format ---------------------------------------------------------------------------------------------------------- */

static int
takes_off(const flow_component *system, const char *suffix)
{
	const char *const *served = FLOW_HAS(system, served) ? system->served : NULL;
	for (; served != NULL && *served != NULL; served++)
		if (strcmp(*served, suffix) == 0)
			return 1;
	return 0;
}

/* The suffix of a path in small letters, without what the system takes off; NULL: it has none, or out of memory. */
static const char *
suffix_of(const location *l, session *s, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *name = arena_copy_text(s->arena, slash == NULL ? path : slash + 1);
	char *dot = name == NULL ? NULL : strrchr(name, '.');
	while (dot != NULL && takes_off(l->system, dot)) {
		*dot = '\0';
		dot = strrchr(name, '.');
	}
	for (char *c = dot; c != NULL && *c != '\0'; c++)
		*c = (char)tolower((unsigned char)*c);
	return dot == NULL ? NULL : dot + 1;
}

/* A format by a suffix that it serves, with what that stands for, or by its id. */
static int
use_format(location *l, session *s, const char *word)
{
	const manifest_component *serving = registry_serving(s->registry, FLOW_SERDE, word, &l->format_options);
	int exit_code = load(l, s, FLOW_SERDE, serving == NULL ? word : serving->id, &l->format);
	if (exit_code == EXIT_USAGE)
		fprintf(stderr, "Formats are: %s; by their suffixes: %s. flowd help FORMAT tells more\n",
				list_ids(s, FLOW_SERDE), list_served(s, FLOW_SERDE, 0));
	return exit_code;
}

static int
unknown_format(const location *l, session *s, const char *path, const char *suffix, const char *format_option)
{
	fprintf(stderr, "flowd %s: %s: ", l->command, path);
	if (strcmp(path, "-") == 0)
		fprintf(stderr, "standard %s has no name that tells its format",
				l->direction == FLOW_DIRECTION_INPUT ? "input" : "output");
	else if (suffix == NULL)
		fprintf(stderr, "the name has no suffix that tells its format");
	else
		fprintf(stderr, "no format has the suffix .%s", suffix);
	fprintf(stderr, "; give it with %s. Known suffixes: %s; compressed: %s\n", format_option,
			list_served(s, FLOW_SERDE, 0), list_served(s, FLOW_SYSTEM, 1));
	return EXIT_USAGE;
}

/* Formats by suffix are the same where component and options are: .csv and .tsv are not. */
static int
same_format(const flow_component *first, const char *first_options, const location *l)
{
	const char *options = l->format_options == NULL ? "" : l->format_options;
	return first == l->format && strcmp(first_options == NULL ? "" : first_options, options) == 0;
}

static int
format_by_suffix(location *l, session *s, const char *format_option)
{
	const flow_component *first = NULL;
	const char *first_suffix = NULL, *first_options = NULL;
	for (size_t i = 0; i < l->path_count; i++) {
		const char *suffix = suffix_of(l, s, l->paths[i]);
		const manifest_component *found =
			suffix == NULL ? NULL : registry_serving(s->registry, FLOW_SERDE, suffix, &l->format_options);
		if (found == NULL)
			return unknown_format(l, s, l->paths[i], suffix, format_option);
		int exit_code = load(l, s, FLOW_SERDE, found->id, &l->format);
		if (exit_code != EXIT_DONE)
			return exit_code;
		if (first != NULL && !same_format(first, first_options, l)) {
			fprintf(stderr, "flowd %s: %s is %s and %s is %s: one run reads one format; %s FORMAT reads all as one\n",
					l->command, l->paths[0], first_suffix, l->paths[i], suffix, format_option);
			return EXIT_USAGE;
		}
		first = l->format;
		first_suffix = suffix;
		first_options = l->format_options;
	}
	return EXIT_DONE;
}

static int
read_format(location *l, session *s, const char *format, const char *format_option)
{
	if ((l->system->flags & FLOW_SYSTEM_OWN_SERDE) != 0)
		return EXIT_DONE;
	if (format != NULL)
		return use_format(l, s, format);
	if ((l->system->flags & FLOW_SYSTEM_BYTE_STREAMS) != 0)
		return format_by_suffix(l, s, format_option);
	fprintf(stderr, "flowd %s: %s: nothing tells the format of its records; give it with %s\n", l->command, l->place,
			format_option);
	return EXIT_USAGE;
}

int
location_read(location *l, session *s, const char *const *words, size_t count, const char *format,
			  const char *format_option)
{
	struct address first, other;
	l->place = words[0];
	l->paths = arena_allocate(s->arena, count * sizeof(*l->paths));
	if (l->paths == NULL)
		return no_memory();
	int exit_code = split(l, s->arena, words[0], &first);
	for (size_t i = 0; exit_code == EXIT_DONE && i < count; i++) {
		exit_code = split(l, s->arena, words[i], &other);
		if (exit_code != EXIT_DONE)
			break;
		const char *host = first.host == NULL ? "" : first.host, *other_host = other.host == NULL ? "" : other.host;
		if (strcmp(first.scheme, other.scheme) != 0 || strcmp(host, other_host) != 0) {
			fprintf(stderr, "flowd %s: %s and %s lie in different systems: one run reads one\n", l->command, words[0],
					words[i]);
			return EXIT_USAGE;
		}
		l->paths[l->path_count++] = other.path;
	}
	if (exit_code != EXIT_DONE)
		return exit_code;
	l->host = first.host;
	exit_code = read_system(l, s, &first);
	return exit_code == EXIT_DONE ? read_format(l, s, format, format_option) : exit_code;
}
