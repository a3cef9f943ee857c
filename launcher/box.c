/*
 * Building and ending boxes. A slot owns a private copy of the launcher's mounts:
 * the image, read-only, as root; /dev; and at /box the work directory of the
 * submission in hand. A box's mount namespace is a copy of exactly that, taken at
 * its birth, so that building one mounts only /tmp, /dev/shm and /proc.
 */
#define _GNU_SOURCE
#include "box.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "root.h"
#include "signals.h"

enum { BUILD_PATIENCE_MS = 10000, END_PATIENCE_MS = 5000, PIPE_BYTES = 256 * 1024 };

uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- the slot ---- */

static int open_proc(const struct launcher *l, const char *path)
{
	return openat(l->proc, path, O_RDONLY | O_CLOEXEC);
}

static int read_mounts(const struct slot *s, char *text, size_t size)
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
		return fail(f, "namespaces", "own network");
	lane->hand = mmap(NULL, HAND_SPACE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (lane->hand == MAP_FAILED)
		return fail(f, "memory", "hand-over page");
	return 0;
}

int slot_prepare(struct slot *s, const struct launcher *l, unsigned number, struct failure *f)
{
	memset(s, 0, sizeof *s);
	s->launcher = l;
	s->number = number;
	if (unshare(CLONE_NEWNS) < 0)
		return fail(f, "namespaces", "mount namespace of the slot");
	int shared = root_own(f);
	if (shared < 0)
		return -1;
	s->own_image = !shared;
	s->self_pid_ns = open_proc(l, "self/ns/pid");
	s->self_net_ns = open_proc(l, "self/ns/net");
	if (s->self_pid_ns < 0 || s->self_net_ns < 0 || controls_prepare(s) < 0)
		return fail(f, "namespaces", "open our own");
	for (int i = 0; i < LANES; i++)
		if (lane_open(s, &s->lane[i], l->uid_base + number * LANES + (uid_t)i, f) < 0)
			return -1;
	if (read_mounts(s, s->mounts, sizeof s->mounts) < 0)
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
	/* Open to both lanes' uids, which have it one after the other. */
	snprintf(options, sizeof options, "mode=0777,size=%llu,nr_inodes=%llu", (unsigned long long)shape->work_bytes,
		 (unsigned long long)shape->work_inodes);
	if (mount("tmpfs", "/box", "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
		return fail(f, "mount", "/box");
	s->work_mounted = true;
	s->before = NULL;
	return 0;
}

/* Only into a work directory that no payload has had yet: the caller sees to that. */
int work_write(struct slot *s, const char *name, const void *data, size_t size, struct failure *f)
{
	(void)s;
	int dir = open("/box", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0755);
	int err = errno;
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

/* ---- building ---- */

static pid_t clone_into(uint64_t flags, int *pidfd, int group)
{
	struct clone_args args = {
		.flags = flags | CLONE_PIDFD | (group >= 0 ? CLONE_INTO_CGROUP : 0),
		.pidfd = (uint64_t)(uintptr_t)pidfd,
		.exit_signal = SIGCHLD,
		.cgroup = group >= 0 ? (uint64_t)group : 0,
	};
	return (pid_t)syscall(__NR_clone3, &args, sizeof args);
}

static int pipe_to_slot(int *read_end, int *write_end, uid_t writer)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	*read_end = ends[0];
	*write_end = ends[1];
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	/* A larger pipe spares wake-ups; where the host allows none, the standard one does. */
	fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES);
	return fchown(ends[1], writer, (gid_t)-1); /* so that it may open /dev/stdout */
}

/* Waits until the child says so on `ready`; a child that gave up or died says why in the hand. */
static int await_ready(struct box *b, int pidfd, const char *who, struct failure *f)
{
	struct pollfd waits[] = {{.fd = b->ready, .events = POLLIN}, {.fd = pidfd, .events = POLLIN}};
	uint64_t value;
	int n;
	while ((n = poll(waits, 2, BUILD_PATIENCE_MS)) < 0 && errno == EINTR)
		continue;
	struct hand *hand = b->lane->hand;
	if (hand->fail_step[0]) {
		fail_with(f, hand->fail_errno, "box", "%.31s %.31s", hand->fail_step, hand->fail_object);
		return -1;
	}
	if (n == 0 || !(waits[0].revents & POLLIN))
		return fail_with(f, n == 0 ? ETIMEDOUT : ESRCH, "box", "%s did not get ready", who);
	if (read(b->ready, &value, sizeof value) < 0)
		return fail(f, "box", "%s", who);
	return 0;
}

static int start_init(struct slot *s, struct box *b, struct inside *in, struct failure *f)
{
	int life[2];
	(void)s;
	if (pipe2(life, O_CLOEXEC) < 0)
		return fail(f, "box", "life line");
	in->life = life[0];
	b->life = life[1];
	b->init = clone_into(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS, &b->init_fd, -1);
	if (b->init == 0)
		inside_init(in);
	int err = errno;
	close(life[0]);
	if (b->init < 0)
		return fail_with(f, err, "namespaces", "pid, mount, ipc, uts");
	b->reaped_init = false;
	return await_ready(b, b->init_fd, "init", f);
}

static int start_program(struct slot *s, struct box *b, struct inside *in, struct failure *f)
{
	in->init_pidfd = b->init_fd;
	in->netns = b->lane->netns;
	memcpy(in->tasks, b->leaf.tasks, sizeof in->tasks);
	/* The next child is born into the box's pid namespace, and stays ours to wait for. */
	if (setns(b->init_fd, CLONE_NEWPID) < 0)
		return fail(f, "namespaces", "the box's pid namespace");
	b->program = clone_into(0, &b->program_fd, b->leaf.dir[TREE_UNIFIED]);
	if (b->program == 0)
		inside_program(in);
	int err = errno;
	if (setns(s->self_pid_ns, CLONE_NEWPID) < 0)
		return fail(f, "namespaces", "our own pid namespace");
	if (b->program < 0)
		return fail_with(f, err, "box", "birth of the program");
	b->reaped_program = false;
	return await_ready(b, b->program_fd, "program", f);
}

/*
 * A step is never the user that the step before it was, whether its box was built
 * beside the other's or after it: what it may do must not depend on that.
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

/* What setting up cost is not the program's: the counters are read when it is parked. */
static void read_baseline(const struct groups *g, struct box *b)
{
	if (leaf_read(g, &b->leaf, FACT_CPU_USEC, &b->base_cpu_usec) < 0)
		b->base_cpu_usec = 0;
	if (leaf_read(g, &b->leaf, FACT_PRESSURE_FULL, &b->base_full_usec) < 0)
		b->base_full_usec = 0;
	if (leaf_read(g, &b->leaf, FACT_PRESSURE_SOME, &b->base_some_usec) < 0)
		b->base_some_usec = 0;
}

static int build(struct slot *s, struct box *b, struct inside *in, struct failure *f)
{
	const struct launcher *l = s->launcher;
	char name[48];
	snprintf(name, sizeof name, "s%u-b%u", s->number, s->boxes++);
	if (leaf_make(&l->groups, &b->leaf, name, f) < 0)
		return -1;
	if (l->signal_map >= 0 && signals_watch(l->signal_map, b->leaf.id, s->number) < 0)
		return fail(f, "bpf", "watch the box");
	b->stdin_fd = (int)syscall(__NR_memfd_create, "stdin", 3u /* CLOEXEC, ALLOW_SEALING */);
	b->go = eventfd(0, EFD_CLOEXEC);
	b->ready = eventfd(0, EFD_CLOEXEC);
	if (b->stdin_fd < 0 || b->go < 0 || b->ready < 0)
		return fail(f, "box", "descriptors");
	if (pipe_to_slot(&b->out_fd, &in->out_fd, b->lane->uid) < 0 || pipe_to_slot(&b->err_fd, &in->err_fd, b->lane->uid) < 0)
		return fail(f, "box", "pipes");
	in->shape = &b->shape;
	in->uid = b->lane->uid;
	in->stdin_fd = b->stdin_fd;
	in->go = b->go;
	in->ready = b->ready;
	in->hand = b->lane->hand;
	if (start_init(s, b, in, f) < 0 || start_program(s, b, in, f) < 0)
		return -1;
	controls_read(s, b);
	read_baseline(&l->groups, b);
	return 0;
}

int box_build(struct slot *s, struct box *b, const struct shape *shape, struct failure *f)
{
	struct inside in = {.out_fd = -1, .err_fd = -1};

	memset(b, 0, sizeof *b);
	b->shape = *shape;
	b->init_fd = b->program_fd = b->life = b->go = b->ready = b->stdin_fd = b->out_fd = b->err_fd = -1;
	b->reaped_init = b->reaped_program = true;
	b->lane = take_lane(s);
	if (!b->lane)
		return fail_with(f, EBUSY, "box", "no free lane");
	memset(b->lane->hand, 0, sizeof *b->lane->hand);
	int done = build(s, b, &in, f);
	shut(&in.out_fd);
	shut(&in.err_fd);
	shut(&b->ready);
	b->built = true;
	if (done < 0) {
		struct teardown t;
		box_destroy(s, b, &t);
	}
	return done;
}

/* ---- ending ---- */

void box_kill(struct box *b)
{
	/* When the init of a pid namespace dies, the kernel kills everything in it, forks under way included. */
	if (b->init_fd >= 0)
		syscall(__NR_pidfd_send_signal, b->init_fd, SIGKILL, NULL, 0);
	/* Nothing new where there is that namespace, and all there is where it is missing. */
	if (b->program_fd >= 0)
		syscall(__NR_pidfd_send_signal, b->program_fd, SIGKILL, NULL, 0);
}

static bool reap(int pidfd, bool *reaped)
{
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};
	uint64_t deadline = now_ns() + END_PATIENCE_MS * 1000000ull;
	while (!*reaped && now_ns() < deadline) {
		siginfo_t info = {0};
		if (poll(&ended, 1, END_PATIENCE_MS) < 0 && errno != EINTR)
			break;
		/* Never without WNOHANG: an interrupted poll says nothing about the child. */
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

static void note_left(void *context, const char *text)
{
	struct teardown *t = context;
	if (t->lefts < 16)
		snprintf(t->left[t->lefts++], sizeof t->left[0], "%s", text);
}

/* Every mount that an idle slot does not have, other than a work directory that is still in use. */
static void list_mounts(struct slot *s, struct teardown *t)
{
	static char text[16384];
	if (read_mounts(s, text, sizeof text) < 0) {
		note_error(t, "mount list", errno);
		return;
	}
	char *rest = NULL;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char at[256] = "";
		sscanf(line, "%*s %*s %*s %*s %255s", at);
		bool work = s->work_mounted && !strcmp(at, "/box");
		if (!work && !has_word(s->mounts, line, "\n") && t->mounts < 8)
			snprintf(t->mount[t->mounts++], sizeof t->mount[0], "%s", at);
	}
}

void collect_circles(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		close(fd);
}

/*
 * The next box on this lane gets its network, and must not meet a socket of this one
 * there. In a circle one outlives its program until the kernel has collected it.
 */
static bool sockets_gone(const struct lane *lane)
{
	uint64_t deadline = now_ns() + END_PATIENCE_MS * 1000000ull;
	static const char none[] = "sockets: used 0\n"; /* a count: 2 us, where the list of them takes 14 */
	char text[sizeof none - 1];
	for (;;) {
		ssize_t n = pread(lane->sockets, text, sizeof text, 0);
		if (n == sizeof text && !memcmp(text, none, sizeof text))
			return true;
		if (n <= 0 || now_ns() >= deadline)
			return false;
		collect_circles();
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
	shut(&b->life);
	/* The program first: its namespace cannot end while it is unreaped. */
	t->reaped = reap(b->program_fd, &b->reaped_program);
	t->reaped = reap(b->init_fd, &b->reaped_init) && t->reaped;

	t->populated = -1;
	if (b->leaf.name[0]) {
		if (leaf_read(g, &b->leaf, FACT_POPULATED, &value) == 0)
			t->populated = value != 0;
		if (leaf_read(g, &b->leaf, FACT_PIDS_CURRENT, &t->pids_left) < 0)
			note_error(t, fact_name(FACT_PIDS_CURRENT), errno);
		if (t->pids_left) {
			int tasks = leaf_tasks(g, &b->leaf);
			t->zombies = (uint64_t)tasks < t->pids_left ? (int)(t->pids_left - (uint64_t)tasks) : 0;
		}
		if (l->signal_map >= 0)
			signals_take(l->signal_map, b->leaf.id, &unused);
		leaf_remove(g, &b->leaf, note_left, t);
	}
	shut(&b->init_fd);
	shut(&b->program_fd);
	shut(&b->go);
	shut(&b->stdin_fd);
	shut(&b->out_fd);
	shut(&b->err_fd);
	list_mounts(s, t);
	if (t->reaped && b->lane && !sockets_gone(b->lane))
		note_left(t, "sockets in the network namespace");
	if (t->reaped && b->lane)
		b->lane->taken = false;
	b->built = false;
}
