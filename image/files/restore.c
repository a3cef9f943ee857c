/*
 * Restores what save.c has saved, in a new sandbox in which nothing else runs. The content of the archive is that of another sandbox, so every
 * entry must be in a directory that the archive has just begun: no name leads further, and no link is followed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "saved.h"
#include "tar.h"
#include "unpack.h"

/* A directory whose entries come now. */
struct level {
	int fd;
	size_t length; /* of its name, without a slash at the end */
	bool is_own;
	mode_t mode;
	struct timespec changed;
};

/* A directory that its owner may not use. It gets its mode at the end, because names of links can lead through it. */
struct closed {
	struct closed *before;
	mode_t mode;
	struct timespec changed;
	char name[];
};

struct restoring {
	struct unpacking unpacking;
	struct level level[SAVED_DEEPEST + 1];
	size_t depth;
	char name[PATH_BYTES]; /* of the last entry; its beginning is the name of each level */
	struct closed *closed;
};

static bool bad(const struct restoring *restoring)
{
	return refused("badArchive", restoring->unpacking.name);
}

/* --- directories -------------------------------------------------------------------------------------- */

static int set_directory(int fd, mode_t mode, struct timespec changed)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, changed};
	return fchmod(fd, mode & 07777) != 0 || futimens(fd, times) != 0 ? errno : 0;
}

/* Ends the directory of the last level. */
static bool leave_level(struct restoring *restoring)
{
	struct level *level = &restoring->level[--restoring->depth];
	restoring->name[level->length] = 0;
	int err = 0;
	if (level->is_own && (level->mode & 0700) == 0700) {
		err = set_directory(level->fd, level->mode, level->changed);
	} else if (level->is_own) {
		struct closed *closed = malloc(sizeof *closed + level->length + 1);
		if (closed) {
			*closed = (struct closed){.before = restoring->closed, .mode = level->mode, .changed = level->changed};
			memcpy(closed->name, restoring->name, level->length + 1);
			restoring->closed = closed;
		} else {
			err = ENOMEM;
		}
	}
	close(level->fd);
	return err == 0 || failed(err, restoring->name);
}

/* Gives the closed directories their modes. Those that came later are first: they are in earlier ones. */
static bool close_directories(struct restoring *restoring)
{
	bool good = true;
	for (struct closed *closed = restoring->closed, *before; closed; closed = before) {
		char name[NAME_BYTES];
		int dir = good ? open_entry_parent(&restoring->unpacking, closed->name, name) : -1;
		int fd = dir < 0 ? -1 : openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		int err = fd < 0 ? errno : set_directory(fd, closed->mode, closed->changed);
		if (good && err != 0)
			good = failed(err, closed->name);
		if (fd >= 0)
			close(fd);
		if (dir >= 0)
			close(dir);
		before = closed->before;
		free(closed);
	}
	restoring->closed = NULL;
	return good;
}

static bool enter(struct restoring *restoring, int fd, size_t length, mode_t mode, bool is_own)
{
	if (fd < 0)
		return failed(errno, restoring->unpacking.name);
	if (restoring->depth == sizeof restoring->level / sizeof *restoring->level) {
		close(fd);
		return bad(restoring);
	}
	restoring->level[restoring->depth++] =
		(struct level){.fd = fd, .length = length, .mode = mode, .changed = restoring->unpacking.changed, .is_own = is_own};
	return true;
}

/* Begins one of the saved directories, which exist. */
static bool enter_top(struct restoring *restoring, mode_t mode)
{
	const char *name = restoring->unpacking.name;
	for (size_t i = 0; i < SAVED_DIRECTORIES; i++)
		if (strcmp(name, saved_directories[i].name) == 0) {
			int fd = openat(restoring->unpacking.root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			strcpy(restoring->name, name);
			return enter(restoring, fd, strlen(name), mode, saved_directories[i].is_own);
		}
	return bad(restoring);
}

/* --- entries ------------------------------------------------------------------------------------------ */

/* Copies bytes of the archive into a file. */
static bool copy(struct restoring *restoring, int fd, uint64_t bytes)
{
	while (bytes > 0) {
		const void *at;
		size_t some = take_content(&restoring->unpacking.content, &at, bytes < SIZE_MAX ? (size_t)bytes : SIZE_MAX);
		if (some == 0)
			return bad(restoring);
		int err = write_all(fd, at, some);
		if (err != 0)
			return failed(err, restoring->unpacking.name);
		bytes -= some;
	}
	return true;
}

/* Reads a line of the map of a sparse file. `*left` is how much of the content is left. */
static bool take_line(struct restoring *restoring, uint64_t *left, uint64_t *value)
{
	char byte;
	*value = 0;
	for (int digits = 0; digits <= 16 && *left > 0; digits++) {
		if (!take_bytes(&restoring->unpacking, &byte, 1))
			return false;
		(*left)--;
		if (byte == '\n')
			return digits > 0;
		if (byte < '0' || byte > '9')
			return false;
		*value = *value * 10 + (uint64_t)(byte - '0');
	}
	return false;
}

struct part {
	uint64_t from, bytes;
};

/* Reads the map, whose parts must be in order. Returns NULL if there is none, after an answer. */
static struct part *take_map(struct restoring *restoring, uint64_t *left, uint64_t *parts)
{
	uint64_t size = *left, at = 0;
	if (!take_line(restoring, left, parts) || *parts > *left / 4) /* each part has two lines of at least two bytes */
		return bad(restoring), NULL;
	struct part *map = malloc((size_t)(*parts + 1) * sizeof *map);
	if (!map)
		return failed(ENOMEM, restoring->unpacking.name), NULL;
	bool good = true;
	for (uint64_t i = 0; good && i < *parts; i++) {
		good = take_line(restoring, left, &map[i].from) && take_line(restoring, left, &map[i].bytes) && map[i].from >= at &&
		       map[i].from <= restoring->unpacking.real_size && map[i].bytes <= restoring->unpacking.real_size - map[i].from;
		at = map[i].from + map[i].bytes;
	}
	uint64_t padding = -(size - *left) % BLOCK;
	good = good && padding <= *left && skip_bytes(&restoring->unpacking, padding);
	*left -= good ? padding : 0;
	if (good)
		return map;
	free(map);
	return bad(restoring), NULL;
}

static bool restore_sparse(struct restoring *restoring, int fd, uint64_t size)
{
	uint64_t parts, left = size;
	struct part *map = take_map(restoring, &left, &parts);
	if (!map)
		return false;
	bool good = ftruncate(fd, (off_t)restoring->unpacking.real_size) == 0 || failed(errno, restoring->unpacking.name);
	for (uint64_t i = 0; good && i < parts; i++) {
		good = map[i].bytes <= left || bad(restoring);
		if (good)
			good = lseek(fd, (off_t)map[i].from, SEEK_SET) >= 0 || failed(errno, restoring->unpacking.name);
		if (good)
			good = copy(restoring, fd, map[i].bytes);
		left -= good ? map[i].bytes : 0;
	}
	free(map);
	return good && (left == 0 || bad(restoring));
}

static bool restore_file(struct restoring *restoring, int dir, const char *name, mode_t mode, uint64_t size)
{
	/* It has its permissions from the beginning, as nothing else runs. A write would take the other bits from it. */
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode & 0777);
	if (fd < 0)
		return failed(errno, restoring->unpacking.name);
	bool good = restoring->unpacking.is_sparse ? restore_sparse(restoring, fd, size) : copy(restoring, fd, size);
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, restoring->unpacking.changed};
	if (good && (((mode & 07000) != 0 && fchmod(fd, mode & 07777) != 0) || futimens(fd, times) != 0))
		good = failed(errno, restoring->unpacking.name);
	close(fd);
	if (!good)
		return false;
	restoring->unpacking.bytes += size;
	return skip_bytes(&restoring->unpacking, -size % BLOCK) || bad(restoring);
}

/* Another name of an entry that came before. */
static bool restore_link(struct restoring *restoring, int dir, const char *name)
{
	char of[NAME_BYTES];
	int from = open_entry_parent(&restoring->unpacking, restoring->unpacking.target, of);
	if (from < 0)
		return errno == EBADMSG ? bad(restoring) : failed(errno, restoring->unpacking.name);
	int err = *of && linkat(from, of, dir, name, 0) == 0 ? 0 : *of ? errno : EBADMSG;
	close(from);
	return err == 0 || (err == EBADMSG ? bad(restoring) : failed(err, restoring->unpacking.name));
}

static bool restore_other(struct restoring *restoring, int dir, const char *name, mode_t mode, char type)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, restoring->unpacking.changed};
	bool is_link = type == '2';
	bool made = is_link ? symlinkat(restoring->unpacking.target, dir, name) == 0
			    : mkfifoat(dir, name, 0600) == 0 && fchmodat(dir, name, mode & 07777, 0) == 0;
	return (made && utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW) == 0) || failed(errno, restoring->unpacking.name);
}

static bool restore_directory(struct restoring *restoring, int dir, const char *name, size_t length, mode_t mode)
{
	if (mkdirat(dir, name, 0700) != 0)
		return failed(errno, restoring->unpacking.name);
	return enter(restoring, openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), length, mode, true);
}

static bool restore_entry(struct restoring *restoring, const struct tar_header *header, uint64_t size)
{
	struct unpacking *unpacking = &restoring->unpacking;
	char *name = unpacking->name;
	size_t length = strlen(name);
	uint64_t mode;
	bool is_directory = header->type == '5';
	if (is_directory && length > 0 && name[length - 1] == '/')
		name[--length] = 0;
	if (!parse_number(header->mode, sizeof header->mode, &mode) || length == 0)
		return bad(restoring);
	/* Directories of which the entry is no part have ended. */
	while (restoring->depth > 0) {
		size_t above = restoring->level[restoring->depth - 1].length;
		if (length > above && name[above] == '/' && memcmp(name, restoring->name, above) == 0)
			break;
		if (!leave_level(restoring))
			return false;
	}
	if (restoring->depth == 0)
		return is_directory ? enter_top(restoring, (mode_t)mode) : bad(restoring);
	const struct level *level = &restoring->level[restoring->depth - 1];
	const char *last = name + level->length + 1;
	if (*last == 0 || strchr(last, '/') || strcmp(last, ".") == 0 || strcmp(last, "..") == 0 || strlen(last) >= NAME_BYTES)
		return bad(restoring);
	strcpy(restoring->name, name);
	unpacking->files++;
	switch (header->type) {
	case '0': return restore_file(restoring, level->fd, last, (mode_t)mode, size);
	case '1': return restore_link(restoring, level->fd, last);
	case '2':
	case '6': return restore_other(restoring, level->fd, last, (mode_t)mode, header->type);
	case '5': return restore_directory(restoring, level->fd, last, length, (mode_t)mode);
	default: return bad(restoring);
	}
}

static bool restore_all(struct restoring *restoring)
{
	struct unpacking *unpacking = &restoring->unpacking;
	struct tar_header header;
	int next;
	while ((next = next_header(unpacking, &header)) > 0) {
		uint64_t size;
		if (!parse_number(header.size, sizeof header.size, &size))
			return bad(restoring);
		if (header.type == 'x') {
			if (!take_pax(unpacking, size))
				return bad(restoring);
			continue;
		}
		if (!unpacking->has_name)
			take_name(unpacking, &header);
		if (!unpacking->has_target) {
			size_t length = strnlen(header.target, sizeof header.target);
			memcpy(unpacking->target, header.target, length);
			unpacking->target[length] = 0;
		}
		if (!restore_entry(restoring, &header, unpacking->has_size ? unpacking->size : size))
			return false;
		unpacking->has_name = unpacking->has_target = unpacking->has_size = unpacking->is_sparse = false;
		unpacking->changed = (struct timespec){0};
	}
	if (next < 0)
		return bad(restoring);
	while (restoring->depth > 0)
		if (!leave_level(restoring))
			return false;
	return close_directories(restoring);
}

bool serve_restore(void)
{
	static struct restoring restoring;
	struct unpacking *unpacking = &restoring.unpacking;
	for (size_t i = 0; i < SAVED_DIRECTORIES; i++) {
		char path[64] = "/";
		strcat(path, saved_directories[i].name);
		int err = empty_directory(path);
		if (err != 0)
			return failed(err, path);
	}
	restoring = (struct restoring){.unpacking = {.is_exact = true, .root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)}};
	if (unpacking->root < 0)
		return failed(errno, "/");
	/* Fewer stops. If the kernel refuses, the usual size works as well. */
	(void)!fcntl(STDIN_FILENO, F_SETPIPE_SZ, PIPE_BYTES);
	begin_content(&unpacking->content);
	mode_t mask = umask(0);
	bool good = restore_all(&restoring);
	umask(mask);
	close(unpacking->root);
	drain_content(&unpacking->content);
	if (unpacking->content.aborted) {
		begin(END);
		end();
	} else if (good) {
		begin(COUNTS);
		put_u64(unpacking->files);
		put_u64(unpacking->bytes);
		end();
	}
	return good;
}
