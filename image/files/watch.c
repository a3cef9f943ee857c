#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "files.h"

enum {
	MOST_WATCHES = 4096,
	DEEPEST = 200,
	/* The second half of a move follows the first one at once; a move out of the tree has none. */
	MOVE_MS = 20,
};

#define CHANGES (IN_CREATE | IN_MODIFY | IN_ATTRIB | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR | IN_EXCL_UNLINK)

enum event { CREATED, CHANGED, REMOVED, MOVED, OVERFLOW };

struct watched {
	int number;            /* of the kernel; 0: this entry is free */
	char path[PATH_BYTES]; /* from the watched directory on; "" is that directory */
};

struct watching {
	int inotify;
	bool recursive;
	const char *root;
	struct watched entries[MOST_WATCHES];
	size_t count;
	/* The first half of a move, whose second half has not been read. */
	bool pending, pending_directory;
	uint32_t cookie;
	char pending_path[PATH_BYTES];
	/* The path of the last event, if it was CHANGED. */
	char last_changed[PATH_BYTES];
};

static void put_event(struct watching *watching, enum event type, const char *path, const char *from)
{
	if (type == CHANGED && strcmp(watching->last_changed, path) == 0)
		return;
	strcpy(watching->last_changed, type == CHANGED ? path : "");
	begin(EVENT);
	put_u8(type);
	put_text(path);
	put_text(from);
	end();
}

/* Writes DIR/NAME. Returns false if it is too long. */
static bool join(char path[PATH_BYTES], const char *dir, const char *name)
{
	size_t length = strlen(dir), size = strlen(name);
	if (length + size + 2 > PATH_BYTES)
		return false;
	memmove(path, dir, length);
	if (length > 0)
		path[length++] = '/';
	memcpy(path + length, name, size + 1);
	return true;
}

static struct watched *entry_of(struct watching *watching, int number)
{
	for (size_t i = 0; i < watching->count; i++)
		if (watching->entries[i].number == number)
			return &watching->entries[i];
	return NULL;
}

/* Whether a path is that of a directory or is below it. */
static bool is_within(const char *path, const char *directory)
{
	size_t length = strlen(directory);
	return strncmp(path, directory, length) == 0 && (path[length] == 0 || path[length] == '/');
}

/* Watches one directory. Returns 0 or an errno: ENOSPC if there are too many. */
static int watch_one(struct watching *watching, const char *path)
{
	char full[PATH_BYTES];
	if (*path ? !join(full, watching->root, path) : !join(full, watching->root, "."))
		return ENAMETOOLONG;
	int number = inotify_add_watch(watching->inotify, full, *path ? CHANGES | IN_DONT_FOLLOW : CHANGES | IN_DELETE_SELF | IN_MOVE_SELF);
	if (number < 0)
		return errno;
	struct watched *entry = entry_of(watching, number);
	if (!entry && !(entry = entry_of(watching, 0))) {
		if (watching->count == MOST_WATCHES) {
			inotify_rm_watch(watching->inotify, number);
			return ENOSPC;
		}
		entry = &watching->entries[watching->count++];
	}
	entry->number = number;
	strcpy(entry->path, path);
	return 0;
}

/*
 * Watches a directory, and the ones in it. With `report`, what is in it already is reported, because it may have come before the
 * watch. Returns 0 or an errno. A directory that has gone meanwhile is no error.
 */
static int watch_tree(struct watching *watching, const char *path, bool report, int depth)
{
	char full[PATH_BYTES], inner[PATH_BYTES];
	int err = watch_one(watching, path);
	if (err != 0)
		return depth > 0 && (err == ENOENT || err == ENOTDIR || err == EACCES || err == ELOOP) ? 0 : err;
	if (!watching->recursive)
		return 0;
	if (depth == DEEPEST)
		return ENAMETOOLONG;
	join(full, watching->root, *path ? path : ".");
	DIR *directory = opendir(full);
	if (!directory)
		return errno == ENOENT || errno == EACCES ? 0 : errno;
	for (struct dirent *entry; err == 0 && (entry = readdir(directory));) {
		struct stat info;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 || is_temporary(entry->d_name))
			continue;
		if (!join(inner, path, entry->d_name)) {
			err = ENAMETOOLONG;
			break;
		}
		if (report)
			put_event(watching, CREATED, inner, "");
		if (entry->d_type == DT_DIR ||
		    (entry->d_type == DT_UNKNOWN && fstatat(dirfd(directory), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
		     S_ISDIR(info.st_mode)))
			err = watch_tree(watching, inner, report, depth + 1);
	}
	closedir(directory);
	return err;
}

/* After the start, what cannot be watched is reported as changes that are missing. */
static void watch_new(struct watching *watching, const char *path, bool report)
{
	if (watching->recursive && watch_tree(watching, path, report, 1) != 0)
		put_event(watching, OVERFLOW, "", "");
}

/* Directories that have left the tree are no longer watched. */
static void forget_tree(struct watching *watching, const char *path)
{
	for (size_t i = 0; i < watching->count; i++) {
		struct watched *entry = &watching->entries[i];
		if (entry->number != 0 && *entry->path && is_within(entry->path, path)) {
			inotify_rm_watch(watching->inotify, entry->number);
			entry->number = 0;
		}
	}
}

/* Gives the watched directories of a tree that was moved their new paths. */
static void rename_tree(struct watching *watching, const char *from, const char *to)
{
	char path[PATH_BYTES];
	for (size_t i = 0; i < watching->count; i++) {
		struct watched *entry = &watching->entries[i];
		if (entry->number == 0 || !*entry->path || !is_within(entry->path, from))
			continue;
		const char *rest = entry->path + strlen(from);
		strcpy(path, to);
		if (!*rest || join(path, to, rest + 1)) {
			strcpy(entry->path, path);
		} else {
			inotify_rm_watch(watching->inotify, entry->number);
			entry->number = 0;
			put_event(watching, OVERFLOW, "", "");
		}
	}
}

/* The first half of a move stays alone: the file has left the tree. */
static void end_pending(struct watching *watching)
{
	if (!watching->pending)
		return;
	watching->pending = false;
	if (watching->pending_directory)
		forget_tree(watching, watching->pending_path);
	put_event(watching, REMOVED, watching->pending_path, "");
}

/* A file without a name (O_TMPFILE) has one for the kernel's events: "#" and its number. */
static bool exists(struct watching *watching, const char *path)
{
	char full[PATH_BYTES];
	struct stat info;
	return join(full, watching->root, path) && lstat(full, &info) == 0;
}

/* Reports one event of the kernel. Returns false when the watched directory has gone. */
static bool take_event(struct watching *watching, const struct inotify_event *event)
{
	char path[PATH_BYTES];
	bool is_directory = event->mask & IN_ISDIR;
	bool completes = watching->pending && (event->mask & IN_MOVED_TO) && event->cookie == watching->cookie;
	if (!completes)
		end_pending(watching);
	if (event->mask & IN_Q_OVERFLOW) {
		put_event(watching, OVERFLOW, "", "");
		watch_new(watching, "", false); /* directories whose creation was lost */
		return true;
	}
	struct watched *entry = entry_of(watching, event->wd);
	if (!entry)
		return true;
	bool is_root = !*entry->path;
	if (event->mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)) {
		if (is_root)
			put_event(watching, REMOVED, "", "");
		else if (event->mask & IN_IGNORED)
			entry->number = 0;
		return !is_root;
	}
	if (event->len == 0 || !join(path, entry->path, event->name))
		return true;
	bool temporary = is_temporary(event->name);
	if (completes) {
		watching->pending = false;
		/* How serve_write replaces a file. */
		const char *slash = strrchr(watching->pending_path, '/');
		if (is_temporary(slash ? slash + 1 : watching->pending_path)) {
			put_event(watching, CHANGED, path, "");
		} else if (temporary) { /* how serve_remove moves what is deep */
			put_event(watching, REMOVED, watching->pending_path, "");
		} else {
			put_event(watching, MOVED, path, watching->pending_path);
			if (watching->pending_directory)
				rename_tree(watching, watching->pending_path, path);
		}
	} else if (event->mask & IN_MOVED_FROM) {
		watching->pending = true;
		watching->pending_directory = is_directory;
		watching->cookie = event->cookie;
		strcpy(watching->pending_path, path);
	} else if (temporary) {
		return true;
	} else if (event->mask & (IN_CREATE | IN_MOVED_TO)) {
		put_event(watching, CREATED, path, "");
		if (is_directory)
			watch_new(watching, path, true);
	} else if (event->mask & IN_DELETE) {
		put_event(watching, REMOVED, path, "");
	} else if (*event->name != '#' || exists(watching, path)) {
		put_event(watching, CHANGED, path, "");
	}
	return true;
}

/* Reports changes until the service leaves or the directory has gone. Returns whether the directory has gone. */
static bool follow(struct watching *watching)
{
	static char events[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
	struct pollfd fds[2] = {{.fd = watching->inotify, .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
	for (;;) {
		int ready = poll(fds, 2, watching->pending ? MOVE_MS : -1);
		if (ready < 0 && errno == EINTR)
			continue;
		/* The service says nothing while a directory is watched. */
		if (ready < 0 || fds[1].revents)
			return false;
		if (ready == 0)
			end_pending(watching);
		ssize_t got = ready > 0 ? read(watching->inotify, events, sizeof events) : 0;
		if (got < 0)
			return false;
		for (char *at = events; at < events + got;) {
			const struct inotify_event *event = (const void *)at;
			if (!take_event(watching, event))
				return true;
			at += sizeof *event + event->len;
		}
		flush();
	}
}

bool serve_watch(struct frame *request)
{
	static struct watching watching;
	static char path[PATH_BYTES];
	watching.recursive = take_u8(request) != 0;
	take_text(request, path, sizeof path);
	watching.root = path;
	watching.inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (watching.inotify < 0)
		return failed(errno, path);
	int err = watch_tree(&watching, "", false, 0);
	bool good = err == 0;
	if (err == ENOSPC)
		refused("tooManyDirectories", path);
	else if (err == ENAMETOOLONG)
		refused("tooDeep", path);
	else if (err != 0)
		failed(err, path);
	if (good) {
		begin(GO);
		end();
		flush();
		good = follow(&watching);
		begin(END);
		end();
	}
	close(watching.inotify);
	for (size_t i = 0; i < watching.count; i++)
		watching.entries[i].number = 0;
	watching.count = 0;
	watching.pending = false;
	*watching.last_changed = 0;
	return good;
}
