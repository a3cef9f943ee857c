/*
 * Saves what a snapshot contains: the directories that programs of a sandbox can write, as one tar archive. All other programs of the sandbox
 * are frozen meanwhile, so nothing changes. The same files give the same bytes: entries are sorted, and nothing depends on inode numbers,
 * users or the time.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "saved.h"
#include "tar.h"

/* A file with several names, of which the first one is in the archive with its content. */
struct linked {
	dev_t device;
	ino_t inode;
	char *name;
};

struct saving {
	struct linked *linked; /* an open hash table; `places` is a power of two */
	size_t places, used;
	uint64_t files, bytes;
	bool is_over; /* the service has given up, or left */
};

/* --- hard links --------------------------------------------------------------------------------------- */

static struct linked *find_linked(struct linked *table, size_t places, const struct stat *info)
{
	size_t at = (size_t)(((uint64_t)info->st_ino ^ (uint64_t)info->st_dev << 48) * 0x9e3779b97f4a7c15u >> 20) & (places - 1);
	while (table[at].name && (table[at].inode != info->st_ino || table[at].device != info->st_dev))
		at = (at + 1) & (places - 1);
	return &table[at];
}

static bool grow_linked(struct saving *saving)
{
	size_t places = saving->places ? 2 * saving->places : 64;
	struct linked *table = calloc(places, sizeof *table);
	if (!table)
		return false;
	for (size_t i = 0; i < saving->places; i++)
		if (saving->linked[i].name)
			*find_linked(table, places, &(struct stat){.st_dev = saving->linked[i].device, .st_ino = saving->linked[i].inode}) = saving->linked[i];
	free(saving->linked);
	saving->linked = table;
	saving->places = places;
	return true;
}

/*
 * Finds the first name of a file with several names, or notes that this is the first one (then `*first` is NULL). Returns false if there is no
 * memory left.
 */
static bool first_name(struct saving *saving, const struct stat *info, const char *name, const char **first)
{
	if (2 * saving->used >= saving->places && !grow_linked(saving))
		return false;
	struct linked *linked = find_linked(saving->linked, saving->places, info);
	*first = linked->name;
	if (linked->name)
		return true;
	*linked = (struct linked){.device = info->st_dev, .inode = info->st_ino, .name = strdup(name)};
	saving->used++;
	return linked->name != NULL;
}

/* --- files -------------------------------------------------------------------------------------------- */

static bool is_over(struct saving *saving)
{
	saving->is_over = saving->is_over || frame_waits();
	return saving->is_over;
}

/*
 * Opens a file or directory of the user for reading. If the user has taken this right from himself, he gets it for as long as that takes: `open_mode`
 * tells the caller which mode to set again, or is -1. Returns -1 with errno.
 */
static int open_own(int dir, const char *entry, const struct stat *info, int flags, int *open_mode)
{
	int mode = (int)(info->st_mode & 07777), needed = S_ISDIR(info->st_mode) ? 0700 : 0400;
	*open_mode = -1;
	if ((mode & needed) != needed) {
		if (fchmodat(dir, entry, (mode_t)(mode | needed), 0) != 0)
			return -1;
		*open_mode = mode;
	}
	int fd = openat(dir, entry, flags | O_RDONLY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC);
	int err = errno;
	if (fd < 0 && *open_mode >= 0)
		(void)!fchmodat(dir, entry, (mode_t)mode, 0);
	errno = err;
	return fd;
}

/* Copies bytes of a file into the archive. Many of them are not copied by this program: the pipe gets the pages of the file. */
static bool put_bytes(struct saving *saving, int fd, uint64_t from, uint64_t bytes, const char *name)
{
	static char chunk[LONG_BYTES];
	while (bytes > 0) {
		size_t some = bytes < CONTENT_BYTES ? (size_t)bytes : CONTENT_BYTES;
		if (some >= LONG_BYTES) {
			int err = send_file(fd, from, some);
			if (err != 0)
				return err == ENODATA ? refused("changed", name) : failed(err, name);
		} else {
			ssize_t got = pread(fd, chunk, some, (off_t)from);
			if (got < 0 && errno == EINTR)
				continue;
			if (got <= 0)
				return got < 0 ? failed(errno, name) : refused("changed", name);
			some = (size_t)got;
			put_data(chunk, some);
		}
		from += some;
		bytes -= some;
		if (bytes > 0 && is_over(saving)) /* the next entry looks, too */
			return false;
	}
	return true;
}

/* A part of a file that has content. */
struct part {
	uint64_t from, bytes;
};

/* Finds the next part from `at` on. Returns 1, 0 if there is none, or -1 with errno. */
static int next_part(int fd, uint64_t at, struct part *part)
{
	off_t from = lseek(fd, (off_t)at, SEEK_DATA);
	if (from < 0)
		return errno == ENXIO ? 0 : -1;
	off_t to = lseek(fd, from, SEEK_HOLE);
	if (to < 0)
		return -1;
	*part = (struct part){.from = (uint64_t)from, .bytes = (uint64_t)(to - from)};
	return part->bytes > 0;
}

/* What the map of a sparse file says, and how long it is. */
struct map {
	uint64_t parts, bytes;
	size_t text;
};

static size_t digits_of(uint64_t value)
{
	size_t digits = 1;
	for (; value >= 10; value /= 10)
		digits++;
	return digits;
}

static void put_line(uint64_t value)
{
	char text[24];
	put_data(text, (size_t)snprintf(text, sizeof text, "%llu\n", (unsigned long long)value));
}

/* Reads the parts of a file. With `puts`, puts their lines. A file that ends with a hole has an empty part there, as GNU tar writes it. */
static int read_map(int fd, uint64_t size, struct map *map, bool puts)
{
	struct part part;
	uint64_t at = 0;
	int found;
	*map = (struct map){0};
	while ((found = next_part(fd, at, &part)) > 0 || (found == 0 && at < size)) {
		if (found == 0)
			part = (struct part){.from = size};
		map->parts++;
		map->bytes += part.bytes;
		map->text += digits_of(part.from) + digits_of(part.bytes) + 2;
		if (puts) {
			put_line(part.from);
			put_line(part.bytes);
		}
		at = part.from + part.bytes;
		if (found == 0)
			break;
	}
	return found < 0 ? -1 : 0;
}

static bool put_sparse(struct saving *saving, int fd, const struct stat *info, const char *name)
{
	struct map map, again;
	uint64_t size = (uint64_t)info->st_size;
	if (read_map(fd, size, &map, false) < 0)
		return failed(errno, name);
	size_t text = map.text + digits_of(map.parts) + 1;
	size_t padded = text + (size_t)(-(uint64_t)text % BLOCK);
	tar_put_entry(&(struct tar_entry){
		.name = name, .target = "", .type = '0', .mode = info->st_mode, .changed = info->st_mtim, .is_exact = true,
		.size = padded + map.bytes, .is_sparse = true, .real_size = size,
	});
	put_line(map.parts);
	if (read_map(fd, size, &again, true) < 0)
		return failed(errno, name);
	if (again.parts != map.parts || again.bytes != map.bytes || again.text != map.text)
		return refused("changed", name);
	tar_put_padding(text);
	struct part part;
	uint64_t at = 0, left = map.bytes;
	int found;
	while ((found = next_part(fd, at, &part)) > 0 && part.bytes <= left) {
		if (!put_bytes(saving, fd, part.from, part.bytes, name))
			return false;
		left -= part.bytes;
		at = part.from + part.bytes;
	}
	if (found != 0 || left > 0)
		return found < 0 ? failed(errno, name) : refused("changed", name);
	tar_put_padding(map.bytes);
	saving->bytes += map.bytes;
	return true;
}

static bool put_file(struct saving *saving, int dir, const char *entry, const char *name, const struct stat *info)
{
	int mode;
	int fd = open_own(dir, entry, info, O_NONBLOCK | O_NOCTTY, &mode);
	if (fd < 0)
		return failed(errno, name);
	if (mode >= 0 && fchmod(fd, (mode_t)mode) != 0) {
		close(fd);
		return failed(errno, name);
	}
	uint64_t size = (uint64_t)info->st_size;
	bool good;
	if ((uint64_t)info->st_blocks * 512 < size) {
		good = put_sparse(saving, fd, info, name);
	} else {
		tar_put_entry(&(struct tar_entry){
			.name = name, .target = "", .type = '0', .mode = info->st_mode, .changed = info->st_mtim, .is_exact = true, .size = size,
		});
		good = put_bytes(saving, fd, 0, size, name);
		if (good)
			tar_put_padding(size);
		saving->bytes += size;
	}
	close(fd);
	return good;
}

/* --- directories -------------------------------------------------------------------------------------- */

/* The names in a directory, one after the other, and where each begins. */
struct names {
	char *text;
	size_t used, size;
	size_t *at;
	size_t count, most;
};

static bool add_name(struct names *names, const char *name)
{
	size_t length = strlen(name) + 1;
	if (names->used + length > names->size) {
		size_t size = 2 * names->size + 4096;
		char *text = realloc(names->text, size);
		if (!text)
			return false;
		names->text = text;
		names->size = size;
	}
	if (names->count == names->most) {
		size_t most = 2 * names->most + 128;
		size_t *at = realloc(names->at, most * sizeof *at);
		if (!at)
			return false;
		names->at = at;
		names->most = most;
	}
	memcpy(names->text + names->used, name, length);
	names->at[names->count++] = names->used;
	names->used += length;
	return true;
}

static int compare_names(const void *a, const void *b, void *text)
{
	return strcmp((const char *)text + *(const size_t *)a, (const char *)text + *(const size_t *)b);
}

/* Reads and sorts the names in a directory. Returns 0 or an errno. */
static int read_names(int dir, struct names *names)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC);
	if (copy < 0 && errno == EPERM) /* the directory is root's */
		copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = copy < 0 ? NULL : fdopendir(copy);
	if (!directory) {
		int err = errno;
		if (copy >= 0)
			close(copy);
		return err;
	}
	int err = 0;
	errno = 0;
	for (struct dirent *entry; err == 0 && (entry = readdir(directory)); errno = 0)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && !add_name(names, entry->d_name))
			err = ENOMEM;
	if (err == 0)
		err = errno;
	closedir(directory);
	if (err == 0 && names->count > 0)
		qsort_r(names->at, names->count, sizeof *names->at, compare_names, names->text);
	return err;
}

static bool put_directory(struct saving *saving, int dir, char *name, size_t length, int depth);

/* Puts what an entry of a directory is. `name` is its name in the archive, with `length` bytes, in a buffer of PATH_BYTES. */
static bool put_any(struct saving *saving, int dir, const char *entry, char *name, size_t length, int depth)
{
	struct stat info;
	const char *first = NULL;
	if (is_over(saving))
		return false;
	if (fstatat(dir, entry, &info, AT_SYMLINK_NOFOLLOW) != 0)
		return failed(errno, name);
	if (S_ISSOCK(info.st_mode) || S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode))
		return true; /* a socket is nothing without the process that listens on it; a sandbox has no devices here */
	struct tar_entry put = {.name = name, .target = "", .mode = info.st_mode, .changed = info.st_mtim, .is_exact = true};
	saving->files++;
	if (!S_ISDIR(info.st_mode) && info.st_nlink > 1 && !first_name(saving, &info, name, &first))
		return failed(ENOMEM, name);
	if (first) {
		put.type = '1';
		put.target = first;
		tar_put_entry(&put);
		return true;
	}
	if (S_ISREG(info.st_mode))
		return put_file(saving, dir, entry, name, &info);
	if (S_ISLNK(info.st_mode)) {
		char target[PATH_BYTES];
		ssize_t got = readlinkat(dir, entry, target, sizeof target - 1);
		if (got < 0)
			return failed(errno, name);
		target[got] = 0;
		put.type = '2';
		put.target = target;
		tar_put_entry(&put);
		return true;
	}
	if (S_ISFIFO(info.st_mode)) {
		put.type = '6';
		tar_put_entry(&put);
		return true;
	}
	if (depth == SAVED_DEEPEST || length + 2 > PATH_BYTES)
		return refused("tooDeep", name);
	int mode;
	int inner = open_own(dir, entry, &info, O_DIRECTORY, &mode);
	if (inner < 0)
		return failed(errno, name);
	strcpy(name + length, "/");
	put.type = '5';
	tar_put_entry(&put);
	bool good = put_directory(saving, inner, name, length + 1, depth + 1);
	if (mode >= 0 && fchmod(inner, (mode_t)mode) != 0 && good)
		good = failed(errno, name);
	close(inner);
	return good;
}

/* Puts the entries of a directory. */
static bool put_directory(struct saving *saving, int dir, char *name, size_t length, int depth)
{
	struct names names = {0};
	int err = read_names(dir, &names);
	bool good = err == 0 || failed(err, name);
	for (size_t i = 0; good && i < names.count; i++) {
		const char *entry = names.text + names.at[i];
		size_t size = strlen(entry);
		if (length + size >= PATH_BYTES) {
			good = refused("tooDeep", name);
			break;
		}
		memcpy(name + length, entry, size + 1);
		good = put_any(saving, dir, entry, name, length + size, depth);
		name[length] = 0;
	}
	free(names.text);
	free(names.at);
	return good;
}

/* Puts one of the saved directories. What the entry of a directory of root's says has no effect, so it is always the same. */
static bool put_top(struct saving *saving, const struct saved_directory *top)
{
	char name[PATH_BYTES];
	struct stat info;
	int mode = -1;
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || fstatat(root, top->name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(info.st_mode)) {
		int err = errno;
		if (root >= 0)
			close(root);
		return failed(err, top->name);
	}
	int dir = top->is_own ? open_own(root, top->name, &info, O_DIRECTORY, &mode)
			      : openat(root, top->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int err = errno;
	close(root);
	if (dir < 0)
		return failed(err, top->name);
	int length = snprintf(name, sizeof name, "%s/", top->name);
	struct tar_entry put = {.name = name, .target = "", .type = '5', .mode = 01777, .is_exact = true};
	if (top->is_own) {
		put.mode = info.st_mode;
		put.changed = info.st_mtim;
	}
	tar_put_entry(&put);
	bool good = put_directory(saving, dir, name, (size_t)length, 1);
	if (mode >= 0 && fchmod(dir, (mode_t)mode) != 0 && good)
		good = failed(errno, top->name);
	close(dir);
	return good;
}

bool serve_save(void)
{
	static struct saving saving;
	saving = (struct saving){0};
	begin(GO);
	end();
	bool good = true;
	for (size_t i = 0; good && i < SAVED_DIRECTORIES; i++)
		good = put_top(&saving, &saved_directories[i]);
	for (size_t i = 0; i < saving.places; i++)
		free(saving.linked[i].name);
	free(saving.linked);
	if (good) {
		tar_put_end();
		begin(COUNTS);
		put_u64(saving.files);
		put_u64(saving.bytes);
		end();
	} else if (saving.is_over) {
		struct frame frame;
		drop_data();
		if (!next_frame(&frame) || frame.type != ABORT)
			_exit(1);
		begin(END);
		end();
	}
	return good;
}
