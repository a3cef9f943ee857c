/*
 * Building boxes. A slot owns a private copy of the launcher's mounts: the
 * image, read-only, as root, and /dev. The mount namespace of a box is a copy of
 * that, so that building a box mounts only /box, /tmp, /dev/shm and /proc.
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
#include <sys/syscall.h>
#include <unistd.h>

#include "box.h"
#include "seccomp.h"
#include "signals.h"

void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* The child does not have the slot's state (unforked-memory.h): it may use its own stack, constants and what is shared. */
static pid_t clone_into(uint64_t flags, int *pidfd, int group)
{
	struct clone_args args = {
		.flags = flags | CLONE_PIDFD | (group >= 0 ? CLONE_INTO_CGROUP : 0),
		.pidfd = (uint64_t)(uintptr_t)pidfd,
		.exit_signal = SIGCHLD,
		.cgroup = group >= 0 ? (uint64_t)group : 0,
	};
	return (pid_t)keyed(clone3, &args, sizeof args);
}

/* A pipe whose end for the slot, 0 to read or 1 to write, does not block. */
static int make_pipe(int *read_end, int *write_end, int for_slot, uid_t program)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	*read_end = ends[0];
	*write_end = ends[1];
	fcntl(ends[for_slot], F_SETFL, O_NONBLOCK);
	/* A larger pipe saves wake-ups. If the host refuses, the default size works; signals can then wait for the program to read. */
	fcntl(ends[1], F_SETPIPE_SZ, for_slot ? INPUT_PIPE_BYTES : PIPE_BYTES);
	return fchown(ends[1], program, (gid_t)-1); /* the program may then open /dev/stdout, or /dev/stdin */
}

/* Waits until the child signals `ready`. A child that failed or died leaves the reason in the shared memory. */
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

static int spawn_init(struct slot *s, struct box *b, struct inside *in, struct failure *f)
{
	int lifeline[2];
	if (pipe2(lifeline, O_CLOEXEC) < 0)
		return fail(f, "box", "life line pipe");
	in->lifeline = lifeline[0];
	b->lifeline = lifeline[1];
	int pidfd = -1;
	pid_t pid = clone_into(CLONE_NEWPID | CLONE_NEWNS, &pidfd, -1);
	if (pid == 0)
		inside_init(in);
	int err = errno;
	close(lifeline[0]);
	if (pid < 0)
		return fail_with(f, err, "namespaces", "pid, mount");
	b->init = pid;
	b->init_fd = pidfd;
	b->reaped_init = false;
	/* Before the init is awaited: box_destroy() needs it also if the init is late. */
	char path[32];
	snprintf(path, sizeof path, "%d/ns/mnt", (int)b->init);
	b->mount_ns = open_proc(s->launcher, path);
	if (b->mount_ns < 0)
		return fail(f, "namespaces", "mount namespace of the box");
	if (await_ready(s, b, b->init_fd, "init", f) < 0)
		return -1;
	if (!in->new_work)
		return 0;
	snprintf(path, sizeof path, "%d/root/box", (int)b->init);
	s->work = openat(s->launcher->proc, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	b->own_work = s->work >= 0;
	return b->own_work ? 0 : fail(f, "mount", "/box of the box");
}

static int spawn_program(struct slot *s, struct box *b, struct inside *in, struct failure *f)
{
	in->init_pidfd = b->init_fd;
	memcpy(in->lane_space, b->lane->space, sizeof in->lane_space);
	in->proc = s->launcher->proc;
	memcpy(in->tasks, b->leaf->tasks, sizeof in->tasks);
	in->tasks[TREE_CPU] = s->cpu_tasks;
	/* The next child is born in the box's pid namespace but remains a child of the slot, which reaps it. */
	if (keyed(setns, b->init_fd, CLONE_NEWPID) < 0)
		return fail(f, "namespaces", "the box's pid namespace");
	int pidfd = -1;
	pid_t pid = clone_into(0, &pidfd, b->leaf->dir[TREE_UNIFIED]);
	if (pid == 0)
		inside_program(in);
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
 * A step never has the uid of the previous step, whether its box was built during that step or after it: its
 * permissions must not depend on that order.
 */
static struct lane *take_lane(struct slot *s)
{
	for (struct lane *lane = s->lane; lane < s->lane + LANES; lane++)
		if (!lane->taken && lane != s->before) {
			lane->taken = true;
			return lane;
		}
	return NULL;
}

void read_baseline(const struct groups *g, struct box *b)
{
	const struct { enum fact fact; uint64_t *base; } counters[] = {
		{FACT_CPU_USEC, &b->base_cpu_usec}, {FACT_PRESSURE_FULL, &b->base_full_usec}, {FACT_PRESSURE_SOME, &b->base_some_usec},
	};
	for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
		if (leaf_read(g, b->leaf, counters[i].fact, counters[i].base) < 0) {
			*counters[i].base = 0;
			if (errno != ENODATA)
				b->base_errno = errno;
		}
}

static int build(struct slot *s, struct box *b, struct inside *in, bool piped, struct failure *f)
{
	const struct launcher *l = s->launcher;
	if (leaf_make(&l->groups, b->leaf, f) < 0)
		return -1;
	if (l->signal_map >= 0 && signals_watch(l->signal_map, b->leaf->id, s->number) < 0)
		return fail(f, "bpf", "watch the box");
	if (!piped)
		in->stdin_fd = b->stdin_fd = (int)syscall(__NR_memfd_create, "stdin", 3u /* CLOEXEC, ALLOW_SEALING */);
	else if (make_pipe(&in->stdin_fd, &b->in_fd, 1, b->lane->uid) < 0)
		return fail(f, "box", "pipe of the input");
	b->go = eventfd(0, EFD_CLOEXEC);
	b->ready = eventfd(0, EFD_CLOEXEC);
	if (in->stdin_fd < 0 || b->go < 0 || b->ready < 0)
		return fail(f, "box", "descriptors");
	if (make_pipe(&b->out_fd, &in->out_fd, 0, b->lane->uid) < 0 || make_pipe(&b->err_fd, &in->err_fd, 0, b->lane->uid) < 0)
		return fail(f, "box", "pipes");
	in->shape = b->shape;
	in->new_work = !s->work_shared;
	in->uid = b->lane->uid;
	in->go = b->go;
	in->ready = b->ready;
	in->exec_args = b->lane->exec_args;
	if (spawn_init(s, b, in, f) < 0 || spawn_program(s, b, in, f) < 0)
		return -1;
	controls_read(s, b);
	read_baseline(&l->groups, b);
	return 0;
}

int box_build(struct slot *s, struct box *b, const struct shape *shape, bool piped, struct failure *f)
{
	struct inside in = {.stdin_fd = -1, .out_fd = -1, .err_fd = -1};

	memset(b, 0, sizeof *b);
	b->shape = *shape;
	b->init_fd = b->program_fd = b->mount_ns = b->lifeline = b->go = b->ready = b->stdin_fd = b->in_fd = b->out_fd = b->err_fd = -1;
	b->reaped_init = b->reaped_program = true;
	b->lane = take_lane(s);
	if (!b->lane)
		return fail_with(f, EBUSY, "box", "no free lane");
	b->leaf = &b->lane->leaf;
	memset(b->lane->exec_args, 0, sizeof *b->lane->exec_args);
	int done = build(s, b, &in, piped, f);
	if (piped)
		close_fd(&in.stdin_fd);
	close_fd(&in.out_fd);
	close_fd(&in.err_fd);
	b->built = true;
	if (done < 0) {
		struct teardown t;
		box_destroy(s, b, &t);
	}
	return done;
}
