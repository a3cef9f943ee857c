#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"

bool serve_stat(struct frame *request)
{
	char path[PATH_BYTES];
	struct stat info;
	bool follow = take_u8(request) != 0;
	take_text(request, path, sizeof path);
	if (fstatat(AT_FDCWD, path, &info, follow ? 0 : AT_SYMLINK_NOFOLLOW) != 0)
		return failed(errno, path);
	put_info(&info, "", AT_FDCWD, path);
	return true;
}

/* --- list --------------------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Restores the order of a heap whose largest name is the first, after `at` was replaced. */
static void sink(char **names, size_t count, size_t at)
{
	for (;;) {
		size_t largest = at;
		for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
			if (strcmp(names[child], names[largest]) > 0)
				largest = child;
		if (largest == at)
			return;
		char *name = names[at];
		names[at] = names[largest];
		names[largest] = name;
		at = largest;
	}
}

/* The first `most` names after `after`, in no order. Only these are kept, because a directory can have millions. */
static size_t first_names(DIR *directory, const char *after, size_t most, char **names, bool *more)
{
	size_t count = 0, seen = 0;
	*more = false;
	for (struct dirent *entry; (entry = readdir(directory));) {
		const char *name = entry->d_name;
		if (++seen % (1 << 18) == 0) {
			begin(PROGRESS);
			end();
			flush();
		}
		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || (*after && strcmp(name, after) <= 0))
			continue;
		if (count < most) {
			strcpy(names[count++], name);
			if (count == most)
				for (size_t at = most / 2; at-- > 0;)
					sink(names, count, at);
			continue;
		}
		*more = true;
		if (strcmp(name, names[0]) < 0) {
			strcpy(names[0], name);
			sink(names, count, 0);
		}
	}
	return count;
}

bool serve_list(struct frame *request)
{
	static char storage[MOST_ENTRIES][NAME_BYTES];
	char *names[MOST_ENTRIES];
	char path[PATH_BYTES], after[NAME_BYTES];
	bool more;
	size_t most = take_u32(request);
	take_text(request, after, sizeof after);
	take_text(request, path, sizeof path);
	if (most == 0 || most > MOST_ENTRIES)
		return refused("failed", path);
	DIR *directory = opendir(path);
	if (!directory)
		return failed(errno, path);
	for (size_t i = 0; i < most; i++)
		names[i] = storage[i];
	size_t count = first_names(directory, after, most, names, &more);
	qsort(names, count, sizeof *names, compare_names);
	const char *last = "";
	size_t bytes = 0;
	for (size_t i = 0; i < count; i++) {
		struct stat info;
		if (fstatat(dirfd(directory), names[i], &info, AT_SYMLINK_NOFOLLOW) == 0) {
			bytes += strlen(path) + strlen(names[i]) + (S_ISLNK(info.st_mode) ? (size_t)info.st_size : 0);
			if (i > 0 && bytes > PAGE_BYTES) {
				more = true;
				break;
			}
			put_info(&info, names[i], dirfd(directory), names[i]);
		}
		last = names[i];
	}
	closedir(directory);
	begin(END);
	put_u8(more);
	put_text(last);
	end();
	return true;
}

/* --- read --------------------------------------------------------------------------------------------- */

enum range { WHOLE, FROM, LAST };

/* A file of /proc says that it is empty. Reads such a file, which is small, into the data buffer. Returns its size, or -1 with errno. */
static ssize_t read_unsized(int fd)
{
	size_t got = 0;
	while (got < DATA_BYTES) {
		ssize_t some = read(fd, data_buffer() + got, DATA_BYTES - got);
		if (some < 0 && errno == EINTR)
			continue;
		if (some < 0)
			return -1;
		if (some == 0)
			return (ssize_t)got;
		got += (size_t)some;
	}
	errno = EOVERFLOW;
	return -1;
}

/* Sends the bytes. Returns false, after an answer, if there are fewer. */
static bool send_range(int fd, uint64_t from, uint64_t bytes, const char *path)
{
	while (bytes > 0) {
		size_t wanted = bytes < DATA_BYTES ? (size_t)bytes : DATA_BYTES;
		size_t got = 0;
		while (got < wanted) {
			ssize_t some = pread(fd, data_buffer() + got, wanted - got, (off_t)(from + got));
			if (some < 0 && errno == EINTR)
				continue;
			if (some < 0)
				return failed(errno, path);
			if (some == 0)
				return refused("changed", path);
			got += (size_t)some;
		}
		send_data(got);
		from += got;
		bytes -= got;
	}
	return true;
}

static bool read_open(int fd, struct stat *info, enum range range, uint64_t from, uint64_t to, const char *path)
{
	ssize_t unsized = 0;
	if (info->st_size == 0 && (unsized = read_unsized(fd)) < 0)
		return failed(errno, path);
	if (unsized > 0)
		info->st_size = unsized;
	uint64_t size = (uint64_t)info->st_size, first = 0, past = size;
	if (size >> 53) /* the service's numbers end there */
		return refused("failed", path);
	if (range == FROM) {
		first = from;
		past = to < size ? to : size;
	} else if (range == LAST) {
		first = from < size ? size - from : 0;
	}
	if (range != WHOLE && (first >= size || past <= first))
		return refused("badRange", path);
	put_info(info, "", AT_FDCWD, "");
	begin(RANGE);
	put_u64(first);
	put_u64(past - first);
	end();
	if (unsized > 0) {
		memmove(data_buffer(), data_buffer() + first, past - first);
		send_data(past - first);
	} else if (!send_range(fd, first, past - first, path)) {
		return false;
	}
	begin(END);
	end();
	return true;
}

bool serve_read(struct frame *request)
{
	char path[PATH_BYTES];
	struct stat info;
	enum range range = take_u8(request);
	uint64_t from = take_u64(request), to = take_u64(request);
	take_text(request, path, sizeof path);
	/* Looked at before it is opened, because opening a device can have effects. */
	if (stat(path, &info) != 0)
		return failed(errno, path);
	if (S_ISDIR(info.st_mode))
		return failed(EISDIR, path);
	if (!S_ISREG(info.st_mode))
		return refused("notRegular", path);
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return failed(errno, path);
	bool read = fstat(fd, &info) != 0     ? failed(errno, path)
		    : !S_ISREG(info.st_mode) ? refused("notRegular", path)
					      : read_open(fd, &info, range, from, to, path);
	close(fd);
	return read;
}

/* --- write -------------------------------------------------------------------------------------------- */

enum { MOST_LINKS = 40 };

/* The file that a path leads to: links in the place of the file are followed, so that what they lead to is replaced. */
struct place {
	int dir;
	char name[NAME_BYTES];
	bool exists;
	struct stat info;
};

/* Returns 0 or an errno. */
static int find_place(const char *path, struct place *place)
{
	char current[PATH_BYTES], target[PATH_BYTES];
	strcpy(current, path);
	for (int links = 0; links <= MOST_LINKS; links++) {
		size_t length = strlen(current);
		if (length > 0 && current[length - 1] == '/')
			return EISDIR;
		place->dir = open_parent(current, place->name);
		if (place->dir < 0)
			return errno;
		place->exists = fstatat(place->dir, place->name, &place->info, AT_SYMLINK_NOFOLLOW) == 0;
		if (place->exists ? !S_ISLNK(place->info.st_mode) : errno == ENOENT)
			return 0;
		int err = errno;
		ssize_t got = place->exists ? readlinkat(place->dir, place->name, target, sizeof target - 1) : -1;
		if (place->exists && got < 0)
			err = errno;
		close(place->dir);
		if (got < 0)
			return err;
		target[got] = 0;
		size_t parent = 0;
		if (*target != '/')
			parent = length - strlen(place->name);
		if (parent + (size_t)got >= sizeof current)
			return ENAMETOOLONG;
		strcpy(current + parent, target);
	}
	return ELOOP;
}

/* What a request expects of the file that it replaces. Empty text expects nothing. */
struct condition {
	char match[ETAG_BYTES], no_match[ETAG_BYTES];
};

static bool holds(const struct condition *condition, const struct place *place)
{
	char etag[ETAG_BYTES] = "";
	if (place->exists)
		make_etag(&place->info, etag);
	if (*condition->match && (!place->exists || (strcmp(condition->match, "*") != 0 && strcmp(condition->match, etag) != 0)))
		return false;
	return !*condition->no_match || !place->exists ||
	       (strcmp(condition->no_match, "*") != 0 && strcmp(condition->no_match, etag) != 0);
}

/* Whether the file may be replaced; otherwise, it has answered. */
static bool may_replace(const struct condition *condition, const struct place *place, const char *path)
{
	if (place->exists && S_ISDIR(place->info.st_mode))
		return failed(EISDIR, path);
	if (place->exists && !S_ISREG(place->info.st_mode))
		return refused("notRegular", path);
	if (!holds(condition, place))
		return refused("changed", path);
	/* A file that may not be written is not replaced either, although the directory would permit it. */
	if (place->exists && faccessat(place->dir, place->name, W_OK, 0) != 0)
		return failed(errno, path);
	return true;
}

/* Gives the file its name, and thereby replaces another one. Returns whether this succeeded; otherwise, it has answered. */
static bool commit(const struct condition *condition, struct place *place, int fd, char temporary[NAME_BYTES], const char *path)
{
	int err = 0;
	for (int tries = 0; tries < 3; tries++) {
		place->exists = fstatat(place->dir, place->name, &place->info, AT_SYMLINK_NOFOLLOW) == 0;
		if (!may_replace(condition, place, path))
			return false;
		if (place->exists) {
			err = name_temporary(place->dir, fd, temporary);
			if (err == 0 && renameat(place->dir, temporary, place->dir, place->name) != 0)
				err = errno;
			if (err == 0)
				*temporary = 0;
			return err == 0 || failed(err, path);
		}
		err = link_temporary(place->dir, fd, temporary, place->name);
		if (err != EEXIST) /* somebody else has just made it */
			return err == 0 || failed(err, path);
	}
	return failed(err, path);
}

static bool receive(struct content *content, const struct condition *condition, struct place *place, uint32_t mode,
		    char temporary[NAME_BYTES], const char *path)
{
	int fd = open_temporary(place->dir, temporary);
	if (fd < 0)
		return failed(errno, path);
	const void *bytes;
	bool good = true;
	for (size_t got; good && (got = take_content(content, &bytes, SIZE_MAX)) > 0;) {
		int err = write_all(fd, bytes, got);
		good = err == 0 || failed(err, path);
	}
	if (mode > 0777)
		mode = place->exists ? place->info.st_mode & 0777 : 0644;
	if (good && content->over)
		good = fchmod(fd, mode) == 0 || failed(errno, path);
	if (good && content->over && (good = commit(condition, place, fd, temporary, path))) {
		struct stat info;
		if (fstat(fd, &info) == 0)
			put_info(&info, "", AT_FDCWD, "");
		else
			good = failed(errno, path);
	}
	close(fd);
	return good;
}

bool serve_write(struct frame *request)
{
	char path[PATH_BYTES], temporary[NAME_BYTES] = "";
	struct condition condition;
	struct place place;
	struct content content;
	uint32_t mode = take_u32(request);
	bool parents = take_u8(request) != 0;
	take_text(request, condition.match, sizeof condition.match);
	take_text(request, condition.no_match, sizeof condition.no_match);
	take_text(request, path, sizeof path);
	if (parents) {
		char parent[PATH_BYTES];
		strcpy(parent, path);
		char *slash = strrchr(parent, '/');
		if (slash && slash > parent) {
			*slash = 0;
			int err = make_directories(parent);
			if (err != 0)
				return failed(err == EEXIST ? ENOTDIR : err, path);
		}
	}
	int err = find_place(path, &place);
	if (err != 0)
		return failed(err, path);
	bool good = may_replace(&condition, &place, path);
	if (good) {
		begin_content(&content);
		good = receive(&content, &condition, &place, mode, temporary, path);
		if (*temporary)
			unlinkat(place.dir, temporary, 0);
		if (!good)
			drain_content(&content);
		if (content.aborted) {
			begin(END);
			end();
			good = false;
		}
	}
	close(place.dir);
	return good;
}

/* --- directories and names ------------------------------------------------------------------------------ */

static bool answer_info(const char *path)
{
	struct stat info;
	if (lstat(path, &info) != 0)
		return failed(errno, path);
	put_info(&info, "", AT_FDCWD, path);
	return true;
}

bool serve_make(struct frame *request)
{
	char path[PATH_BYTES];
	take_text(request, path, sizeof path);
	int err = make_directories(path);
	if (err != 0)
		return failed(err, path);
	return answer_info(path);
}

bool serve_move(struct frame *request)
{
	char from[PATH_BYTES], to[PATH_BYTES];
	take_text(request, from, sizeof from);
	take_text(request, to, sizeof to);
	if (rename(from, to) != 0) {
		int err = errno;
		struct stat info;
		return failed(err, err == ENOENT && lstat(from, &info) == 0 ? to : from);
	}
	return answer_info(to);
}

/* --- remove ------------------------------------------------------------------------------------------- */

/* The removal of a directory with its content. */
struct removal {
	int top;
	uint64_t removed;
};

enum { DEEPEST = 200 };

static int removed_one(struct removal *removal)
{
	if (++removal->removed % 4096 == 0) {
		begin(PROGRESS);
		end();
		flush();
	}
	return 0;
}

static int remove_content(struct removal *removal, int dir, int depth);

/* Removes an entry of a directory. Returns 0 or an errno. */
static int remove_entry(struct removal *removal, int dir, const char *name, int depth)
{
	struct stat info;
	if (unlinkat(dir, name, 0) == 0)
		return removed_one(removal);
	int err = errno;
	if (err == ENOENT)
		return 0;
	if (fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : errno;
	if (!S_ISDIR(info.st_mode))
		return err;
	if (unlinkat(dir, name, AT_REMOVEDIR) == 0)
		return removed_one(removal);
	if (errno != ENOTEMPTY && errno != EEXIST)
		return errno;
	if (depth == DEEPEST) {
		/* It becomes an entry of the first directory, which is read again: the depth of a tree has no bound, descriptors have. */
		char moved[NAME_BYTES];
		temporary_name(moved);
		return renameat(dir, name, removal->top, moved) == 0 ? 0 : errno;
	}
	/* Directories of which the owner has taken rights from himself, such as those of Go's module cache. */
	if ((info.st_mode & 0700) != 0700 && info.st_uid == geteuid())
		(void)!fchmodat(dir, name, 0700, AT_SYMLINK_NOFOLLOW);
	int inner = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (inner < 0)
		return errno == ENOENT ? 0 : errno;
	err = remove_content(removal, inner, depth + 1);
	if (err == 0 && unlinkat(dir, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
		err = errno;
	return err == 0 ? removed_one(removal) : err;
}

/* Removes everything in a directory, and closes the descriptor. Returns 0 or an errno. */
static int remove_content(struct removal *removal, int dir, int depth)
{
	DIR *directory = fdopendir(dir);
	if (!directory) {
		int err = errno;
		close(dir);
		return err;
	}
	int err = 0;
	/* Until a pass finds nothing: entries can be skipped while others are removed, and deep directories come to the first one. */
	for (bool found = true; found && err == 0;) {
		found = false;
		rewinddir(directory);
		for (struct dirent *entry; err == 0 && (entry = readdir(directory));) {
			if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
				continue;
			found = true;
			err = remove_entry(removal, dir, entry->d_name, depth);
		}
	}
	closedir(directory);
	return err;
}

int empty_directory(const char *path)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct removal removal = {.top = dir};
	return dir < 0 ? errno : remove_content(&removal, dir, 0);
}

bool serve_remove(struct frame *request)
{
	char path[PATH_BYTES], name[NAME_BYTES];
	struct stat info;
	bool recursive = take_u8(request) != 0;
	take_text(request, path, sizeof path);
	int parent = open_parent(path, name);
	if (parent < 0)
		return failed(errno == EISDIR ? EPERM : errno, path);
	int err = 0;
	if (fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
		err = errno;
	} else if (!S_ISDIR(info.st_mode)) {
		if (unlinkat(parent, name, 0) != 0)
			err = errno;
	} else if (unlinkat(parent, name, AT_REMOVEDIR) != 0) {
		err = errno == EEXIST ? ENOTEMPTY : errno;
		if (err == ENOTEMPTY && recursive) {
			struct removal removal = {.top = -1};
			if ((info.st_mode & 0700) != 0700 && info.st_uid == geteuid())
				(void)!fchmodat(parent, name, 0700, AT_SYMLINK_NOFOLLOW);
			int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			removal.top = dir;
			err = dir < 0 ? errno : remove_content(&removal, dir, 0);
			if (err == 0 && unlinkat(parent, name, AT_REMOVEDIR) != 0)
				err = errno;
		}
	}
	close(parent);
	if (err != 0)
		return failed(err, path);
	begin(END);
	end();
	return true;
}
