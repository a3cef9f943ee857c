/*
 * What only two programs that talk to each other need: the program of a STEP and its interactor, the program of the PEER before it.
 * supervise.c calls this. The slot itself passes the bytes on, so it has the output of both, ends a flood, and sees whose turn it is.
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
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "descriptors.h"
#include "supervise/watch.h"
#include "unforked-memory.h"

enum { PROGRAM, INTERACTOR, NEITHER };
enum {
	TURN_CHECK_NS = 20000000,
	/*
	 * A program that ends closes its output some time before the slot can see its end. If the input of the other side ended at once, that
	 * side could end in between, and would count as the first to end. So that input ends only when the program has ended, or after this
	 * time.
	 */
	CLOSE_DELAY_NS = 100000000,
	TASKS_READ = 64,
};

/* The bytes that one side has written and that have not been written to the other side yet. */
struct relay {
	size_t from, to;
	uint64_t closed_ns; /* when the writer closed its output; 0: it is open */
	uint8_t data[READ_AT_ONCE];
};

static int side_of(const struct watch *w)
{
	return w == &w->pair->watch[INTERACTOR] ? INTERACTOR : PROGRAM;
}

void pair_programs(struct pair *p, struct watch *w)
{
	static struct area area;
	*p = (struct pair){
		.watch = w, .relay = area_of(&area, PROGRAMS_MAX * sizeof *p->relay), .turn = INTERACTOR, .first_ended = NEITHER,
	};
	for (int side = 0; side < PROGRAMS_MAX; side++) {
		p->relay[side].from = p->relay[side].to = 0;
		p->relay[side].closed_ns = 0;
		w[side].pair = p;
	}
}

/* ---- whose turn it is ---- */

void begin_turns(struct pair *p)
{
	p->attributed_until = now_ns();
	p->watch[PROGRAM].deadline[DEADLINE_TURN] = p->attributed_until + TURN_CHECK_NS;
}

/* Whether this descriptor of a task is the input pipe of its run, which can have any number in the task. */
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

/* Counts the time since attributed_until as work of this side. The time in which the other processes of a side end counts for neither. */
static void count_work(struct pair *p, int side)
{
	uint64_t now = now_ns();
	if (p->watch[PROGRAM].state != ENDING && p->watch[INTERACTOR].state != ENDING)
		p->work_ns[side] += now - p->attributed_until;
	p->attributed_until = now;
}

/* Decides whose turn it is by the rules at the beginning of this file, and counts the time since attributed_until for that side. */
void check_turn(struct watch *w, uint64_t now)
{
	struct pair *p = w->pair;
	struct watch *program = &p->watch[PROGRAM], *interactor = &p->watch[INTERACTOR];
	w->deadline[DEADLINE_TURN] = now + TURN_CHECK_NS;
	if (program->state != RUNNING || interactor->state != RUNNING)
		p->turn = program->state != RUNNING ? INTERACTOR : PROGRAM;
	else if (relay_is_pending(interactor) || waits_for_input(interactor))
		p->turn = PROGRAM;
	else if (relay_is_pending(program) || waits_for_input(program))
		p->turn = INTERACTOR;
	count_work(p, p->turn);
}

void check_sides(struct pair *p)
{
	for (int side = 0; side < PROGRAMS_MAX; side++) {
		struct watch *w = &p->watch[side];
		if (w->state != RUNNING)
			continue;
		if (p->work_ns[side] >= w->request->number[KEY_WALL_MS] * 1000000)
			kill_for(w, KILL_WALL);
		if (w->o->reason != KILL_NONE && p->first_ended == NEITHER)
			p->first_ended = side;
	}
}

/* ---- the bytes ---- */

bool relay_is_pending(const struct watch *w)
{
	const struct relay *r = &w->pair->relay[side_of(w)];
	return r->from < r->to;
}

bool relayed_input_is_pending(const struct watch *w)
{
	return relay_is_pending(&w->pair->watch[!side_of(w)]);
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
	const struct watch *other = &p->watch[!side];
	if (exceeds_output_limit(&p->watch[side], 0) && !exceeds_output_limit(other, 0) && other->state == RUNNING)
		p->watch[side].o->exceeded_first = true;
}

void relay_output(struct watch *w, bool readable)
{
	struct pair *p = w->pair;
	int side = side_of(w);
	struct relay *r = &p->relay[side];
	int *from = &w->run->out_fd, *to = &p->watch[!side].run->in_fd;
	bool all_read = false;
	if (!relay_pending(p, side))
		return;
	/* All output up to the limit has been passed on. Output of exactly this size does not end the input of the other side. */
	if (exceeds_output_limit(w, 0))
		close_fd(to);
	for (int rounds = READS_PER_ROUND; (readable || w->state == ENDED) && rounds > 0 && *from >= 0 && *to >= 0; rounds--) {
		ssize_t n = read(*from, r->data, sizeof r->data);
		/* No process is left that could write more. The pipe is not at its end if a socket in flight keeps it open. */
		all_read = n < 0 && errno == EAGAIN && w->state == ENDED;
		if (all_read)
			break;
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			w->o->read_error = w->o->read_error || n < 0;
			close_fd(from);
			r->closed_ns = now_ns();
			w->deadline[DEADLINE_CLOSE] = r->closed_ns + CLOSE_DELAY_NS;
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
	if (all_read || closed || (*from < 0 && w->state == ENDED))
		close_fd(to);
	if (*from >= 0 && *to < 0 && readable)
		read_stream(w, 0);
}

/* ---- the end ---- */

void record_end(struct watch *w)
{
	struct pair *p = w->pair;
	count_work(p, side_of(w));
	if (p->first_ended == NEITHER)
		p->first_ended = side_of(w);
}

void relay_rest(struct watch *w)
{
	struct pair *p = w->pair;
	p->turn = !side_of(w);
	p->attributed_until = now_ns();
	relay_output(w, true);
}

void report_pair(const struct pair *p)
{
	for (int side = 0; side < PROGRAMS_MAX; side++) {
		struct outcome *o = p->watch[side].o;
		o->paired = true;
		o->ended_first = p->first_ended == side;
		o->waited_ns = o->wall_ns > p->work_ns[side] ? o->wall_ns - p->work_ns[side] : 0;
	}
}
