#include "support/fake_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"

#define NODES 64
#define NAMES 64
#define DESCRIPTORS 32
#define FIRST_DESCRIPTOR 100

/* A file or a folder. */
struct node {
	int used;
	int folder;
	int locked;
	char *data;
	uint64_t size;
	char *synced; /* content when it was last synced; NULL: never */
	uint64_t synced_size;
};

/* Where a path leads now, and where it leads on the disk. */
struct name {
	char path[256];
	int now;    /* node; -1: nowhere */
	int synced; /* likewise */
};

static struct node nodes[NODES];
static struct name names[NAMES];
static int descriptors[DESCRIPTORS]; /* node + 1; 0: free */
static uint64_t offsets[DESCRIPTORS];
static uint64_t changes, fail_at;
static int fail_number, crashed, syncs_lost;

/* Counts a changing call; -1: it fails. */
static int
change(void)
{
	changes++;
	if (crashed || (fail_at != 0 && changes >= fail_at)) {
		crashed |= fail_number == 0;
		errno = fail_number == 0 ? EIO : fail_number;
		return -1;
	}
	return 0;
}

static struct name *
find_name(const char *path, int make)
{
	struct name *unused = NULL;
	for (int i = 0; i < NAMES; i++) {
		if (strcmp(names[i].path, path) == 0)
			return &names[i];
		if (unused == NULL && names[i].path[0] == '\0')
			unused = &names[i];
	}
	if (!make || unused == NULL)
		return NULL;
	snprintf(unused->path, sizeof(unused->path), "%s", path);
	unused->now = unused->synced = -1;
	return unused;
}

static int
new_node(int folder)
{
	for (int i = 0; i < NODES; i++)
		if (!nodes[i].used) {
			nodes[i] = (struct node){ .used = 1, .folder = folder };
			return i;
		}
	abort();
}

static struct node *
node_of(int descriptor)
{
	return &nodes[descriptors[descriptor - FIRST_DESCRIPTOR] - 1];
}

static int
open_node(int node)
{
	for (int i = 0; i < DESCRIPTORS; i++)
		if (descriptors[i] == 0) {
			descriptors[i] = node + 1;
			offsets[i] = 0;
			return FIRST_DESCRIPTOR + i;
		}
	abort();
}

static int
fake_open(const char *path, int flags, int mode)
{
	(void)mode;
	struct name *name = find_name(path, (flags & O_CREAT) != 0);
	if (name == NULL || (name->now < 0 && (flags & O_CREAT) == 0)) {
		errno = ENOENT;
		return -1;
	}
	int changing = name->now < 0 || (flags & O_TRUNC) != 0;
	if (changing && change() != 0)
		return -1;
	if (name->now < 0)
		name->now = new_node(0);
	if ((flags & O_TRUNC) != 0)
		nodes[name->now].size = 0;
	return open_node(name->now);
}

static ssize_t
fake_read(int descriptor, void *data, size_t size)
{
	struct node *node = node_of(descriptor);
	uint64_t *offset = &offsets[descriptor - FIRST_DESCRIPTOR];
	uint64_t left = node->size - *offset;
	size_t count = size < left ? size : (size_t)left;
	if (count > 9)
		count = count / 2; /* short reads are legal */
	if (count != 0)
		memcpy(data, node->data + *offset, count);
	*offset += count;
	return (ssize_t)count;
}

static ssize_t
fake_write(int descriptor, const void *data, size_t size)
{
	if (change() != 0)
		return -1;
	struct node *node = node_of(descriptor);
	uint64_t *offset = &offsets[descriptor - FIRST_DESCRIPTOR];
	size_t count = size > 16 && *offset == 0 ? 7 : size;
	if (*offset + count > node->size) {
		node->data = realloc(node->data, *offset + count);
		node->size = *offset + count;
	}
	memcpy(node->data + *offset, data, count);
	*offset += count;
	return (ssize_t)count;
}

static int
fake_truncate(int descriptor, int64_t size)
{
	if (change() != 0)
		return -1;
	if ((uint64_t)size < node_of(descriptor)->size)
		node_of(descriptor)->size = (uint64_t)size;
	return 0;
}

static int64_t
fake_size(int descriptor)
{
	return (int64_t)node_of(descriptor)->size;
}

static const char *
path_of_node(const struct node *node)
{
	for (int i = 0; i < NAMES; i++)
		if (names[i].path[0] != '\0' && names[i].now == node - nodes)
			return names[i].path;
	return "";
}

/* A folder's sync makes the names directly in it durable. */
static void
sync_folder(const char *folder)
{
	size_t size = strlen(folder);
	for (int i = 0; i < NAMES; i++)
		if (strncmp(names[i].path, folder, size) == 0 && names[i].path[size] == '/' &&
			strchr(names[i].path + size + 1, '/') == NULL)
			names[i].synced = names[i].now;
}

static int
fake_sync(int descriptor)
{
	if (change() != 0)
		return -1;
	struct node *node = node_of(descriptor);
	if (syncs_lost)
		return 0;
	if (node->folder) {
		sync_folder(path_of_node(node));
		return 0;
	}
	free(node->synced);
	node->synced = malloc(node->size + 1);
	if (node->size != 0)
		memcpy(node->synced, node->data, node->size);
	node->synced_size = node->size;
	return 0;
}

static int
fake_close(int descriptor)
{
	if (descriptors[descriptor - FIRST_DESCRIPTOR] == 0) { /* of a process that a crash ended */
		errno = EBADF;
		return -1;
	}
	node_of(descriptor)->locked = 0;
	descriptors[descriptor - FIRST_DESCRIPTOR] = 0;
	return 0;
}

static int
fake_rename(const char *from, const char *to)
{
	struct name *source = find_name(from, 0);
	if (source == NULL || source->now < 0) {
		errno = ENOENT;
		return -1;
	}
	if (change() != 0)
		return -1;
	find_name(to, 1)->now = source->now;
	source->now = -1;
	return 0;
}

static int
fake_unlink(const char *path)
{
	struct name *name = find_name(path, 0);
	if (name == NULL || name->now < 0 || nodes[name->now].folder) {
		errno = name == NULL || name->now < 0 ? ENOENT : EISDIR;
		return -1;
	}
	if (change() != 0)
		return -1;
	name->now = -1;
	return 0;
}

static int
fake_make_directory(const char *path, int mode)
{
	(void)mode;
	struct name *name = find_name(path, 1);
	if (name->now >= 0) {
		errno = EEXIST;
		return -1;
	}
	if (change() != 0)
		return -1;
	name->now = new_node(1);
	return 0;
}

static int
fake_remove_directory(const char *path)
{
	struct name *name = find_name(path, 0);
	if (name == NULL || name->now < 0) {
		errno = ENOENT;
		return -1;
	}
	if (change() != 0)
		return -1;
	name->now = -1;
	return 0;
}

static int
fake_lock(int descriptor)
{
	struct node *node = node_of(descriptor);
	if (node->locked) {
		errno = EWOULDBLOCK;
		return -1;
	}
	node->locked = 1;
	return 0;
}

static int
fake_exists(const char *path)
{
	const struct name *name = find_name(path, 0);
	return name != NULL && name->now >= 0;
}

static char *
fake_list(const char *path, arena *memory, size_t *count)
{
	size_t size = strlen(path), used = 0;
	char *text = arena_allocate_zeroed(memory, sizeof(names));
	*count = 0;
	for (int i = 0; text != NULL && i < NAMES; i++)
		if (names[i].now >= 0 && strncmp(names[i].path, path, size) == 0 && names[i].path[size] == '/') {
			used += (size_t)sprintf(text + used, "%s", names[i].path + size + 1) + 1;
			(*count)++;
		}
	return text;
}

static const io_ops fake_calls = {
	.open = fake_open,
	.read = fake_read,
	.write = fake_write,
	.truncate = fake_truncate,
	.size = fake_size,
	.sync = fake_sync,
	.close = fake_close,
	.rename = fake_rename,
	.unlink = fake_unlink,
	.make_directory = fake_make_directory,
	.remove_directory = fake_remove_directory,
	.lock = fake_lock,
	.exists = fake_exists,
	.list = fake_list,
};

void
fake_disk_stop(void)
{
	io_use(NULL);
	for (int i = 0; i < NODES; i++) {
		free(nodes[i].data);
		free(nodes[i].synced);
	}
	memset(nodes, 0, sizeof(nodes));
	memset(names, 0, sizeof(names));
	memset(descriptors, 0, sizeof(descriptors));
	changes = fail_at = 0;
	crashed = syncs_lost = fail_number = 0;
}

void
fake_disk_start(void)
{
	fake_disk_stop();
	struct name *root = find_name("/disk", 1);
	root->now = root->synced = new_node(1);
	io_use(&fake_calls);
}

uint64_t
fake_disk_fail(uint64_t n, int number)
{
	uint64_t before = changes;
	changes = 0;
	fail_at = n;
	fail_number = number;
	crashed = 0;
	return before;
}

void
fake_disk_lose_syncs(int lose)
{
	syncs_lost = lose;
}

static void
forget_unsynced(struct node *node, int how)
{
	if (node->folder || how == KEEP_UNSYNCED)
		return;
	if (how == TEAR_UNSYNCED) {
		int same = node->synced != NULL && node->synced_size == node->size &&
				   memcmp(node->synced, node->data, node->size) == 0;
		if (!same && node->size != 0)
			memset(node->data, 0, node->size);
		return;
	}
	node->size = node->synced == NULL ? 0 : node->synced_size;
	if (node->size != 0) {
		node->data = realloc(node->data, node->size);
		memcpy(node->data, node->synced, node->size);
	}
}

void
fake_disk_crash(int how)
{
	memset(descriptors, 0, sizeof(descriptors));
	fake_disk_fail(0, 0);
	for (int i = 0; i < NODES; i++) {
		nodes[i].locked = 0;
		if (nodes[i].used)
			forget_unsynced(&nodes[i], how);
	}
	for (int i = 0; how == LOSE_UNSYNCED && i < NAMES; i++)
		names[i].now = names[i].path[0] == '\0' ? 0 : names[i].synced;
}

const char *
fake_disk_content(const char *path, uint64_t *size)
{
	const struct name *name = find_name(path, 0);
	if (name == NULL || name->now < 0)
		return NULL;
	*size = nodes[name->now].size;
	return nodes[name->now].data;
}

void
fake_disk_put(const char *path, const char *data, uint64_t size)
{
	struct name *name = find_name(path, 1);
	if (name->now < 0)
		name->now = new_node(0);
	struct node *node = &nodes[name->now];
	node->data = realloc(node->data, size + 1);
	memcpy(node->data, data, size);
	node->size = size;
	name->synced = name->now;
	node->synced = realloc(node->synced, size + 1);
	memcpy(node->synced, data, size);
	node->synced_size = size;
}

uint64_t
fake_disk_open_files(void)
{
	uint64_t count = 0;
	for (int i = 0; i < DESCRIPTORS; i++)
		count += descriptors[i] != 0;
	return count;
}
