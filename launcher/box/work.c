/*
 * The work directory of a box: /box. The slot writes files into it, reads what a program left there, and can share it with later boxes.
 *
 * The init of a box mounts a new work directory, so that one call unmounts it together with all mounts of the box: in each such call, the
 * kernel waits until no CPU uses the mounts. The slot itself mounts the work directory only if a later step will use it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "box/box.h"
#include "descriptors.h"
#include "seccomp.h"

enum { HUGE_PAGES_BYTES = 128 * 1024 /* the files of a step are stored in huge pages if they have so many bytes together */ };

int work_release(struct slot *s, struct failure *f)
{
	if (s->work_shared && keyed(umount2, "/box", MNT_DETACH) < 0)
		return fail(f, "mount", "remove /box");
	s->work_shared = false;
	s->previous_lane = NULL;
	return 0;
}

int work_share(struct slot *s, const struct box *b, struct failure *f)
{
	enum { OPEN_TREE_CLONED = 1, FROM_DESCRIPTOR = 4 };
	if (s->work_shared)
		return 0;
	if (keyed(setns, b->mount_ns, CLONE_NEWNS) < 0)
		return fail(f, "mount", "enter the box of /box");
	int tree = (int)keyed(open_tree, AT_FDCWD, "/box", OPEN_TREE_CLONED | O_CLOEXEC), err = errno;
	slot_return(s);
	if (tree < 0)
		return fail_with(f, err, "mount", "copy of /box");
	s->work_shared = keyed(move_mount, tree, "", AT_FDCWD, "/box", FROM_DESCRIPTOR) == 0;
	err = errno;
	close(tree);
	return s->work_shared ? 0 : fail_with(f, err, "mount", "/box");
}

int64_t work_bytes(const struct box *b, struct failure *f)
{
	struct statfs st;
	if (fstatfs(b->work, &st) < 0)
		return fail(f, "statfs", "/box");
	return (int64_t)(st.f_blocks - st.f_bfree) * (int64_t)st.f_bsize;
}

/*
 * Opens the directory part of a path in the work directory. Creates directories that are missing, writable for the users of both lanes.
 * `last` receives the last component of the path. Returns -1 with errno on failure.
 */
static int open_parent(int work, const char *path, const char **last)
{
	int dir = work;
	const char *end;
	for (*last = path; dir >= 0 && (end = strchr(*last, '/')); *last = end + 1) {
		char part[256];
		snprintf(part, sizeof part, "%.*s", (int)(end - *last), *last);
		bool made = mkdirat(dir, part, 0) == 0 ? fchmodat(dir, part, 0777, 0) == 0 : errno == EEXIST;
		int next = made ? openat(dir, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
		int err = errno;
		if (dir != work)
			close(dir);
		errno = err;
		dir = next;
	}
	return dir;
}

/* Creates a file or directory that must not exist yet, and opens it. Returns -1 with errno on failure. */
static int create(int dir, const char *name, unsigned mode)
{
	mode_t permissions = mode & 0777;
	if (mode & MODE_DIRECTORY) {
		bool made = mkdirat(dir, name, 0) == 0 && fchmodat(dir, name, permissions, 0) == 0;
		return made ? openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	}
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0);
	if (fd >= 0 && fchmod(fd, permissions) < 0)
		close_fd(&fd);
	return fd;
}

/* The caller ensures that no payload has used this work directory, so no path in it can be a link. */
int work_write_file(int work, const char *name, const void *data, size_t size, unsigned mode, struct failure *f)
{
	const char *last;
	if (mode == MODE_DEFAULT) /* in feedback/, the checker of a later pass writes to the files of an earlier pass */
		mode = strncmp(name, "feedback/", 9) ? 0755 : 0777;
	int dir = open_parent(work, name, &last);
	int fd = dir < 0 ? -1 : create(dir, last, mode);
	int err = errno;
	if (dir >= 0 && dir != work)
		close(dir);
	if (fd < 0)
		return fail_with(f, err, "file", "create %s", name);
	for (size_t done = 0; done < size;) {
		ssize_t n = write(fd, (const char *)data + done, size - done);
		if (n <= 0) {
			fail(f, "file", "write %s", name);
			close(fd);
			return -1;
		}
		done += (size_t)n;
	}
	close(fd);
	return 0;
}

/*
 * Sets whether the kernel stores large files of the work directory in huge pages, which saves 0.9 ms for 2 MiB. The slot uses
 * them only for files that it writes itself: a sparse file of a program would take memory that the program does not use.
 * Returns -1 with errno if the kernel cannot.
 */
static int use_huge_pages(const struct slot *s, const struct box *b, bool huge)
{
	if (keyed(setns, b->mount_ns, CLONE_NEWNS) < 0)
		return -1;
	int done = (int)keyed(mount, NULL, "/box", NULL, (unsigned long)(MS_REMOUNT | WORK_FLAGS), huge ? "huge=within_size" : "huge=never");
	slot_return(s);
	return done;
}

int work_write_files(const struct slot *s, const struct box *b, const struct request *r, struct failure *f)
{
	size_t total = 0;
	for (unsigned i = 0; i < r->files; i++)
		total += r->file_data[i].size;
	bool huge_pages = total >= HUGE_PAGES_BYTES && use_huge_pages(s, b, true) == 0;
	for (unsigned i = 0; i < r->files; i++) {
		char name[FILE_PATH_MAX + 1];
		snprintf(name, sizeof name, "%.*s", (int)r->file_name[i].size, (const char *)r->file_name[i].data);
		if (work_write_file(b->work, name, r->file_data[i].data, r->file_data[i].size, file_mode(r->file_modes, i), f) < 0)
			return -1;
	}
	if (huge_pages && use_huge_pages(s, b, false) < 0)
		return fail(f, "mount", "/box as before");
	return 0;
}
