/*
 * Builds a box and removes it. slot/slot.c, check.c and the benchmark call this, and run/run.c adds a program to a box. The init of a
 * box runs init.c.
 *
 * A slot has mounts of its own: the image as its read-only root, and /dev. The mount namespace of a box begins as a copy of these, so
 * that building a box mounts only /box, /tmp, /dev/shm and /proc.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "box/box.h"
#include "clock.h"
#include "descriptors.h"
#include "seccomp.h"
#include "unforked-memory.h"

enum { REAP_TIMEOUT_MS = 5000 };

/* ---- what a box and a run have in common ---- */

pid_t clone_into(uint64_t flags, int *pidfd, int group)
{
	struct clone_args clone = {
		.flags = flags | CLONE_PIDFD | (group >= 0 ? CLONE_INTO_CGROUP : 0),
		.pidfd = (uint64_t)(uintptr_t)pidfd,
		.exit_signal = SIGCHLD,
		.cgroup = group >= 0 ? (uint64_t)group : 0,
	};
	return (pid_t)keyed(clone3, &clone, sizeof clone);
}

/* A child that fails leaves the reason in the memory that it shares with the slot. A child that is killed leaves none. */
int await_ready(int ready, int pidfd, const struct child_failure *why, int timeout_ms, const char *who, struct failure *f)
{
	struct pollfd waits[] = {{.fd = ready, .events = POLLIN}, {.fd = pidfd, .events = POLLIN}};
	uint64_t value;
	int n;
	while ((n = poll(waits, 2, timeout_ms)) < 0 && errno == EINTR)
		continue;
	if (why->step[0])
		return fail_with(f, why->err, "box", "%.31s %.31s", why->step, why->object);
	if (n == 0 || !(waits[0].revents & POLLIN))
		return fail_with(f, n == 0 ? ETIMEDOUT : ESRCH, "box", "%s did not become ready", who);
	if (read(ready, &value, sizeof value) < 0)
		return fail(f, "box", "%s", who);
	return 0;
}

bool reap_child(int pidfd, bool *reaped)
{
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};
	uint64_t deadline = now_ns() + REAP_TIMEOUT_MS * 1000000ull;
	while (!*reaped && now_ns() < deadline) {
		siginfo_t info = {0};
		if (poll(&ended, 1, REAP_TIMEOUT_MS) < 0 && errno != EINTR)
			break;
		/* WNOHANG is needed, because the child may still run after an interrupted poll. */
		int done = waitid((idtype_t)3 /* P_PIDFD */, (id_t)pidfd, &info, WEXITED | WNOHANG);
		*reaped = done == 0 ? info.si_pid != 0 : errno == ECHILD;
	}
	return *reaped;
}

void teardown_error(struct teardown *t, const char *what, int err)
{
	if (t->errors < 8)
		snprintf(t->error[t->errors++], sizeof t->error[0], "%s: %s", what, strerror(err));
}

void teardown_leftover(void *context, const char *text)
{
	struct teardown *t = context;
	if (t->leftovers < 16)
		snprintf(t->leftover[t->leftovers++], sizeof t->leftover[0], "%s", text);
}

void collect_socket_cycles(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		close(fd);
}

/* ---- building ---- */

/*
 * Takes a free lane, but not that of the previous step on the same work directory; NULL if there is none. So a step never has the uid
 * of that previous step, whether its box was built during the previous step or after it: what the step may do with the files of the
 * previous one must not depend on that order.
 */
static struct lane *take_lane(struct slot *s)
{
	for (struct lane *lane = s->lane; lane < s->lane + LANES; lane++)
		if (!lane->in_use && lane != s->previous_lane) {
			lane->in_use = true;
			*lane->failure = (struct child_failure){0};
			return lane;
		}
	return NULL;
}

/* Starts the init, and opens the mount namespace of the box, which box_destroy() needs even if the init never becomes ready. */
static int start_init(const struct slot *s, struct box *b, const struct init_args *args, struct failure *f)
{
	int pidfd = -1;
	char path[32];
	pid_t pid = clone_into(CLONE_NEWPID | CLONE_NEWNS, &pidfd, -1);
	if (pid == 0)
		become_init(args);
	if (pid < 0)
		return fail(f, "namespaces", "pid, mount");
	b->init = pid;
	b->init_fd = pidfd;
	b->reaped = false;
	snprintf(path, sizeof path, "%d/ns/mnt", (int)b->init);
	b->mount_ns = open_proc(s->launcher, path);
	return b->mount_ns < 0 ? fail(f, "namespaces", "mount namespace of the box") : 0;
}

static int build(struct slot *s, struct box *b, struct init_args *args, struct failure *f)
{
	int lifeline[2];
	if (pipe2(lifeline, O_CLOEXEC) < 0)
		return fail(f, "box", "life line pipe");
	b->lifeline = lifeline[1];
	args->lifeline = lifeline[0];
	args->ready = eventfd(0, EFD_CLOEXEC);
	int done = args->ready < 0 ? fail(f, "box", "descriptors") : start_init(s, b, args, f);
	close(args->lifeline);
	if (done == 0)
		done = await_ready(args->ready, b->init_fd, args->failure, s->timeout_ms, "init", f);
	close_fd(&args->ready);
	if (done < 0)
		return -1;
	char path[32];
	snprintf(path, sizeof path, "%d/root%s", (int)b->init, args->sandbox ? "" : "/box");
	b->work = openat(s->launcher->proc, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return b->work < 0 ? fail(f, "mount", "/box of the box") : 0;
}

static int build_on_lane(struct slot *s, struct box *b, const struct shape *shape, const struct sandbox_root *sandbox, struct failure *f)
{
	*b = (struct box){
		.built = true, .shape = *shape, .groups = &s->launcher->groups, .init_fd = -1, .mount_ns = -1, .lifeline = -1, .work = -1, .terminals = -1,
		.reaped = true,
	};
	b->lane = take_lane(s);
	if (!b->lane)
		return fail_with(f, EBUSY, "box", "no free lane");
	struct init_args args = {.shape = *shape, .new_work = !s->work_shared, .failure = b->lane->failure, .sandbox = sandbox};
	return build(s, b, &args, f);
}

int box_build(struct slot *s, struct box *b, const struct shape *shape, struct failure *f)
{
	return build_on_lane(s, b, shape, NULL, f);
}

int box_build_sandbox(struct slot *s, struct box *b, const struct sandbox_root *root, struct failure *f)
{
	static const struct shape none;
	char path[32];
	if (build_on_lane(s, b, &none, root, f) < 0)
		return -1;
	snprintf(path, sizeof path, "%d/root/dev/pts", (int)b->init);
	b->terminals = openat(s->launcher->proc, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return b->terminals < 0 ? fail(f, "mount", "/dev/pts of the sandbox") : 0;
}

/* ---- removal ---- */

void box_kill(struct box *b)
{
	/* When the init of a pid namespace dies, the kernel kills everything in the namespace, including processes that are being forked. */
	if (b->init_fd >= 0)
		syscall(__NR_pidfd_send_signal, b->init_fd, SIGKILL, NULL, 0);
}

/*
 * Unmounts all file systems of the box. Any user of the host may open /proc/PID/mountinfo of a process of the box, and the mount
 * namespace then lives as long as that file is open. A file system that is still mounted in the namespace would remain, with all
 * that the program wrote.
 */
static void unmount_all(const struct slot *s, struct box *b, struct teardown *t)
{
	if (b->mount_ns < 0)
		return;
	if (keyed(setns, b->mount_ns, CLONE_NEWNS) < 0) {
		teardown_error(t, "mount namespace of the box", errno);
		return;
	}
	/* One call removes all mounts: for each call, the kernel waits until no CPU uses the mounts that it removes. */
	if (keyed(umount2, "/", MNT_DETACH) < 0)
		teardown_error(t, "mounts of the box", errno);
	slot_return(s);
}

/* Lists each mount of the slot that an idle slot does not have, except a work directory that is still in use. */
static void list_leftover_mounts(struct slot *s, struct teardown *t)
{
	static struct area area;
	char *text = area_of(&area, sizeof s->mounts);
	if (slot_mounts(s, text, sizeof s->mounts) < 0) {
		teardown_error(t, "mount list", errno);
		return;
	}
	char *rest = NULL;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char at[256] = "";
		if (list_contains(s->mounts, line, "\n"))
			continue;
		sscanf(line, "%*s %*s %*s %*s %255s", at);
		bool work = s->work_shared && !strcmp(at, "/box");
		if (!work && t->mounts < 8)
			snprintf(t->mount[t->mounts++], sizeof t->mount[0], "%s", at);
	}
}

/*
 * Waits until the network namespace of the lane has no sockets. The next box on this lane uses the same namespace and must not find a
 * socket of this box there. A socket in a cycle outlives its program until the kernel collects the cycle. Returns false if sockets
 * are left, or if their number cannot be read.
 */
static bool no_sockets_left(const struct lane *lane)
{
	uint64_t deadline = now_ns() + REAP_TIMEOUT_MS * 1000000ull;
	static const char none[] = "sockets: used 0\n"; /* reading this count takes 2 us, reading a list of the sockets 14 us */
	char text[sizeof none - 1];
	for (;;) {
		ssize_t n = pread(lane->sockets, text, sizeof text, 0);
		if (n == sizeof text && !memcmp(text, none, sizeof text))
			return true;
		if (n <= 0 || now_ns() >= deadline)
			return false;
		collect_socket_cycles();
		usleep(500);
	}
}

void box_destroy(struct slot *s, struct box *b, struct teardown *t)
{
	box_kill(b);
	close_fd(&b->lifeline);
	t->reaped = reap_child(b->init_fd, &b->reaped) && t->reaped;
	close_fd(&b->terminals);
	close_fd(&b->work); /* an open directory would keep the memory of its files from being freed */
	if (t->reaped)
		unmount_all(s, b, t);
	close_fd(&b->mount_ns);
	close_fd(&b->init_fd);
	list_leftover_mounts(s, t);
	if (t->reaped && b->lane && !no_sockets_left(b->lane))
		teardown_leftover(t, "sockets in the network namespace");
	if (t->reaped && b->lane)
		b->lane->in_use = false;
	b->built = false;
}
