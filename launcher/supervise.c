/*
 * Supervises one running program with one thread and one poll: the program's pidfd, its two pipes, the v1 OOM event,
 * the connection, and a timeout for the nearest deadline. Kernel memory is read every 20 ms, because it has no event.
 * supervise-pair.c does the same for two programs, supervise-limits.c has the limits of either, supervise-samples.c what
 * users see of their course.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "supervise-parts.h"

enum {
	PAUSE_NS = 2000000,
	EXEC_NS = 500000,   /* a signal that waits for the exec is looked at so often */
	HOLD_NS = 5000000, /* output and end of a short program then reach the service in one piece */
	QUIET_NS = 2000000, /* each saved wake-up shortens a run of 0.5 ms by 20 to 40 us */
};

/*
 * Not at each write: for a program that wrote byte by byte for 0.7 s of CPU time, the slot used 1.7 s. A full read
 * below the limit is followed by the next at once; the limit bounds how often.
 */
void read_if_due(struct watch *w, int *fd, int stream, bool readable)
{
	bool due = w->paused_until[stream] && now_ns() >= w->paused_until[stream];
	if (!readable && !due)
		return;
	w->paused_until[stream] = 0;
	uint64_t before = w->o->seen[stream];
	bool open = forward_output(w, fd, stream, READS_PER_ROUND);
	if (open && (past_output_limit(w, stream) || w->o->seen[stream] - before < READ_AT_ONCE))
		w->paused_until[stream] = now_ns() + PAUSE_NS;
}

/* Whether queued output has waited long enough. That of a program with live input does not wait. */
static bool sends(const struct watch *w)
{
	return !queue_empty(w->out) && (w->input || (w->held_until && now_ns() >= w->held_until));
}

static void watch_program(struct watch *w, const volatile int *stopping)
{
	struct box *b = w->box;
	sigset_t none;
	sigemptyset(&none);
	for (;;) {
		/* Most programs write little and end at once, so at first only the end is awaited. */
		bool quiet = now_ns() < w->quiet_until;
		bool killed = w->o->reason != KILL_NONE;
		/* The connection is read only when the program has taken what came before. */
		bool holds = w->input && input_holds(w->input);
		bool signal_waits = w->input && w->input->signal;
		short listen = w->input && !holds && !signal_waits ? POLLIN : 0;
		struct pollfd on[] = {
			{.fd = b->program_fd, .events = POLLIN},
			{.fd = quiet || w->paused_until[0] ? -1 : b->out_fd, .events = POLLIN},
			{.fd = quiet || w->paused_until[1] ? -1 : b->err_fd, .events = POLLIN},
			{.fd = b->leaf->oom_event, .events = POLLIN},
			{.fd = w->connection, .events = (short)(POLLRDHUP | listen | (sends(w) ? POLLOUT : 0))},
			{.fd = holds ? b->in_fd : -1, .events = POLLOUT},
		};
		uint64_t next = next_check(w, quiet);
		if (w->held_until && !sends(w) && w->held_until < next)
			next = w->held_until;
		if (signal_waits && now_ns() + EXEC_NS < next)
			next = now_ns() + EXEC_NS;
		struct timespec wait = time_until(next);
		int n = ppoll(on, 6, &wait, &none);
		if (n < 0 && errno != EINTR)
			evidence_error(w->o, "poll", errno);
		if (n > 0 && on[0].revents) {
			w->o->ended_ns = now_ns();
			return;
		}
		/* The slot then ends with an error instead of hanging, and the launcher sweeps and reuses its place. */
		w->unkillable = killed && now_ns() - w->killed_ns > END_TIMEOUT_MS * 1000000ull;
		if (w->unkillable)
			return;
		if (killed && now_ns() >= next_check(w, false))
			hurry_end(w);
		if (*stopping)
			kill_for(w, KILL_CLIENT);
		read_if_due(w, &b->out_fd, 0, n > 0 && on[1].revents);
		read_if_due(w, &b->err_fd, 1, n > 0 && on[2].revents);
		if (n > 0 && on[3].revents)
			count_oom_events(w);
		if (n > 0 && on[5].revents)
			input_pass(w);
		if (signal_waits)
			input_signal(w);
		bool gone = n > 0 && (on[4].revents & (POLLRDHUP | POLLHUP | POLLERR));
		if (n > 0 && (on[4].revents & POLLIN) && !gone && input_read(w) < 0) {
			shutdown(w->connection, SHUT_RDWR);
			gone = true;
		}
		if (!queue_empty(w->out) && !w->held_until)
			w->held_until = now_ns() + HOLD_NS;
		if (gone || (w->connection >= 0 && sends(w) && queue_flush(w->out, w->connection) < 0)) {
			kill_for(w, KILL_CLIENT);
			w->connection = -1; /* otherwise poll would return at once until the box is dead */
		}
		if (queue_empty(w->out))
			w->held_until = 0;
		check_deadlines(w);
	}
}

void end_program(struct watch *w)
{
	struct outcome *o = w->o;
	reap_program(w);
	if (!w->unkillable) {
		bool clean = o->exited && o->code == 0;
		w->lost = o->reason == KILL_NONE && !clean && init_is_exiting(w);
		kill_survivors(w);
	}
	end_helpers(w);
}

void read_rest(struct watch *w)
{
	struct outcome *o = w->o;
	if (w->unkillable)
		return;
	drain_pipes(w);
	read_counters(w);
	if (w->lost && !(o->known[FACT_OOM_KILLS] && o->fact[FACT_OOM_KILLS]) && !o->failure.step)
		fail_with(&o->failure, ESRCH, "box", "the init was lost before the program ended");
}

/* Runs from the start to the last reading on the CPUs of the box. */
static void run_bound(struct watch *w, const volatile int *stopping, void (*on_start)(void *), void *context)
{
	struct failure *f = &w->o->failure;
	if (prepare_program(w, f) < 0 || bind_programs(w, 1, f) < 0 || start_program(w, f) < 0)
		return;
	w->quiet_until = w->start_ns + QUIET_NS;
	set_deadlines(w);
	if (on_start)
		on_start(context);
	watch_program(w, stopping);
	end_program(w);
	read_rest(w);
}

struct watch new_watch(struct slot *s, struct box *b, const struct request *r, struct queue *out, int connection, struct outcome *o)
{
	memset(o, 0, sizeof *o);
	return (struct watch){
		.slot = s, .box = b, .request = r, .out = out, .o = o, .connection = connection,
		.cpu_budget_usec = r->number[KEY_CPU_MS] * 1000,
	};
}

void supervise(struct slot *s, struct box *b, const struct request *r, struct queue *out, int connection,
	       struct input *input, const volatile int *stopping, void (*on_start)(void *), void *context, struct outcome *o)
{
	struct watch w = new_watch(s, b, r, out, connection, o);
	w.input = input;
	run_bound(&w, stopping, on_start, context);
	cpus_release(s->launcher->cpus, s->number);
}
