/*
 * Supervises one running program with one thread and one poll: the program's pidfd, its two pipes, the v1 OOM event,
 * the connection, and a timeout for the nearest deadline. Only kernel memory is sampled, every 20 ms, because it has no
 * event. This file only decides when to kill, and records the reason before it sends the signal.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "supervise-parts.h"

enum {
	OOM_RECHECK_NS = 5000000,
	PAUSE_NS = 2000000,
	KERNEL_CHECK_NS = 20000000,
	SETTLE_NS = 40000000,
	SETTLE_CHECK_NS = 2000000,
	QUIET_NS = 2000000, /* each saved wake-up shortens a run of 0.5 ms by 20 to 40 us */
};

void evidence_error(struct outcome *o, const char *what, int err)
{
	if (o->errors < 8)
		snprintf(o->error[o->errors++], sizeof o->error[0], "%s: %s", what, strerror(err));
}

void kill_for(struct watch *w, enum kill_reason reason)
{
	if (w->o->reason == KILL_NONE) {
		w->o->reason = reason;
		w->killed_ns = now_ns();
		box_kill(w->box);
	}
}

/*
 * Kills the box if its CPU budget is used up; otherwise sets the earliest time at which all its CPUs could use it up.
 */
static void check_cpu(struct watch *w, uint64_t now)
{
	uint64_t used = 0;
	if (leaf_read(&w->slot->launcher->groups, &w->box->leaf, FACT_CPU_USEC, &used) < 0) {
		evidence_error(w->o, fact_name(FACT_CPU_USEC), errno);
		kill_for(w, KILL_CPU);
		return;
	}
	used -= w->box->base_cpu_usec;
	if (used >= w->cpu_budget_usec) {
		kill_for(w, KILL_CPU);
		return;
	}
	uint64_t wait = (w->cpu_budget_usec - used) * 1000 / w->cpus;
	w->cpu_check = now + (wait > 1000000 ? wait : 1000000);
}

uint64_t count_oom_events(struct watch *w)
{
	uint64_t events;
	if (read(w->box->leaf.oom_event, &events, sizeof events) == sizeof events)
		w->oom_events += events;
	return w->oom_events;
}

static void set_frozen(struct watch *w, bool frozen)
{
	if (leaf_freeze(&w->box->leaf, frozen) < 0)
		evidence_error(w->o, "cgroup.freeze", errno);
}

/*
 * The kernel walks the mappings and page tables of a group in calls that no signal interrupts and, without preemption,
 * no other task. 60 processes with 50,000 mappings of one file each, which all truncate it, held a CPU and the slot on
 * it for a minute after SIGKILL. A bound of kernel memory bounds that time. The kernel has no such limit, so a group
 * above the bound may not grow any more.
 *
 * Ended processes and refused forks stay charged until an RCU grace period has passed and the kernel finds time to free
 * them: on an idle machine, ten processes that only fork reached 54 MiB in 0.1 s. The box is frozen until they are
 * freed; what remains above the bound after 40 ms belongs to the program.
 */
static void check_kernel_memory(struct watch *w, uint64_t now)
{
	const struct groups *g = &w->slot->launcher->groups;
	uint64_t used = 0, bound = w->request->number[KEY_KERNEL_BYTES];
	if (leaf_read(g, &w->box->leaf, FACT_KERNEL_NOW, &used) < 0)
		evidence_error(w->o, fact_name(FACT_KERNEL_NOW), errno);
	w->kernel_check = now + KERNEL_CHECK_NS;
	if (!w->settled_by && used > bound && !w->memory_limit) {
		w->settled_by = now + SETTLE_NS;
		set_frozen(w, true);
	}
	if (w->settled_by && now < w->settled_by && used > bound / 2) {
		w->kernel_check = now + SETTLE_CHECK_NS;
		return;
	}
	if (used > w->o->kernel_bytes)
		w->o->kernel_bytes = used;
	if (used > bound) {
		if (!w->memory_limit && leaf_read(g, &w->box->leaf, FACT_MEMORY_LIMIT, &w->memory_limit) < 0)
			evidence_error(w->o, fact_name(FACT_MEMORY_LIMIT), errno);
		if (leaf_stop_growth(g, &w->box->leaf) < 0)
			evidence_error(w->o, "lower memory limit", errno);
	}
	if (w->settled_by) {
		w->settled_by = 0;
		set_frozen(w, false);
	}
}

/* v1 kills one process of the group; the run ends in any case. */
static void check_oom(struct watch *w)
{
	uint64_t kills = 0;
	if (leaf_read(&w->slot->launcher->groups, &w->box->leaf, FACT_OOM_KILLS, &kills) == 0 && kills > 0)
		kill_for(w, KILL_OOM);
}

/* Wall time counts from the exec, which on a busy machine comes later than the start signal. */
static void check_wall(struct watch *w, uint64_t now)
{
	uint64_t from = w->box->lane->exec_args->exec_ns, limit = w->request->number[KEY_WALL_MS] * 1000000;
	if (from && now < from + limit)
		w->wall_deadline = from + limit;
	else
		kill_for(w, KILL_WALL);
}

static void check_deadlines(struct watch *w)
{
	uint64_t now = now_ns();
	if (w->oom_events)
		check_oom(w);
	if (now >= w->wall_deadline)
		check_wall(w, now);
	else if (now >= w->cpu_check && w->o->reason == KILL_NONE)
		check_cpu(w, now);
	if (now >= w->kernel_check && w->o->reason == KILL_NONE)
		check_kernel_memory(w, now);
	/* The event precedes the count of the kill: check again soon until a kill is counted. */
	if (w->oom_events && w->o->reason == KILL_NONE && w->cpu_check > now + OOM_RECHECK_NS)
		w->cpu_check = now + OOM_RECHECK_NS;
}

static struct timespec time_until(uint64_t deadline)
{
	uint64_t now = now_ns(), wait = deadline > now ? deadline - now : 0;
	return (struct timespec){.tv_sec = (time_t)(wait / 1000000000u), .tv_nsec = (long)(wait % 1000000000u)};
}

static uint64_t next_check(const struct watch *w, bool quiet)
{
	uint64_t next = w->cpu_check < w->wall_deadline ? w->cpu_check : w->wall_deadline;
	if (w->kernel_check < next)
		next = w->kernel_check;
	if (w->o->reason != KILL_NONE)
		next = (w->hurried_ns ? w->hurried_ns : w->killed_ns) + HURRY_MS * 1000000ull;
	if (quiet && w->quiet_until < next)
		next = w->quiet_until;
	for (int stream = 0; stream < 2; stream++)
		if (w->paused_until[stream] && w->paused_until[stream] < next)
			next = w->paused_until[stream];
	return next;
}

/*
 * Not at each write: for a program that wrote byte by byte for 0.7 s of CPU time, the slot used 1.7 s. A full read
 * below the limit is followed by the next at once; the limit bounds how often.
 */
static void read_if_due(struct watch *w, int *fd, int stream, bool readable)
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

static void watch_program(struct watch *w, const volatile int *stopping)
{
	struct box *b = w->box;
	sigset_t none;
	sigemptyset(&none);
	for (;;) {
		/* Most programs write little and end at once, so at first only the end is awaited. */
		bool quiet = now_ns() < w->quiet_until;
		bool killed = w->o->reason != KILL_NONE;
		struct pollfd on[] = {
			{.fd = b->program_fd, .events = POLLIN},
			{.fd = quiet || w->paused_until[0] ? -1 : b->out_fd, .events = POLLIN},
			{.fd = quiet || w->paused_until[1] ? -1 : b->err_fd, .events = POLLIN},
			{.fd = b->leaf.oom_event, .events = POLLIN},
			{.fd = w->connection, .events = (short)(POLLRDHUP | (queue_empty(w->out) ? 0 : POLLOUT))},
		};
		struct timespec wait = time_until(next_check(w, quiet));
		int n = ppoll(on, 5, &wait, &none);
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
		bool gone = n > 0 && (on[4].revents & (POLLRDHUP | POLLHUP | POLLERR));
		if (gone || (w->connection >= 0 && queue_flush(w->out, w->connection) < 0)) {
			kill_for(w, KILL_CLIENT);
			w->connection = -1; /* otherwise poll would return at once until the box is dead */
		}
		check_deadlines(w);
	}
}

/* Runs from the start to the last reading on the CPUs of the box. */
static void run_bound(struct watch *w, const volatile int *stopping, void (*on_start)(void *), void *context)
{
	struct outcome *o = w->o;
	if (start_program(w, &o->failure) < 0)
		return;
	w->quiet_until = w->start_ns + QUIET_NS;
	w->wall_deadline = w->start_ns + w->request->number[KEY_WALL_MS] * 1000000;
	w->cpu_check = w->start_ns + w->cpu_budget_usec * 1000 / w->cpus;
	w->kernel_check = w->start_ns + KERNEL_CHECK_NS;
	if (on_start)
		on_start(context);
	watch_program(w, stopping);
	reap_program(w);
	if (w->unkillable) {
		end_helpers(w);
		return;
	}
	bool clean = o->exited && o->code == 0;
	bool lost = o->reason == KILL_NONE && !clean && init_is_exiting(w);
	kill_survivors(w);
	drain_pipes(w);
	read_counters(w);
	if (lost && !(o->known[FACT_OOM_KILLS] && o->fact[FACT_OOM_KILLS]) && !o->failure.step)
		fail_with(&o->failure, ESRCH, "box", "the init was lost before the program ended");
}

void supervise(struct slot *s, struct box *b, const struct request *r, struct queue *out, int connection,
	       const volatile int *stopping, void (*on_start)(void *), void *context, struct outcome *o)
{
	memset(o, 0, sizeof *o);
	struct watch w = {
		.slot = s, .box = b, .request = r, .out = out, .o = o, .connection = connection,
		.cpu_budget_usec = r->number[KEY_CPU_MS] * 1000,
	};
	run_bound(&w, stopping, on_start, context);
	cpus_release(s->launcher->cpus, s->number);
}
