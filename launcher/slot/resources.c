/*
 * Resources of a slot (resources.h): its mounts, the namespaces of its lanes, the work directory. slot.c, check.c and the benchmark
 * prepare them once; box/ and slot.c use the work directory for each step.
 */
#define _GNU_SOURCE
#include "slot/resources.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <linux/securebits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "box/box.h"
#include "descriptors.h"
#include "image-root.h"
#include "seccomp.h"
#include "wire/wire.h"

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

static int open_namespaces(const struct launcher *l, int namespace_fd[LANE_NAMESPACES])
{
	for (int i = 0; i < LANE_NAMESPACES; i++) {
		char path[16];
		snprintf(path, sizeof path, "self/ns/%s", lane_namespaces[i].name);
		if ((namespace_fd[i] = open_proc(l, path)) < 0)
			return -1;
	}
	return 0;
}

static int lane_open(struct slot *s, struct lane *lane, uid_t uid, struct failure *f)
{
	lane->uid = uid;
	leaf_name(&lane->leaf, s->number, (unsigned)(lane - s->lane));
	int slot_fd[LANE_NAMESPACES];
	if (open_namespaces(s->launcher, slot_fd) < 0)
		return fail(f, "namespaces", "open those of the slot");
	if (unshare(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) < 0 || sethostname("assay", 5) < 0 || setdomainname("", 0) < 0 ||
	    open_namespaces(s->launcher, lane->namespace_fd) < 0 || (lane->sockets = open_proc(s->launcher, "self/net/sockstat")) < 0)
		return fail(f, "namespaces", "new network, ipc, uts");
	for (int i = 0; i < LANE_NAMESPACES; i++) {
		if (setns(slot_fd[i], lane_namespaces[i].flag) < 0)
			return fail(f, "namespaces", "return to %s of the slot", lane_namespaces[i].name);
		close(slot_fd[i]);
	}
	lane->exec_args = mmap(NULL, EXEC_ARGS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (lane->exec_args == MAP_FAILED)
		return fail(f, "memory", "memory shared with the program");
	return 0;
}

static int limit_resources(void)
{
	/* RLIMIT_CORE: with 0, the kernel still starts a core handler behind a pipe; with 1, it starts none and writes no core file. */
	static const struct { int resource; rlim_t most; } fixed[] = {
		{RLIMIT_CORE, 1}, {RLIMIT_MEMLOCK, 0}, {RLIMIT_MSGQUEUE, 0}, {RLIMIT_NICE, 0}, {RLIMIT_RTPRIO, 0},
		{RLIMIT_SIGPENDING, 1024},
	};
	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
		struct rlimit limit = {fixed[i].most, fixed[i].most};
		if (setrlimit(fixed[i].resource, &limit) < 0)
			return -1;
	}
	return 0;
}

/* Confines the slot, once for all programs, which inherit the restrictions. The slot needs nothing of what it gives up here. */
static int confine(struct failure *f)
{
	/* Without a new session keyring, programs would have the launcher's. */
	if (syscall(__NR_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS)
		return fail(f, "keyring", "session");
	if (prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP_LOCKED |
			  SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED) < 0)
		return fail(f, "capabilities", "securebits");
	if (setgroups(0, NULL) < 0)
		return fail(f, "identity", "groups");
	if (limit_resources() < 0)
		return fail(f, "rlimit", "fixed");
	if (seccomp_prepare(f) < 0)
		return -1;
	return seccomp_enter() < 0 ? fail(f, "seccomp", "filter") : 0;
}

int slot_prepare(struct slot *s, const struct launcher *l, unsigned number, struct failure *f)
{
	memset(s, 0, sizeof *s);
	s->launcher = l;
	s->number = number;
	s->timeout_ms = BUILD_TIMEOUT_MS;
	s->cpu_group_tasks = s->work = -1;
	if (unshare(CLONE_NEWNS) < 0)
		return fail(f, "namespaces", "mount namespace of the slot");
	uid_t users[LANES];
	for (int i = 0; i < LANES; i++)
		users[i] = l->uid_base + number * LANES + (uid_t)i;
	int shared = image_overlay(users, LANES, f);
	if (shared < 0)
		return -1;
	s->own_image = !shared;
	if ((s->dev_null = open("/dev/null", O_WRONLY | O_CLOEXEC)) < 0)
		return fail(f, "device", "/dev/null");
	s->self_pid_ns = open_proc(l, "self/ns/pid");
	s->self_mount_ns = open_proc(l, "self/ns/mnt");
	if (s->self_pid_ns < 0 || s->self_mount_ns < 0 || controls_prepare(s) < 0)
		return fail(f, "namespaces", "open those of the slot");
	for (int i = 0; i < LANES; i++)
		if (lane_open(s, &s->lane[i], users[i], f) < 0)
			return -1;
	if (slot_mounts(s, s->mounts, sizeof s->mounts) < 0)
		return fail(f, "mount", "list");
	return confine(f);
}

/* ---- the work directory ---- */

/*
 * The init of a box mounts the work directory, so that one call unmounts it together with all mounts of the box: in each such call, the
 * kernel waits until no CPU uses the mounts. The slot itself mounts the work directory only if a later step will use it.
 */
int work_release(struct slot *s, struct failure *f)
{
	close_fd(&s->work);
	if (s->work_shared && keyed(umount2, "/box", MNT_DETACH) < 0)
		return fail(f, "mount", "remove /box");
	s->work_shared = false;
	s->previous_lane = NULL;
	return 0;
}

void slot_return(const struct slot *s)
{
	if (keyed(setns, s->self_mount_ns, CLONE_NEWNS) < 0)
		abort();
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
	if (!s->work_shared)
		return fail_with(f, err, "mount", "/box");
	close_fd(&s->work); /* this descriptor uses the mount of the box, which may end before the later step */
	s->work = open("/box", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return s->work < 0 ? fail(f, "mount", "open /box") : 0;
}

int work_use_huge_pages(const struct slot *s, const struct box *b, bool huge)
{
	if (keyed(setns, b->mount_ns, CLONE_NEWNS) < 0)
		return -1;
	int done = (int)keyed(mount, NULL, "/box", NULL, (unsigned long)(MS_REMOUNT | WORK_FLAGS), huge ? "huge=within_size" : "huge=never");
	slot_return(s);
	return done;
}

int64_t work_bytes(const struct slot *s, struct failure *f)
{
	struct statfs st;
	if (fstatfs(s->work, &st) < 0)
		return f ? fail(f, "statfs", "/box") : 0;
	return (int64_t)(st.f_blocks - st.f_bfree) * (int64_t)st.f_bsize;
}

/*
 * Opens the directory part of a path in the work directory. Creates directories that are missing, writable for the users of both lanes.
 * `last` receives the last component of the path. Returns -1 with errno on failure.
 */
static int open_parent(const struct slot *s, const char *path, const char **last)
{
	int dir = s->work;
	const char *end;
	for (*last = path; dir >= 0 && (end = strchr(*last, '/')); *last = end + 1) {
		char part[256];
		snprintf(part, sizeof part, "%.*s", (int)(end - *last), *last);
		bool made = mkdirat(dir, part, 0) == 0 ? fchmodat(dir, part, 0777, 0) == 0 : errno == EEXIST;
		int next = made ? openat(dir, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
		int err = errno;
		if (dir != s->work)
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
int work_write_file(struct slot *s, const char *name, const void *data, size_t size, unsigned mode, struct failure *f)
{
	const char *last;
	if (mode == MODE_DEFAULT) /* in feedback/, the checker of a later pass writes to the files of an earlier pass */
		mode = strncmp(name, "feedback/", 9) ? 0755 : 0777;
	int dir = open_parent(s, name, &last);
	int fd = dir < 0 ? -1 : create(dir, last, mode);
	int err = errno;
	if (dir >= 0 && dir != s->work)
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
