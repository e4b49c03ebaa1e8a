#include "database.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "flow_sdk/plugin.h"

/* Numbers of RocksDB's C interface that its header does not name. */
/* Above all of its levels: RocksDB keeps no log of its own. Its builds with assertions abort the process at the second line that a full
 * disk does not take; what goes wrong comes back from its calls in any case. */
#define LOG_LEVEL_NONE 6
#define RECOVERY_TOLERATES_TORN_TAIL                                                                                   \
	0 /* a torn last record is a crash; damage before it is an error, not a silent loss */

#define SPACE_NAME_SIZE 32

static const char *const compressions[] = { "lz4\tfast; the default", "zstd\tsmaller, slower", "none\tas it is", NULL };

static const flow_option compression_option = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_ENUM,
	.name = "compression",
	.doc = "How blocks on disk are compressed.",
	.example = "\"zstd\"",
	.default_text = "lz4",
	.choices = compressions,
};

static const flow_option block_cache_option = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_SIZE,
	.name = "block_cache",
	.doc = "Memory for blocks that were read, with their index and filters.",
	.example = "\"256MiB\"",
	.default_text = "32MiB",
	.minimum = "1MiB",
	.maximum = "1TiB",
};

static const flow_option write_buffer_option = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_SIZE,
	.name = "write_buffer",
	.doc = "Memory for what was written and not yet sorted into files. Up to two of these are in use.",
	.example = "\"64MiB\"",
	.default_text = "16MiB",
	.minimum = "1MiB",
	.maximum = "4GiB",
};

static const flow_option bloom_bits_option = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_INT,
	.name = "bloom_bits",
	.doc = "Bits a key of the filters that answer most look-ups of absent keys without a read. 0: no filters.",
	.example = "16",
	.default_text = "10",
	.minimum = "0",
	.maximum = "32",
};

static const flow_option max_open_files_option = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_INT,
	.name = "max_open_files",
	.doc = "How many data files are kept open.",
	.example = "1000",
	.default_text = "256",
	.minimum = "16",
	.maximum = "1000000",
};

static const flow_option background_jobs_option = {
	.struct_size = FLOW_SIZEOF(flow_option),
	.type = FLOW_OPTION_INT,
	.name = "background_jobs",
	.doc = "How many threads sort and merge files.",
	.example = "4",
	.default_text = "2",
	.minimum = "1",
	.maximum = "64",
};

const flow_option *const database_options[] = {
	&compression_option,
	&block_cache_option,
	&write_buffer_option,
	&bloom_bits_option,
	&max_open_files_option,
	&background_jobs_option,
	NULL,
};

/* What RocksDB's texts mean, most telling first. */
static const struct {
	const char *text;
	flow_status status;
	const char *advice;
} meanings[] = {
	{ "No space left", FLOW_E_FULL, "free space on this disk, then start again; what was acknowledged before is safe" },
	{ "Disk quota", FLOW_E_FULL, "raise the quota or free space, then start again" },
	{ "lock file", FLOW_E_LOCKED, "another process has it open; end that one or use another folder" },
	{ "lock hold by", FLOW_E_LOCKED,
	  "this process has it open already; each store and table needs a folder of its own" },
	{ "Permission denied", FLOW_E_DENIED, "make the folder and its files writable for this user" },
	{ "Read-only file system", FLOW_E_DENIED, "mount the file system writable or use another folder" },
	{ "Too many open files", FLOW_E_UNAVAILABLE, "lower max_open_files or raise the limit of the process (ulimit -n)" },
	{ "Corruption", FLOW_E_CORRUPT, "restore the folder from a copy, or remove it to start anew" },
	{ "Invalid argument", FLOW_E_ARGUMENT, "" },
	{ "IO error", FLOW_E_IO, "look at the disk and the system's log" },
};

flow_status
database_fail(const database *d, const char *action, char *message, flow_error *error)
{
	flow_status status = FLOW_E_FAILED;
	const char *advice = "";
	for (size_t i = 0; i < FLOW_COUNT(meanings); i++)
		if (strstr(message, meanings[i].text) != NULL) {
			status = meanings[i].status;
			advice = meanings[i].advice;
			break;
		}
	flow_fail(d->host, error, status, "rocksdb folder %s: cannot %s: %s%s%s", d->directory, action, message,
			  advice[0] == '\0' ? "" : "; ", advice);
	rocksdb_free(message);
	return status;
}

char *
database_copy_text(const flow_host *host, flow_slice text)
{
	char *copy = host->allocate(text.size + 1);
	if (copy == NULL)
		return NULL;
	if (text.size != 0)
		memcpy(copy, text.data, text.size);
	copy[text.size] = '\0';
	return copy;
}

static flow_status
out_of_memory(const database *d, flow_error *error)
{
	return flow_fail(d->host, error, FLOW_E_MEMORY, "rocksdb folder %s: out of memory",
					 d->directory == NULL ? "" : d->directory);
}

static flow_status
sync_directory(const database *d, const char *path, flow_error *error)
{
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int failed = folder < 0 || fsync(folder) != 0;
	int number = errno;
	if (folder >= 0)
		close(folder);
	if (!failed)
		return FLOW_OK;
	return flow_fail(d->host, error, FLOW_E_IO, "%s: cannot sync the folder: %s", path, strerror(number));
}

/* Makes the folder and its parents, each synced into its parent: what a crash must not lose starts with the folder. */
static flow_status
make_directories(const database *d, flow_error *error)
{
	char *path = d->directory;
	for (char *slash = path;; slash++) {
		slash = strchrnul(slash, '/');
		char held = *slash;
		*slash = '\0';
		int made = path[0] != '\0' && mkdir(path, 0755) == 0;
		int number = errno;
		char *before = strrchr(path, '/');
		flow_status status = FLOW_OK;
		if (made) {
			char kept = before == NULL ? '\0' : before[1];
			if (before != NULL)
				before[1] = '\0';
			status = sync_directory(d, before == NULL ? "." : path, error);
			if (before != NULL)
				before[1] = kept;
		} else if (path[0] != '\0' && number != EEXIST) {
			status = flow_fail(d->host, error, number == ENOSPC ? FLOW_E_FULL : FLOW_E_DENIED,
							   "rocksdb folder %s: cannot create it: %s", path, strerror(number));
		}
		*slash = held;
		if (status != FLOW_OK || held == '\0')
			return status;
	}
}

static int
choose_compression(const flow_options *options)
{
	flow_slice name = options == NULL ? flow_slice_of("lz4") : flow_option_text(options, "compression");
	if (flow_slice_is(name, "none"))
		return rocksdb_no_compression;
	return flow_slice_is(name, "zstd") ? rocksdb_zstd_compression : rocksdb_lz4_compression;
}

static int64_t
number_of(const flow_options *options, const char *name, int64_t absent)
{
	return options == NULL ? absent : flow_option_int(options, name, absent);
}

static void
set_block_options(database *d, const flow_options *options, int64_t cache_bytes)
{
	int64_t bloom_bits = number_of(options, "bloom_bits", 10);
	if (cache_bytes <= 0)
		cache_bytes = number_of(options, "block_cache", (int64_t)32 << 20);
	d->cache = rocksdb_cache_create_lru((size_t)cache_bytes);
	rocksdb_block_based_table_options_t *blocks = rocksdb_block_based_options_create();
	rocksdb_block_based_options_set_block_cache(blocks, d->cache);
	rocksdb_block_based_options_set_cache_index_and_filter_blocks(blocks, 1);
	rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(blocks, 1);
	rocksdb_block_based_options_set_format_version(blocks, 5);
	if (bloom_bits > 0)
		rocksdb_block_based_options_set_filter_policy(blocks,
													  rocksdb_filterpolicy_create_bloom_full((double)bloom_bits));
	rocksdb_options_set_block_based_table_factory(d->options, blocks);
	rocksdb_block_based_options_destroy(blocks);
}

static void
make_options(database *d, const flow_options *options, const flow_store_info *info)
{
	size_t write_buffer = (size_t)number_of(options, "write_buffer", (int64_t)16 << 20);
	d->options = rocksdb_options_create();
	rocksdb_options_set_create_if_missing(d->options, info->create != 0);
	rocksdb_options_set_create_missing_column_families(d->options, !info->read_only);
	rocksdb_options_set_compression(d->options, choose_compression(options));
	rocksdb_options_set_write_buffer_size(d->options, write_buffer);
	rocksdb_options_set_db_write_buffer_size(d->options, write_buffer * 2);
	rocksdb_options_set_max_total_wal_size(d->options, write_buffer * 4);
	rocksdb_options_set_max_open_files(d->options, (int)number_of(options, "max_open_files", 256));
	rocksdb_options_set_max_background_jobs(d->options, (int)number_of(options, "background_jobs", 2));
	rocksdb_options_set_level_compaction_dynamic_level_bytes(d->options, 1);
	rocksdb_options_set_wal_recovery_mode(d->options, RECOVERY_TOLERATES_TORN_TAIL);
	rocksdb_options_set_info_log_level(d->options, LOG_LEVEL_NONE);
	rocksdb_options_set_keep_log_file_num(d->options, 2);
	rocksdb_options_set_stats_dump_period_sec(d->options, 0);
	rocksdb_options_set_stats_persist_period_sec(d->options, 0);
	rocksdb_options_set_skip_stats_update_on_db_open(d->options, 1);
	set_block_options(d, options, info->cache_bytes);
	d->read = rocksdb_readoptions_create();
	d->buffered = rocksdb_writeoptions_create();
	d->synced = rocksdb_writeoptions_create();
	rocksdb_writeoptions_set_sync(d->synced, 1);
}

/* Writes of the store come in the order of their keys within a prefix (a key group of a state): remembering where the
 * last one of a prefix went saves RocksDB most of its search. The C interface knows this option by its text only. */
static flow_status
set_hints(database *d, flow_error *error)
{
	char *message = NULL;
	rocksdb_options_t *with_hints = rocksdb_options_create();
	rocksdb_get_options_from_string(d->options, "memtable_insert_with_hint_prefix_extractor=fixed:6", with_hints,
									&message);
	if (message != NULL) {
		rocksdb_options_destroy(with_hints);
		return database_fail(d, "set its options", message, error);
	}
	rocksdb_options_destroy(d->options);
	d->options = with_hints;
	return FLOW_OK;
}

/* Is there a database? -1: the folder cannot be looked at. */
static int
is_there(const database *d)
{
	char path[4096];
	if ((size_t)snprintf(path, sizeof(path), "%s/CURRENT", d->directory) >= sizeof(path))
		return -1;
	if (access(path, F_OK) == 0)
		return 1;
	return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
}

/* Space 0 is RocksDB's "default", which always exists. */
static void
name_space(char *name, uint32_t space)
{
	if (space == 0)
		snprintf(name, SPACE_NAME_SIZE, "default");
	else
		snprintf(name, SPACE_NAME_SIZE, "space%u", space);
}

/* How many spaces the folder has: RocksDB wants all of them opened. */
static flow_status
count_spaces(database *d, uint32_t *count, flow_error *error)
{
	char *message = NULL;
	size_t found = 0;
	char **names = rocksdb_list_column_families(d->options, d->directory, &found, &message);
	flow_status status = message == NULL ? FLOW_OK : database_fail(d, "read it", message, error);
	for (size_t i = 0; i < found && status == FLOW_OK; i++) {
		unsigned long space = 0;
		char check[SPACE_NAME_SIZE];
		if (strcmp(names[i], "default") != 0)
			space = strncmp(names[i], "space", 5) == 0 ? strtoul(names[i] + 5, NULL, 10) : 0;
		name_space(check, (uint32_t)space);
		if (strcmp(check, names[i]) != 0 || space >= 1024)
			status =
				flow_fail(d->host, error, FLOW_E_CONFLICT,
						  "rocksdb folder %s: it holds a column family '%s' that is not flowd's; use another folder",
						  d->directory, names[i]);
		else if (space + 1 > *count)
			*count = (uint32_t)space + 1;
	}
	rocksdb_list_column_families_destroy(names, found);
	return status;
}

/* RocksDB starts its threads here; signals are for the host's threads. */
static void
open_spaces(database *d, const char *const *names, const rocksdb_options_t *const *options, char **message)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	if (d->read_only)
		d->db = rocksdb_open_for_read_only_column_families(d->options, d->directory, (int)d->space_count, names,
														   options, d->spaces, 0, message);
	else
		d->db = rocksdb_open_column_families(d->options, d->directory, (int)d->space_count, names, options, d->spaces,
											 message);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static flow_status
open_database(database *d, flow_error *error)
{
	uint32_t count = d->space_count;
	uint64_t size = count * (sizeof(char *) + sizeof(rocksdb_options_t *) + SPACE_NAME_SIZE);
	d->spaces = flow_new(d->host, count * sizeof(*d->spaces));
	char *memory = flow_new(d->host, size);
	if (d->spaces == NULL || memory == NULL) {
		d->host->release(memory);
		return out_of_memory(d, error);
	}
	const char **names = (const char **)(void *)memory;
	const rocksdb_options_t **options = (const rocksdb_options_t **)(void *)(names + count);
	char *texts = (char *)(void *)(options + count);
	for (uint32_t i = 0; i < count; i++) {
		name_space(texts + (size_t)i * SPACE_NAME_SIZE, i);
		names[i] = texts + (size_t)i * SPACE_NAME_SIZE;
		options[i] = d->options;
	}
	char *message = NULL;
	open_spaces(d, names, options, &message);
	d->host->release(memory);
	if (message != NULL) {
		d->db = NULL;
		return database_fail(d, "open it", message, error);
	}
	return FLOW_OK;
}

static flow_status
find_or_make(database *d, const flow_store_info *info, flow_error *error)
{
	int there = is_there(d);
	if (there < 0)
		return flow_fail(d->host, error, FLOW_E_DENIED, "rocksdb folder %s: cannot look into it: %s", d->directory,
						 strerror(errno));
	d->space_count = info->space_count == 0 ? 1 : info->space_count;
	if (there > 0)
		return count_spaces(d, &d->space_count, error);
	if (!info->create || info->read_only)
		return flow_fail(d->host, error, FLOW_E_NOT_FOUND, "rocksdb folder %s: there is no database in it",
						 d->directory);
	return make_directories(d, error);
}

flow_status
database_open(const flow_host *host, const flow_options *options, const flow_store_info *info, database **opened,
			  flow_error *error)
{
	database *d = flow_new(host, sizeof(*d));
	if (d == NULL)
		return flow_fail(host, error, FLOW_E_MEMORY, "rocksdb: out of memory");
	d->host = host;
	d->read_only = info->read_only;
	d->directory = database_copy_text(host, info->directory);
	flow_status status = FLOW_OK;
	if (d->directory == NULL)
		status = out_of_memory(d, error);
	else if (d->directory[0] == '\0' || strlen(d->directory) != info->directory.size)
		status = flow_fail(host, error, FLOW_E_ARGUMENT, "rocksdb: a folder is needed");
	if (status == FLOW_OK) {
		make_options(d, options, info);
		status = set_hints(d, error);
		if (status == FLOW_OK)
			status = find_or_make(d, info, error);
	}
	if (status == FLOW_OK)
		status = open_database(d, error);
	if (status != FLOW_OK) {
		database_close(d);
		return status;
	}
	*opened = d;
	return FLOW_OK;
}

void
database_close(database *d)
{
	if (d == NULL)
		return;
	if (d->db != NULL) {
		for (uint32_t i = 0; i < d->space_count; i++)
			rocksdb_column_family_handle_destroy(d->spaces[i]);
		rocksdb_close(d->db);
	}
	if (d->options != NULL) {
		rocksdb_writeoptions_destroy(d->synced);
		rocksdb_writeoptions_destroy(d->buffered);
		rocksdb_readoptions_destroy(d->read);
		rocksdb_options_destroy(d->options);
		rocksdb_cache_destroy(d->cache);
	}
	d->host->release(d->spaces);
	d->host->release(d->directory);
	d->host->release(d);
}
