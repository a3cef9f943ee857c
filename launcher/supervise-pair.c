/*
 * Supervises two programs that talk to each other: a program and its interactor. The slot passes the bytes on, so it has the
 * output of each, ends a flood, and sees whose turn it is.
 *
 * The limit of wall time of each counts only while it is at work, otherwise a slow interactor would make the program exceed
 * its limit. The time before a write belongs to the writer. Every 20 ms, the state of both is looked at: if the interactor
 * waits for input, the time belongs to the program, even if that waits as well (it usually did not flush its output); if
 * only the program waits, to the interactor; otherwise to the side whose turn it is: the last reader.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "clock.h"
#include "supervise-parts.h"

enum { PROGRAM, INTERACTOR, SIDES, NEITHER };
enum { SAMPLE_NS = 20000000 };

/*
 * A program that ends closes its output some time before its end can be seen. The other side, to which this is the end of its
 * input, could end in between, and would count as the first. Its input therefore ends after the program, or after this time.
 */
enum { CLOSE_NS = 100000000 };

/* Bytes on the way from one to the other. */
struct relay {
	size_t from, to;
	uint64_t closed_ns; /* when the writer closed its output; 0: it is open */
	uint8_t data[READ_AT_ONCE];
};

struct pair {
	struct watch watch[SIDES];
	struct relay relay[SIDES]; /* by the writer */
	bool over[SIDES];
	int turn, first;
	uint64_t counted_until, work_ns[SIDES], sample_at;
};

/* The time since the last event belongs to this side. */
static void count_work(struct pair *p, int side)
{
	uint64_t now = now_ns();
	p->work_ns[side] += now - p->counted_until;
	p->counted_until = now;
}

static void sample(struct pair *p)
{
	p->sample_at = now_ns() + SAMPLE_NS;
	if (p->over[PROGRAM] || p->over[INTERACTOR])
		p->turn = p->over[PROGRAM] ? INTERACTOR : PROGRAM;
	else if (p->relay[INTERACTOR].from < p->relay[INTERACTOR].to || waits_for_input(&p->watch[INTERACTOR]))
		p->turn = PROGRAM;
	else if (p->relay[PROGRAM].from < p->relay[PROGRAM].to || waits_for_input(&p->watch[PROGRAM]))
		p->turn = INTERACTOR;
	count_work(p, p->turn);
}

static void check_work(struct pair *p)
{
	for (int side = 0; side < SIDES; side++) {
		struct watch *w = &p->watch[side];
		if (p->over[side])
			continue;
		if (p->work_ns[side] >= w->request->number[KEY_WALL_MS] * 1000000)
			kill_for(w, KILL_WALL);
		if (w->o->reason != KILL_NONE && p->first == NEITHER)
			p->first = side;
	}
}

/* Passes on what is held. Returns false if the reader must read first. */
static bool pass_held(struct pair *p, int side)
{
	struct relay *r = &p->relay[side];
	int *to = &p->watch[!side].box->in_fd;
	while (r->from < r->to && *to >= 0) {
		ssize_t n = write(*to, r->data + r->from, r->to - r->from);
		if (n < 0 && errno == EAGAIN)
			return false;
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			close_fd(to); /* the other reads no more */
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
 * The excess ends the input of the other, and all that follows there can be a consequence. The report therefore says whose
 * excess came first. An excess after the end of the other had no effect on it.
 */
static void note_excess(struct pair *p, int side)
{
	if (exceeds_output_limit(&p->watch[side], 0) && !exceeds_output_limit(&p->watch[!side], 0) && !p->over[!side])
		p->watch[side].o->exceeded_first = true;
}

/* Reads the output of a side and passes it on up to its limit. At its end, or beyond the limit, the input of the other ends. */
static void relay_output(struct pair *p, int side, bool readable)
{
	struct watch *w = &p->watch[side];
	struct relay *r = &p->relay[side];
	int *from = &w->box->out_fd, *to = &p->watch[!side].box->in_fd;
	bool all_read = false;
	if (!pass_held(p, side))
		return;
	/* The reader has taken all up to the limit. Output of exactly that size does not end the conversation. */
	if (exceeds_output_limit(w, 0))
		close_fd(to);
	for (int rounds = READS_PER_ROUND; (readable || p->over[side]) && rounds > 0 && *from >= 0 && *to >= 0; rounds--) {
		ssize_t n = read(*from, r->data, sizeof r->data);
		/* No process is left that could write more, but a socket may still hold the pipe. */
		all_read = n < 0 && errno == EAGAIN && p->over[side];
		if (all_read)
			break;
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			w->o->write_error = w->o->write_error || n < 0;
			close_fd(from);
			r->closed_ns = now_ns();
			break;
		}
		r->to = queue_output(w, 0, r->data, (size_t)n);
		note_excess(p, side);
		if (!pass_held(p, side))
			return;
		if (exceeds_output_limit(w, 0))
			close_fd(to);
	}
	bool closed = *from < 0 && now_ns() - r->closed_ns >= CLOSE_NS;
	if (all_read || closed || (*from < 0 && p->over[side]))
		close_fd(to);
	if (*from >= 0 && *to < 0)
		read_if_due(w, from, 0, readable);
}

static void end_side(struct pair *p, int side)
{
	struct watch *w = &p->watch[side];
	struct outcome *o = w->o;
	if (!w->unkillable)
		o->ended_ns = now_ns();
	count_work(p, side);
	if (p->first == NEITHER)
		p->first = side;
	end_program(w);
	p->over[side] = true;
	p->turn = !side;
	p->counted_until = now_ns(); /* the end of its processes is the work of neither */
	relay_output(p, side, true);
}

/* The events of one side. */
enum { ON_END, ON_OUT, ON_ERR, ON_OOM, ON_IN, EVENTS };

static void poll_side(const struct pair *p, int side, struct pollfd *on)
{
	const struct watch *w = &p->watch[side];
	const struct box *b = w->box;
	bool held = p->relay[side].from < p->relay[side].to;
	on[ON_END] = (struct pollfd){.fd = p->over[side] ? -1 : b->program_fd, .events = POLLIN};
	on[ON_OUT] = (struct pollfd){.fd = held || w->paused_until[0] ? -1 : b->out_fd, .events = POLLIN};
	on[ON_ERR] = (struct pollfd){.fd = w->paused_until[1] ? -1 : b->err_fd, .events = POLLIN};
	on[ON_OOM] = (struct pollfd){.fd = p->over[side] ? -1 : b->leaf->oom_event, .events = POLLIN};
	on[ON_IN] = (struct pollfd){.fd = held ? p->watch[!side].box->in_fd : -1, .events = POLLOUT};
}

static void serve_side(struct pair *p, int side, const struct pollfd *on)
{
	struct watch *w = &p->watch[side];
	bool killed = w->o->reason != KILL_NONE;
	relay_output(p, side, on[ON_OUT].revents || (w->paused_until[0] && now_ns() >= w->paused_until[0]));
	read_if_due(w, &w->box->err_fd, 1, on[ON_ERR].revents);
	if (p->over[side])
		return;
	w->unkillable = killed && now_ns() - w->killed_ns > END_TIMEOUT_MS * 1000000ull;
	if (on[ON_END].revents || w->unkillable) {
		end_side(p, side);
		return;
	}
	if (killed && now_ns() >= next_check(w, false))
		hurry_end(w);
	if (on[ON_OOM].revents)
		count_oom_events(w);
	check_deadlines(w);
}

static uint64_t next_event(const struct pair *p)
{
	uint64_t next = p->sample_at;
	for (int side = 0; side < SIDES; side++)
		if (!p->over[side] && next_check(&p->watch[side], false) < next)
			next = next_check(&p->watch[side], false);
	return next;
}

static void watch_pair(struct pair *p, const volatile int *stopping)
{
	struct watch *w = &p->watch[PROGRAM];
	sigset_t none;
	sigemptyset(&none);
	while (!p->over[PROGRAM] || !p->over[INTERACTOR]) {
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
		bool gone = on[SIDES * EVENTS].revents & (POLLRDHUP | POLLHUP | POLLERR);
		/* Not at each of many short messages. */
		bool due = now_ns() >= p->sample_at;
		if (gone || (due && w->connection >= 0 && queue_flush(w->out, w->connection) < 0))
			w->connection = -1; /* otherwise poll would return at once until the boxes are dead */
		for (int side = 0; side < SIDES && (*stopping || w->connection < 0); side++)
			if (!p->over[side])
				kill_for(&p->watch[side], KILL_CLIENT);
		/* The interactor first: if both have ended since the last poll, its answer does not follow from the program's end. */
		for (int side = SIDES - 1; side >= 0; side--)
			serve_side(p, side, on + side * EVENTS);
		if (due)
			sample(p);
		check_work(p);
	}
}

static int start_pair(struct pair *p, struct failure *f)
{
	struct watch *w = p->watch;
	if (prepare_program(&w[PROGRAM], f) < 0 || prepare_program(&w[INTERACTOR], f) < 0 || bind_programs(w, SIDES, f) < 0)
		return -1;
	for (int side = 0; side < SIDES; side++) {
		if (start_program(&w[side], f) < 0)
			return -1;
		set_deadlines(&w[side]);
		w[side].wall_deadline = UINT64_MAX; /* see check_work() */
	}
	p->counted_until = now_ns();
	p->sample_at = p->counted_until + SAMPLE_NS;
	return 0;
}

void supervise_pair(struct slot *s, struct box *b[2], const struct request *r[2], struct queue *out[2], int connection,
		    const volatile int *stopping, struct outcome *o[2])
{
	static struct pair pair;
	struct pair *p = &pair;
	*p = (struct pair){.turn = INTERACTOR, .first = NEITHER};
	for (int side = 0; side < SIDES; side++)
		p->watch[side] = new_watch(s, b[side], r[side], out[side], side == PROGRAM ? connection : -1, o[side]);
	if (start_pair(p, &o[PROGRAM]->failure) == 0) {
		watch_pair(p, stopping);
		for (int side = 0; side < SIDES; side++) {
			read_rest(&p->watch[side]);
			o[side]->paired = true;
			o[side]->first = p->first == side;
			o[side]->waited_ns = o[side]->wall_ns > p->work_ns[side] ? o[side]->wall_ns - p->work_ns[side] : 0;
		}
	} else {
		o[INTERACTOR]->failure = o[PROGRAM]->failure;
	}
	cpus_release(s->launcher->cpus, s->number);
}
