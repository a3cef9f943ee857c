/*
 * Supervises two programs that talk to each other: the program of a STEP and its interactor, the program of the PEER before it.
 * slot/slot.c calls this. The slot itself passes the bytes on, so it has the output of both, ends a flood, and sees whose turn it is.
 *
 * For the limit of wall time of each side, only the time counts in which this side is at work; otherwise, a slow interactor would make
 * the program exceed its limit. The time before a write belongs to the writer. Every 20 ms, the slot reads the state of both sides. If
 * the interactor waits for input, the time belongs to the program, even if the program waits as well (it has usually not flushed its
 * output). If only the program waits, the time belongs to the interactor. If neither waits, it belongs to the side whose turn it is:
 * the one to which bytes were last passed, and at first the interactor.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "descriptors.h"
#include "supervise/watch.h"

enum { PROGRAM, INTERACTOR, SIDES, NEITHER };
enum { TURN_CHECK_NS = 20000000 };

/*
 * A program that ends closes its output some time before the slot can see its end. If the input of the other side ended at once, that
 * side could end in between, and would count as the first to end. So that input ends only when the program has ended, or after this
 * time.
 */
enum { CLOSE_DELAY_NS = 100000000 };

/* The bytes that one side has written and that have not been written to the other side yet. */
struct relay {
	size_t from, to;
	uint64_t closed_ns; /* when the writer closed its output; 0: it is open */
	uint8_t data[READ_AT_ONCE];
};

struct pair {
	struct watch watch[SIDES];
	struct relay relay[SIDES]; /* by the side that writes */
	bool ended[SIDES];
	int turn, first_ended;
	uint64_t attributed_until; /* the time up to which work_ns is counted */
	uint64_t work_ns[SIDES];   /* how long each side has been at work */
	uint64_t turn_check_at;
};

enum { TASKS_READ = 64 };

/* Whether this descriptor of a task is the input pipe of its box, which can have any number in the task. */
static bool is_input(const struct watch *w, pid_t task, unsigned long fd)
{
	char name[48];
	struct stat input, other;
	snprintf(name, sizeof name, "%d/fd/%lu", task, fd);
	return fstat(w->run->in_fd, &input) == 0 && fstatat(w->slot->launcher->proc, name, &other, 0) == 0 &&
	       input.st_dev == other.st_dev && input.st_ino == other.st_ino;
}

/* Whether a task waits for input in this system call. A task that waits in another call, such as a sleep, counts as working. */
static bool is_wait_for_input(const struct watch *w, pid_t task, const char *call)
{
	static const long waiting[] = {
#ifdef __NR_poll
		__NR_poll, __NR_select, __NR_epoll_wait,
#endif
		__NR_ppoll, __NR_pselect6, __NR_epoll_pwait,
	};
	long number;
	unsigned long first;
	if (sscanf(call, "%ld 0x%lx", &number, &first) != 2)
		return false;
	for (size_t i = 0; i < sizeof waiting / sizeof *waiting; i++)
		if (number == waiting[i])
			return true;
	return (number == __NR_read || number == __NR_readv || number == __NR_splice) && is_input(w, task, first);
}

/* Whether the input pipe of a side is empty, one of its tasks waits for input, and none of its tasks runs. */
static bool waits_for_input(const struct watch *w)
{
	const struct launcher *l = w->slot->launcher;
	pid_t task[TASKS_READ];
	int unread = 0;
	if (w->run->in_fd < 0 || ioctl(w->run->in_fd, FIONREAD, &unread) < 0 || unread > 0)
		return false;
	int tasks = leaf_tasks(w->run->box->groups, w->run->leaf, task, TASKS_READ);
	bool waits = false;
	for (int i = 0; i < tasks && i < TASKS_READ; i++) {
		char name[32], call[128] = "";
		snprintf(name, sizeof name, "%d/syscall", task[i]);
		int fd = open_proc(l, name);
		ssize_t n = fd < 0 ? -1 : read(fd, call, sizeof call - 1);
		close_fd(&fd);
		if (n > 0 && !strncmp(call, "running", 7))
			return false;
		waits = waits || (n > 0 && is_wait_for_input(w, task[i], call));
	}
	return waits;
}

/* Counts the time since attributed_until as work of this side. */
static void count_work(struct pair *p, int side)
{
	uint64_t now = now_ns();
	p->work_ns[side] += now - p->attributed_until;
	p->attributed_until = now;
}

/* Decides whose turn it is by the rules at the beginning of this file, and counts the time since attributed_until for that side. */
static void check_turn(struct pair *p)
{
	p->turn_check_at = now_ns() + TURN_CHECK_NS;
	if (p->ended[PROGRAM] || p->ended[INTERACTOR])
		p->turn = p->ended[PROGRAM] ? INTERACTOR : PROGRAM;
	else if (p->relay[INTERACTOR].from < p->relay[INTERACTOR].to || waits_for_input(&p->watch[INTERACTOR]))
		p->turn = PROGRAM;
	else if (p->relay[PROGRAM].from < p->relay[PROGRAM].to || waits_for_input(&p->watch[PROGRAM]))
		p->turn = INTERACTOR;
	count_work(p, p->turn);
}

static void check_wall_limits(struct pair *p)
{
	for (int side = 0; side < SIDES; side++) {
		struct watch *w = &p->watch[side];
		if (p->ended[side])
			continue;
		if (p->work_ns[side] >= w->request->number[KEY_WALL_MS] * 1000000)
			kill_for(w, KILL_WALL);
		if (w->o->reason != KILL_NONE && p->first_ended == NEITHER)
			p->first_ended = side;
	}
}

/* Writes to the other side what has been read from `side`. Returns false if the other side must first take what its pipe contains. */
static bool relay_pending(struct pair *p, int side)
{
	struct relay *r = &p->relay[side];
	int *to = &p->watch[!side].run->in_fd;
	while (r->from < r->to && *to >= 0) {
		ssize_t n = write(*to, r->data + r->from, r->to - r->from);
		if (n < 0 && errno == EAGAIN)
			return false;
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			close_fd(to); /* the other side has closed its input */
			break;
		}
		r->from += (size_t)n;
		count_work(p, side);
		p->turn = !side;
	}
	r->from = r->to = 0;
	return true;
}

/*
 * Records that a side was the first to exceed the limit of its output. The excess ends the input of the other side, and all that
 * follows there can be a consequence. It does not count if the other side had already ended, because it then had no effect there.
 */
static void record_excess(struct pair *p, int side)
{
	if (exceeds_output_limit(&p->watch[side], 0) && !exceeds_output_limit(&p->watch[!side], 0) && !p->ended[!side])
		p->watch[side].o->exceeded_first = true;
}

/* Reads the output of a side and passes it on up to its limit. At the end of the output, or beyond the limit, the other's input ends. */
static void relay_output(struct pair *p, int side, bool readable)
{
	struct watch *w = &p->watch[side];
	struct relay *r = &p->relay[side];
	int *from = &w->run->out_fd, *to = &p->watch[!side].run->in_fd;
	bool all_read = false;
	if (!relay_pending(p, side))
		return;
	/* All output up to the limit has been passed on. Output of exactly this size does not end the input of the other side. */
	if (exceeds_output_limit(w, 0))
		close_fd(to);
	for (int rounds = READS_PER_ROUND; (readable || p->ended[side]) && rounds > 0 && *from >= 0 && *to >= 0; rounds--) {
		ssize_t n = read(*from, r->data, sizeof r->data);
		/* No process is left that could write more. The pipe is not at its end if a socket in flight keeps it open. */
		all_read = n < 0 && errno == EAGAIN && p->ended[side];
		if (all_read)
			break;
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			w->o->read_error = w->o->read_error || n < 0;
			close_fd(from);
			r->closed_ns = now_ns();
			break;
		}
		r->to = queue_output(w, 0, r->data, (size_t)n);
		record_excess(p, side);
		if (!relay_pending(p, side))
			return;
		if (exceeds_output_limit(w, 0))
			close_fd(to);
	}
	bool closed = *from < 0 && now_ns() - r->closed_ns >= CLOSE_DELAY_NS;
	if (all_read || closed || (*from < 0 && p->ended[side]))
		close_fd(to);
	if (*from >= 0 && *to < 0)
		read_output_if_due(w, from, 0, readable);
}

static void end_side(struct pair *p, int side)
{
	struct watch *w = &p->watch[side];
	struct outcome *o = w->o;
	if (!w->unkillable)
		o->ended_ns = now_ns();
	count_work(p, side);
	if (p->first_ended == NEITHER)
		p->first_ended = side;
	end_program(w);
	p->ended[side] = true;
	p->turn = !side;
	p->attributed_until = now_ns(); /* the time in which its other processes ended counts for neither side */
	relay_output(p, side, true);
}

/* Indices of the descriptors of one side in the list for poll. */
enum { ON_END, ON_OUT, ON_ERR, ON_OOM, ON_IN, EVENTS };

static void poll_side(const struct pair *p, int side, struct pollfd *on)
{
	const struct watch *w = &p->watch[side];
	const struct run *run = w->run;
	bool pending = p->relay[side].from < p->relay[side].to;
	on[ON_END] = (struct pollfd){.fd = p->ended[side] ? -1 : run->program_fd, .events = POLLIN};
	on[ON_OUT] = (struct pollfd){.fd = pending || w->read_at[0] ? -1 : run->out_fd, .events = POLLIN};
	on[ON_ERR] = (struct pollfd){.fd = w->read_at[1] ? -1 : run->err_fd, .events = POLLIN};
	on[ON_OOM] = (struct pollfd){.fd = p->ended[side] ? -1 : run->leaf->oom_event, .events = POLLIN};
	on[ON_IN] = (struct pollfd){.fd = pending ? p->watch[!side].run->in_fd : -1, .events = POLLOUT};
}

static void serve_side(struct pair *p, int side, const struct pollfd *on)
{
	struct watch *w = &p->watch[side];
	bool killed = w->o->reason != KILL_NONE;
	relay_output(p, side, on[ON_OUT].revents || (w->read_at[0] && now_ns() >= w->read_at[0]));
	read_output_if_due(w, &w->run->err_fd, 1, on[ON_ERR].revents);
	if (p->ended[side])
		return;
	w->unkillable = killed && end_is_overdue(w);
	if (on[ON_END].revents || w->unkillable) {
		end_side(p, side);
		return;
	}
	if (killed && now_ns() >= next_check(w, false))
		help_killed_processes(w);
	if (on[ON_OOM].revents)
		count_oom_events(w);
	check_deadlines(w);
}

static uint64_t next_event(const struct pair *p)
{
	uint64_t next = p->turn_check_at;
	for (int side = 0; side < SIDES; side++)
		if (!p->ended[side] && next_check(&p->watch[side], false) < next)
			next = next_check(&p->watch[side], false);
	return next;
}

static void watch_pair(struct pair *p, const volatile int *stopping)
{
	struct watch *w = &p->watch[PROGRAM];
	sigset_t none;
	sigemptyset(&none);
	while (!p->ended[PROGRAM] || !p->ended[INTERACTOR]) {
		struct pollfd on[SIDES * EVENTS + 1];
		struct timespec wait = time_until(next_event(p));
		for (int side = 0; side < SIDES; side++)
			poll_side(p, side, on + side * EVENTS);
		on[SIDES * EVENTS] = (struct pollfd){.fd = w->connection, .events = POLLRDHUP};
		int n = ppoll(on, SIDES * EVENTS + 1, &wait, &none);
		if (n < 0 && errno != EINTR)
			evidence_error(w->o, "poll", errno);
		for (int i = 0; n <= 0 && i < SIDES * EVENTS + 1; i++)
			on[i].revents = 0;
		bool disconnected = on[SIDES * EVENTS].revents & (POLLRDHUP | POLLHUP | POLLERR);
		/* Output is sent every 20 ms, not at each of many short messages. */
		bool due = now_ns() >= p->turn_check_at;
		if (disconnected || (due && w->connection >= 0 && queue_flush(w->out, w->connection) < 0))
			w->connection = -1; /* otherwise poll would return at once until the boxes are dead */
		for (int side = 0; side < SIDES && (*stopping || w->connection < 0); side++)
			if (!p->ended[side])
				kill_for(&p->watch[side], KILL_CLIENT);
		/* The interactor comes first: if both have ended since the last poll, it decided without knowing of the program's end. */
		for (int side = SIDES - 1; side >= 0; side--)
			serve_side(p, side, on + side * EVENTS);
		if (due)
			check_turn(p);
		check_wall_limits(p);
	}
}

static int start_pair(struct pair *p, struct failure *f)
{
	struct watch *w = p->watch;
	if (run_prepare(w[PROGRAM].run, f) < 0 || run_prepare(w[INTERACTOR].run, f) < 0 || bind_programs(w, SIDES, f) < 0)
		return -1;
	for (int side = 0; side < SIDES; side++) {
		if (run_start(w[side].run, f) < 0)
			return -1;
		set_deadlines(&w[side]);
		w[side].wall_deadline = UINT64_MAX; /* check_wall_limits() checks the limit instead */
	}
	for (int side = 0; side < SIDES; side++)
		w[side].peer = &w[!side];
	p->attributed_until = now_ns();
	p->turn_check_at = p->attributed_until + TURN_CHECK_NS;
	return 0;
}

void supervise_pair(struct slot *s, struct run *run[2], struct client *client)
{
	static struct pair pair;
	struct pair *p = &pair;
	struct outcome *o[SIDES] = {&run[PROGRAM]->outcome, &run[INTERACTOR]->outcome};
	*p = (struct pair){.turn = INTERACTOR, .first_ended = NEITHER};
	for (int side = 0; side < SIDES; side++)
		p->watch[side] = new_watch(s, run[side], side == PROGRAM ? client->connection : -1);
	if (start_pair(p, &o[PROGRAM]->failure) == 0) {
		watch_pair(p, client->stopping);
		for (int side = 0; side < SIDES; side++) {
			collect_results(&p->watch[side]);
			o[side]->paired = true;
			o[side]->ended_first = p->first_ended == side;
			o[side]->waited_ns = o[side]->wall_ns > p->work_ns[side] ? o[side]->wall_ns - p->work_ns[side] : 0;
		}
	} else {
		o[INTERACTOR]->failure = o[PROGRAM]->failure;
	}
}
