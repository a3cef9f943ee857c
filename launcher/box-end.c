/* The end of a box: kills, reaps and removes everything in it, and lists what could not be removed. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "box.h"
#include "clock.h"
#include "unforked-memory.h"
#include "seccomp.h"
#include "signals.h"

enum { REAP_TIMEOUT_MS = 5000 };

void box_kill(struct box *b)
{
	/*
	 * When the init of a pid namespace dies, the kernel kills everything in it, including processes that are being
	 * forked.
	 */
	if (b->init_fd >= 0)
		syscall(__NR_pidfd_send_signal, b->init_fd, SIGKILL, NULL, 0);
	/* Needed only if the pid namespace is missing. */
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
		/* Always with WNOHANG: after an interrupted poll the child may still run. */
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
	if (t->left_count < 16)
		snprintf(t->left[t->left_count++], sizeof t->left[0], "%s", text);
}

/*
 * Any user of the host may open /proc/PID/mountinfo of a box's process and keeps its mount namespace as long as that file
 * is open. File systems that are still mounted there would remain, with all that the program wrote.
 */
static void unmount_all(const struct slot *s, struct box *b, struct teardown *t)
{
	if (b->mount_ns < 0)
		return;
	if (keyed(setns, b->mount_ns, CLONE_NEWNS) < 0) {
		note_error(t, "mount namespace of the box", errno);
		return;
	}
	/* All mounts at once: for each call, the kernel waits until no CPU uses the mounts that it removes. */
	if (keyed(umount2, "/", MNT_DETACH) < 0)
		note_error(t, "mounts of the box", errno);
	leave_box(s);
}

/* Lists each mount that an idle slot does not have, except a work directory that is still in use. */
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
		if (has_word(s->mounts, line, "\n"))
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
 * The next box on this lane uses the same network and must not find a socket of this one there. A socket in a cycle
 * outlives its program until the kernel collects the cycle.
 */
static bool no_sockets_left(const struct lane *lane)
{
	uint64_t deadline = now_ns() + REAP_TIMEOUT_MS * 1000000ull;
	static const char none[] = "sockets: used 0\n"; /* a count: 2 us; a list of the sockets takes 14 us */
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
	/* The program first: its namespace cannot end before the program is reaped. */
	t->reaped = reap(b->program_fd, &b->reaped_program);
	t->reaped = reap(b->init_fd, &b->reaped_init) && t->reaped;

	if (b->own_work && !s->work_shared)
		close_fd(&s->work); /* keeps its memory */
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
		int64_t held = t->reaped ? leaf_wait_uncharged(g, b->leaf, s->work_shared) : 0;
		if (held < 0)
			note_error(t, "memory after the end", errno);
		else if (held > 0)
			note_left(t, "memory");
		if (l->signal_map >= 0)
			signals_take(l->signal_map, b->leaf->id, &unused);
		leaf_end(g, b->leaf, note_left, t);
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
		note_left(t, "sockets in the network namespace");
	if (t->reaped && b->lane)
		b->lane->taken = false;
	b->built = false;
}
