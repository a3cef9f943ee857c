/*
 * Builds a box for each step and removes it. slot/slot.c, check.c and the benchmark call this. The two processes of a box run init.c
 * until the exec of the program. When both are ready, controls.c reads back which controls hold.
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
#include "signals.h"
#include "unforked-memory.h"

/* ---- building ---- */

/*
 * Makes a child, in the v2 cgroup `group` unless that is -1. The child must not use the state of the slot, because it does not have
 * that memory (unforked-memory.h).
 */
static pid_t clone_into(uint64_t flags, int *pidfd, int group)
{
	struct clone_args clone = {
		.flags = flags | CLONE_PIDFD | (group >= 0 ? CLONE_INTO_CGROUP : 0),
		.pidfd = (uint64_t)(uintptr_t)pidfd,
		.exit_signal = SIGCHLD,
		.cgroup = group >= 0 ? (uint64_t)group : 0,
	};
	return (pid_t)keyed(clone3, &clone, sizeof clone);
}

/*
 * Makes a pipe. `for_slot` is the end that the slot uses, which does not block: 0 for the end to read from, 1 for the end to write to.
 * The user `program` owns the pipe.
 */
static int make_pipe(int *read_end, int *write_end, int for_slot, uid_t program)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	*read_end = ends[0];
	*write_end = ends[1];
	fcntl(ends[for_slot], F_SETFL, O_NONBLOCK);
	/* A larger pipe saves wake-ups. If the host refuses, the default size works, but signals may have to wait for the program to read. */
	fcntl(ends[1], F_SETPIPE_SZ, for_slot ? INPUT_PIPE_BYTES : PIPE_BYTES);
	return fchown(ends[1], program, (gid_t)-1); /* so that the program may open /dev/stdout, /dev/stderr or /dev/stdin */
}

/* A child that fails leaves the reason in the memory that it shares with the slot. A child that is killed leaves none. */
int await_ready(const struct slot *s, struct box *b, int pidfd, const char *who, struct failure *f)
{
	struct pollfd waits[] = {{.fd = b->ready, .events = POLLIN}, {.fd = pidfd, .events = POLLIN}};
	uint64_t value;
	int n;
	while ((n = poll(waits, 2, s->timeout_ms)) < 0 && errno == EINTR)
		continue;
	struct exec_args *exec_args = b->lane->exec_args;
	if (exec_args->fail_step[0]) {
		fail_with(f, exec_args->fail_errno, "box", "%.31s %.31s", exec_args->fail_step, exec_args->fail_object);
		return -1;
	}
	if (n == 0 || !(waits[0].revents & POLLIN))
		return fail_with(f, n == 0 ? ETIMEDOUT : ESRCH, "box", "%s did not become ready", who);
	if (read(b->ready, &value, sizeof value) < 0)
		return fail(f, "box", "%s", who);
	return 0;
}

static int spawn_init(struct slot *s, struct box *b, struct process_args *args, struct failure *f)
{
	int lifeline[2];
	if (pipe2(lifeline, O_CLOEXEC) < 0)
		return fail(f, "box", "life line pipe");
	args->lifeline = lifeline[0];
	b->lifeline = lifeline[1];
	int pidfd = -1;
	pid_t pid = clone_into(CLONE_NEWPID | CLONE_NEWNS, &pidfd, -1);
	if (pid == 0)
		run_init(args);
	int err = errno;
	close(lifeline[0]);
	if (pid < 0)
		return fail_with(f, err, "namespaces", "pid, mount");
	b->init = pid;
	b->init_fd = pidfd;
	b->reaped_init = false;
	/* The mount namespace is opened before the init is ready, because box_destroy() needs it even if the init never becomes ready. */
	char path[32];
	snprintf(path, sizeof path, "%d/ns/mnt", (int)b->init);
	b->mount_ns = open_proc(s->launcher, path);
	if (b->mount_ns < 0)
		return fail(f, "namespaces", "mount namespace of the box");
	if (await_ready(s, b, b->init_fd, "init", f) < 0)
		return -1;
	if (!args->new_work)
		return 0;
	snprintf(path, sizeof path, "%d/root/box", (int)b->init);
	s->work = openat(s->launcher->proc, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	b->mounted_work = s->work >= 0;
	return b->mounted_work ? 0 : fail(f, "mount", "/box of the box");
}

static int spawn_program(struct slot *s, struct box *b, struct process_args *args, struct failure *f)
{
	args->init_pidfd = b->init_fd;
	memcpy(args->namespace_fd, b->lane->namespace_fd, sizeof args->namespace_fd);
	args->proc = s->launcher->proc;
	memcpy(args->tasks, b->leaf->tasks, sizeof args->tasks);
	args->tasks[TREE_CPU] = s->cpu_group_tasks;
	/* The next child is born in the box's pid namespace but remains a child of the slot, which reaps it. */
	if (keyed(setns, b->init_fd, CLONE_NEWPID) < 0)
		return fail(f, "namespaces", "the box's pid namespace");
	int pidfd = -1;
	pid_t pid = clone_into(0, &pidfd, b->leaf->dir[TREE_UNIFIED]);
	if (pid == 0)
		run_program(args);
	int err = errno;
	b->program = pid;
	b->program_fd = pidfd;
	if (keyed(setns, s->self_pid_ns, CLONE_NEWPID) < 0)
		return fail(f, "namespaces", "pid namespace of the slot");
	if (pid < 0)
		return fail_with(f, err, "box", "clone of the program");
	b->reaped_program = false;
	return await_ready(s, b, b->program_fd, "program", f);
}

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
			return lane;
		}
	return NULL;
}

void read_baseline(const struct groups *g, struct box *b)
{
	const struct { enum fact fact; uint64_t *base; } counters[] = {
		{FACT_CPU_USEC, &b->base_cpu_usec}, {FACT_PRESSURE_FULL_USEC, &b->base_full_usec}, {FACT_PRESSURE_SOME_USEC, &b->base_some_usec},
	};
	for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
		if (leaf_read(g, b->leaf, counters[i].fact, counters[i].base) < 0) {
			*counters[i].base = 0;
			if (errno != ENODATA)
				b->base_errno = errno;
		}
}

static int build(struct slot *s, struct box *b, struct process_args *args, bool piped, struct failure *f)
{
	const struct launcher *l = s->launcher;
	if (leaf_make(&l->groups, b->leaf, f) < 0)
		return -1;
	if (l->signal_map >= 0 && signals_watch(l->signal_map, b->leaf->id, s->number) < 0)
		return fail(f, "bpf", "watch the box");
	if (!piped)
		args->stdin_fd = b->stdin_fd = (int)syscall(__NR_memfd_create, "stdin", 3u /* CLOEXEC, ALLOW_SEALING */);
	else if (make_pipe(&args->stdin_fd, &b->in_fd, 1, b->lane->uid) < 0)
		return fail(f, "box", "pipe of the input");
	b->go = eventfd(0, EFD_CLOEXEC);
	b->ready = eventfd(0, EFD_CLOEXEC);
	if (args->stdin_fd < 0 || b->go < 0 || b->ready < 0)
		return fail(f, "box", "descriptors");
	if (make_pipe(&b->out_fd, &args->out_fd, 0, b->lane->uid) < 0 || make_pipe(&b->err_fd, &args->err_fd, 0, b->lane->uid) < 0)
		return fail(f, "box", "pipes");
	args->shape = b->shape;
	args->new_work = !s->work_shared;
	args->uid = b->lane->uid;
	args->go = b->go;
	args->ready = b->ready;
	args->exec_args = b->lane->exec_args;
	if (spawn_init(s, b, args, f) < 0 || spawn_program(s, b, args, f) < 0)
		return -1;
	controls_read(s, b);
	read_baseline(&l->groups, b);
	return 0;
}

int box_build(struct slot *s, struct box *b, const struct shape *shape, bool piped, struct failure *f)
{
	struct process_args args = {.stdin_fd = -1, .out_fd = -1, .err_fd = -1};

	memset(b, 0, sizeof *b);
	b->shape = *shape;
	b->init_fd = b->program_fd = b->mount_ns = b->lifeline = b->go = b->ready = b->stdin_fd = b->in_fd = b->out_fd = b->err_fd = -1;
	b->reaped_init = b->reaped_program = true;
	b->lane = take_lane(s);
	if (!b->lane)
		return fail_with(f, EBUSY, "box", "no free lane");
	b->leaf = &b->lane->leaf;
	memset(b->lane->exec_args, 0, sizeof *b->lane->exec_args);
	int done = build(s, b, &args, piped, f);
	if (piped)
		close_fd(&args.stdin_fd);
	close_fd(&args.out_fd);
	close_fd(&args.err_fd);
	b->built = true;
	if (done < 0) {
		struct teardown t;
		box_destroy(s, b, &t);
	}
	return done;
}

/* ---- removal ---- */

enum { REAP_TIMEOUT_MS = 5000 };

void box_kill(struct box *b)
{
	/* When the init of a pid namespace dies, the kernel kills everything in the namespace, including processes that are being forked. */
	if (b->init_fd >= 0)
		syscall(__NR_pidfd_send_signal, b->init_fd, SIGKILL, NULL, 0);
	/* The program is in this namespace, so the second kill has an effect only if the kernel made no namespace (see controls.c). */
	if (b->program_fd >= 0)
		syscall(__NR_pidfd_send_signal, b->program_fd, SIGKILL, NULL, 0);
}

static bool reap(int pidfd, bool *reaped)
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

static void note_error(struct teardown *t, const char *what, int err)
{
	if (t->errors < 8)
		snprintf(t->error[t->errors++], sizeof t->error[0], "%s: %s", what, strerror(err));
}

static void note_leftover(void *context, const char *text)
{
	struct teardown *t = context;
	if (t->leftovers < 16)
		snprintf(t->leftover[t->leftovers++], sizeof t->leftover[0], "%s", text);
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
		note_error(t, "mount namespace of the box", errno);
		return;
	}
	/* One call removes all mounts: for each call, the kernel waits until no CPU uses the mounts that it removes. */
	if (keyed(umount2, "/", MNT_DETACH) < 0)
		note_error(t, "mounts of the box", errno);
	slot_return(s);
}

/* Lists each mount of the slot that an idle slot does not have, except a work directory that is still in use. */
static void list_leftover_mounts(struct slot *s, struct teardown *t)
{
	static struct area area;
	char *text = area_of(&area, sizeof s->mounts);
	if (slot_mounts(s, text, sizeof s->mounts) < 0) {
		note_error(t, "mount list", errno);
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

void collect_socket_cycles(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		close(fd);
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
	const struct launcher *l = s->launcher;
	const struct groups *g = &l->groups;
	struct signal_counts unused;
	uint64_t value;

	memset(t, 0, sizeof *t);
	box_kill(b);
	close_fd(&b->lifeline);
	/* The program is reaped first, because its pid namespace, and so the init, cannot end before that. */
	t->reaped = reap(b->program_fd, &b->reaped_program);
	t->reaped = reap(b->init_fd, &b->reaped_init) && t->reaped;

	if (b->mounted_work && !s->work_shared)
		close_fd(&s->work); /* an open directory would keep its memory from being freed */
	if (t->reaped)
		unmount_all(s, b, t);
	close_fd(&b->mount_ns);

	t->populated = -1;
	if (b->leaf) {
		if (leaf_read(g, b->leaf, FACT_POPULATED, &value) == 0)
			t->populated = value != 0;
		if (leaf_read(g, b->leaf, FACT_PIDS_CURRENT, &t->pids_left) < 0)
			note_error(t, fact_name(FACT_PIDS_CURRENT), errno);
		if (t->pids_left) {
			int tasks = leaf_tasks(g, b->leaf, NULL, 0);
			t->zombies = (uint64_t)tasks < t->pids_left ? (int)(t->pids_left - (uint64_t)tasks) : 0;
		}
		int64_t charged = t->reaped ? leaf_wait_uncharged(g, b->leaf, s->work_shared) : 0;
		if (charged < 0)
			note_error(t, "memory after the end", errno);
		else if (charged > 0)
			note_leftover(t, "memory");
		if (l->signal_map >= 0)
			signals_take(l->signal_map, b->leaf->id, &unused);
		leaf_release(g, b->leaf, note_leftover, t);
	}
	close_fd(&b->init_fd);
	close_fd(&b->program_fd);
	close_fd(&b->go);
	close_fd(&b->ready);
	close_fd(&b->stdin_fd);
	close_fd(&b->in_fd);
	close_fd(&b->out_fd);
	close_fd(&b->err_fd);
	list_leftover_mounts(s, t);
	if (t->reaped && b->lane && !no_sockets_left(b->lane))
		note_leftover(t, "sockets in the network namespace");
	if (t->reaped && b->lane)
		b->lane->in_use = false;
	b->built = false;
}
