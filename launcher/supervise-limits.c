/* Decides when a limit of a running program is exceeded, and records the reason before it sends the signal. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "supervise-parts.h"

#define SETTLE_MOST_NS 2000000000ull
#define EXHAUST_NS 1000000000ull      /* of one process */
#define EXHAUST_MOST_NS 2000000000ull /* of all: the last one can begin just before */

enum {
	OOM_RECHECK_NS = 5000000,
	KERNEL_CHECK_NS = 20000000,
	/* For more than FEW_PROCESSES, which can all begin calls that walk page tables; and if those in use are too many for all. */
	FREQUENT_CHECK_NS = 5000000, URGENT_CHECK_NS = 1000000, FEW_PROCESSES = 16,
	SETTLE_NS = 1000000000, /* without progress */
	SETTLE_CHECK_NS = 2000000,
	SETTLE_BYTES = 1 << 20, /* less is no progress */
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
		kill_box(w);
		/* It would look for memory to reclaim, with all of a CPU, until the program that the kernel chose has ended. */
		if (w->exhauster > 0)
			kill(w->exhauster, SIGKILL);
	}
}

/*
 * Kills the box if its CPU budget is used up; otherwise sets the earliest time at which all its CPUs could use it up.
 */
static void check_cpu(struct watch *w, uint64_t now)
{
	uint64_t used = 0;
	if (leaf_read(&w->slot->launcher->groups, w->box->leaf, FACT_CPU_USEC, &used) < 0) {
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
	if (read(w->box->leaf->oom_event, &events, sizeof events) == sizeof events)
		w->oom_events += events;
	return w->oom_events;
}

void set_frozen(struct watch *w, bool frozen)
{
	if (leaf_freeze(w->box->leaf, frozen) < 0)
		evidence_error(w->o, "cgroup.freeze", errno);
}

void stop_growth(struct watch *w)
{
	const struct groups *g = &w->slot->launcher->groups;
	if (!w->memory_limit && leaf_read(g, w->box->leaf, FACT_MEMORY_LIMIT, &w->memory_limit) < 0)
		evidence_error(w->o, fact_name(FACT_MEMORY_LIMIT), errno);
	if (leaf_stop_growth(g, w->box->leaf) < 0)
		evidence_error(w->o, "lower memory limit", errno);
}

/*
 * On v2, a limit below the use ends the group at once. v1 refuses such a limit, so a child of the slot joins the group and takes
 * what is left, and more. It may have to wait until a killed process has left a long call, hence nobody waits for it. Such a
 * child uses all of a CPU while the kernel searches for memory to reclaim, so their time is bounded: a box in which the kernel finds
 * some again and again stays frozen until another limit ends it.
 */
void exhaust_memory(struct watch *w)
{
	enum { STEP = 1 << 20, MOST = 64 };
	const struct groups *g = &w->slot->launcher->groups;
	if (w->exhauster > 0 && waitpid(w->exhauster, NULL, WNOHANG) == 0) {
		if (now_ns() - w->exhaust_ns > EXHAUST_NS)
			kill(w->exhauster, SIGKILL);
		return;
	}
	if (w->exhauster > 0)
		w->exhausted_ns += now_ns() - w->exhaust_ns;
	w->exhauster = 0;
	if (w->exhausted_ns > EXHAUST_MOST_NS)
		return;
	w->exhaust_ns = now_ns();
	stop_growth(w);
	if (leaf_exhaust(g, w->box->leaf) == 0)
		return;
	int tasks = leaf_open_tasks(w->box->leaf);
	w->exhauster = tasks < 0 ? -1 : fork();
	if (w->exhauster == 0) { /* without the slot's state: unforked-memory.h */
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || write(tasks, "0", 1) < 0)
			_exit(1);
		for (int i = 0; i < MOST; i++)
			if (mmap(NULL, STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) == MAP_FAILED)
				break;
		_exit(0);
	}
	if (w->exhauster < 0)
		evidence_error(w->o, "end by memory", errno);
	if (tasks >= 0)
		close(tasks);
}

/*
 * The kernel walks the mappings and page tables of a group in calls that no signal interrupts and, without preemption,
 * no other task. 60 processes with 50,000 mappings of one file each, which all truncate it, held a CPU and the slot on
 * it for a minute after SIGKILL. A bound of kernel memory bounds that time. The kernel has no such limit, so a group
 * above the bound may not grow any more.
 *
 * Ended processes and refused forks stay charged until an RCU grace period has passed and the kernel finds time to free
 * them: on an idle machine, ten processes that only fork reached 54 MiB in 0.1 s. The box is frozen until they are
 * freed; what then remains above the bound belongs to the program. On an idle machine that takes 20 ms. On a busy one, the
 * kernel's threads wait for CPU time as well: with 40 ms, a third of the programs that only fork ended as out of memory next
 * to each other. Hence the time is long, and begins again while memory is being freed.
 */
static void check_kernel_memory(struct watch *w, uint64_t now)
{
	const struct groups *g = &w->slot->launcher->groups;
	uint64_t used = 0, bound = w->request->number[KEY_KERNEL_BYTES];
	if (leaf_read(g, w->box->leaf, FACT_KERNEL_NOW, &used) < 0)
		evidence_error(w->o, fact_name(FACT_KERNEL_NOW), errno);
	check_page_tables(w, used);
	uint64_t processes = w->request->number[KEY_PROCESSES];
	bool urgent = w->table_bytes * processes > w->request->number[KEY_WALKABLE_BYTES];
	w->kernel_check = now + (urgent ? URGENT_CHECK_NS : processes > FEW_PROCESSES ? FREQUENT_CHECK_NS : KERNEL_CHECK_NS);
	if (!w->settled_by && used > bound && !w->memory_limit) {
		w->settled_by = now + SETTLE_NS;
		w->settle_end = now + SETTLE_MOST_NS;
		w->settle_bytes = used;
		set_frozen(w, true);
	}
	if (w->settled_by && used + SETTLE_BYTES <= w->settle_bytes) {
		w->settle_bytes = used;
		w->settled_by = now + SETTLE_NS < w->settle_end ? now + SETTLE_NS : w->settle_end;
	}
	if (w->settled_by && now < w->settled_by && used > bound / 2) {
		w->kernel_check = now + SETTLE_CHECK_NS;
		return;
	}
	if (used > w->o->kernel_bytes)
		w->o->kernel_bytes = used;
	if (used > bound)
		stop_growth(w);
	if (w->settled_by) {
		w->settled_by = 0;
		set_frozen(w, false);
	}
}

/* v1 kills one process of the group; the run ends in any case. */
static void check_oom(struct watch *w)
{
	uint64_t kills = 0;
	if (leaf_read(&w->slot->launcher->groups, w->box->leaf, FACT_OOM_KILLS, &kills) == 0 && kills > 0)
		kill_for(w, KILL_OOM);
}

void set_deadlines(struct watch *w)
{
	w->wall_deadline = w->start_ns + w->request->number[KEY_WALL_MS] * 1000000;
	w->cpu_check = w->start_ns + w->cpu_budget_usec * 1000 / w->cpus;
	w->kernel_check = w->start_ns + KERNEL_CHECK_NS;
	plan_samples(w);
	plan_lock_checks(w);
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

void check_deadlines(struct watch *w)
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
	if (now >= w->locks.at && w->o->reason == KILL_NONE)
		check_locks(w, now);
	/* The event precedes the count of the kill: check again soon until a kill is counted. */
	if (w->oom_events && w->o->reason == KILL_NONE && w->cpu_check > now + OOM_RECHECK_NS)
		w->cpu_check = now + OOM_RECHECK_NS;
	if (w->o->reason == KILL_NONE)
		sample_if_due(w, now);
}

struct timespec time_until(uint64_t deadline)
{
	uint64_t now = now_ns(), wait = deadline > now ? deadline - now : 0;
	return (struct timespec){.tv_sec = (time_t)(wait / 1000000000u), .tv_nsec = (long)(wait % 1000000000u)};
}

uint64_t next_check(const struct watch *w, bool quiet)
{
	uint64_t next = w->cpu_check < w->wall_deadline ? w->cpu_check : w->wall_deadline;
	if (w->kernel_check < next)
		next = w->kernel_check;
	if (w->locks.at < next)
		next = w->locks.at;
	if (next_sample(w) < next)
		next = next_sample(w);
	if (w->o->reason != KILL_NONE)
		next = (w->hurried_ns ? w->hurried_ns : w->killed_ns) + HURRY_MS * 1000000ull;
	if (quiet && w->quiet_until < next)
		next = w->quiet_until;
	for (int stream = 0; stream < 2; stream++)
		if (w->paused_until[stream] && w->paused_until[stream] < next)
			next = w->paused_until[stream];
	return next;
}
