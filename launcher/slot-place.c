/* Resources of a slot: its mounts, the networks of its lanes, the work directory. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "box.h"
#include "root.h"

int open_proc(const struct launcher *l, const char *path)
{
	return openat(l->proc, path, O_RDONLY | O_CLOEXEC);
}

int slot_mounts(const struct slot *s, char *text, size_t size)
{
	int fd = open_proc(s->launcher, "self/mountinfo");
	size_t used = 0;
	ssize_t n = -1;
	while (fd >= 0 && used + 1 < size && (n = read(fd, text + used, size - 1 - used)) > 0)
		used += (size_t)n;
	text[used] = 0;
	if (fd >= 0)
		close(fd);
	return n < 0 ? -1 : 0;
}

static int lane_open(struct slot *s, struct lane *lane, uid_t uid, struct failure *f)
{
	lane->uid = uid;
	if (unshare(CLONE_NEWNET) < 0 || (lane->netns = open_proc(s->launcher, "self/ns/net")) < 0 ||
	    (lane->sockets = open_proc(s->launcher, "self/net/sockstat")) < 0)
		return fail(f, "namespaces", "new network");
	if (setns(s->self_net_ns, CLONE_NEWNET) < 0)
		return fail(f, "namespaces", "network of the slot");
	lane->exec_args = mmap(NULL, EXEC_ARGS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (lane->exec_args == MAP_FAILED)
		return fail(f, "memory", "memory shared with the program");
	return 0;
}

int slot_prepare(struct slot *s, const struct launcher *l, unsigned number, struct failure *f)
{
	memset(s, 0, sizeof *s);
	s->launcher = l;
	s->number = number;
	s->timeout_ms = BUILD_TIMEOUT_MS;
	s->cpu_tasks = -1;
	if (unshare(CLONE_NEWNS) < 0)
		return fail(f, "namespaces", "mount namespace of the slot");
	int shared = root_overlay(f);
	if (shared < 0)
		return -1;
	s->own_image = !shared;
	if ((s->null = open("/dev/null", O_WRONLY | O_CLOEXEC)) < 0)
		return fail(f, "device", "/dev/null");
	s->self_pid_ns = open_proc(l, "self/ns/pid");
	s->self_net_ns = open_proc(l, "self/ns/net");
	s->self_mount_ns = open_proc(l, "self/ns/mnt");
	if (s->self_pid_ns < 0 || s->self_net_ns < 0 || s->self_mount_ns < 0 || controls_prepare(s) < 0)
		return fail(f, "namespaces", "open those of the slot");
	for (int i = 0; i < LANES; i++)
		if (lane_open(s, &s->lane[i], l->uid_base + number * LANES + (uid_t)i, f) < 0)
			return -1;
	if (slot_mounts(s, s->mounts, sizeof s->mounts) < 0)
		return fail(f, "mount", "list");
	return 0;
}

/* ---- the work directory ---- */

int work_unmount(struct slot *s, struct failure *f)
{
	if (s->work_mounted && umount2("/box", MNT_DETACH) < 0)
		return fail(f, "mount", "remove /box");
	s->work_mounted = false;
	return 0;
}

int work_mount(struct slot *s, const struct shape *shape, struct failure *f)
{
	char options[96];
	if (work_unmount(s, f) < 0)
		return -1;
	/* Writable for the uids of both lanes, which use it one after the other. */
	snprintf(options, sizeof options, "mode=0777,size=%llu,nr_inodes=%llu", (unsigned long long)shape->work_bytes,
		 (unsigned long long)shape->work_inodes);
	if (mount("tmpfs", "/box", "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
		return fail(f, "mount", "/box");
	s->work_mounted = true;
	s->before = NULL;
	return 0;
}

int64_t work_bytes(struct failure *f)
{
	struct statfs st;
	if (statfs("/box", &st) < 0)
		return f ? fail(f, "statfs", "/box") : 0;
	return (int64_t)(st.f_blocks - st.f_bfree) * (int64_t)st.f_bsize;
}

/* Opens the directory of a path below /box, and creates it for both lanes if it is missing. *last is the last component. */
static int open_parent(const char *path, const char **last)
{
	int dir = open("/box", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *end;
	for (*last = path; dir >= 0 && (end = strchr(*last, '/')); *last = end + 1) {
		char part[256];
		snprintf(part, sizeof part, "%.*s", (int)(end - *last), *last);
		bool made = mkdirat(dir, part, 0) == 0 ? fchmodat(dir, part, 0777, 0) == 0 : errno == EEXIST;
		int next = made ? openat(dir, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
		int err = errno;
		close(dir);
		errno = err;
		dir = next;
	}
	return dir;
}

/* The caller ensures that no payload has used this work directory. */
int work_write(struct slot *s, const char *name, const void *data, size_t size, struct failure *f)
{
	(void)s;
	const char *last;
	int dir = open_parent(name, &last);
	int fd = dir < 0 ? -1 : openat(dir, last, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0755);
	/* A checker continues its files of an earlier pass. */
	if (fd >= 0 && !strncmp(name, "feedback/", 9) && fchmod(fd, 0777) < 0)
		close_fd(&fd);
	int err = errno;
	if (dir >= 0)
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
