/*
 * Decides when a running program has exceeded a limit: wall time, CPU time, memory, kernel memory and page tables. supervise.c calls
 * each check at its deadline, and the check sets the next one. kill.c then ends the run; it records the reason before it sends the
 * signal.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <unistd.h>

#include "clock.h"
#include "supervise/watch.h"

#define UNCHARGE_MOST_NS 2000000000ull

enum {
	OOM_RECHECK_NS = 5000000,
	OOM_CHECKS_IN_SANDBOX = 40, /* an event there can be that of the whole sandbox, and then no kill follows in this group */
	KERNEL_CHECK_NS = 20000000,
	/*
	 * Shorter intervals of checks. The first is for a step that may have more than FEW_PROCESSES processes, because all of them can
	 * begin calls that walk page tables. The second is for page tables that exceed WALKABLE_BYTES if the step has as many processes
	 * as it may.
	 */
	IDLE_LONGEST_NS = 100000000, FREQUENT_CHECK_NS = 5000000, URGENT_CHECK_NS = 1000000, FEW_PROCESSES = 16,
	UNCHARGE_NS = 1000000000, /* how long the run stays frozen while the kernel frees no memory of it */
	UNCHARGE_CHECK_NS = 2000000,
	UNCHARGE_PROGRESS_BYTES = 1 << 20, /* the kernel has freed memory if the use has fallen by so much */
};

void set_limits(struct watch *w)
{
	uint64_t start = w->run->start_ns;
	w->deadline[DEADLINE_WALL] = w->pair ? NEVER : start + w->request->number[KEY_WALL_MS] * 1000000;
	w->deadline[DEADLINE_CPU] = start + w->cpu_budget_usec * 1000 / w->cpus;
	w->deadline[DEADLINE_KERNEL_MEMORY] = start + KERNEL_CHECK_NS;
	samples_start(&w->o->samples, start, w->request->number[KEY_SAMPLE_MS]);
	w->deadline[DEADLINE_SAMPLE] = samples_deadline(&w->o->samples);
	plan_lock_checks(w);
}

void pause_limits(struct watch *w, uint64_t now)
{
	if (!w->paused_at)
		w->paused_at = now;
}

void resume_limits(struct watch *w, uint64_t now)
{
	if (!w->paused_at)
		return;
	uint64_t paused = now - w->paused_at;
	w->paused_at = 0;
	w->paused_ns += paused;
	for (int d = 0; d < DEADLINES_OF_LIMITS; d++)
		if (w->deadline[d] != NEVER)
			w->deadline[d] += paused;
	if (w->uncharge_by) {
		w->uncharge_by += paused;
		w->uncharge_end += paused;
	}
}

void clear_limits(struct watch *w)
{
	for (int d = 0; d < DEADLINES_OF_LIMITS; d++)
		w->deadline[d] = NEVER;
}

/* ---- times ---- */

/* Wall time counts from the exec. On a busy machine, the exec can come long after the start signal. */
void check_wall(struct watch *w, uint64_t now)
{
	uint64_t exec_ns = w->run->exec_args->exec_ns, from = exec_ns ? exec_ns + w->paused_ns : 0, limit = w->request->number[KEY_WALL_MS] * 1000000;
	if (from && now < from + limit)
		w->deadline[DEADLINE_WALL] = from + limit;
	else
		kill_for(w, KILL_WALL);
}

/*
 * Kills the run if its CPU budget is used up, or if its CPU time cannot be read. Otherwise sets the next check to the earliest time at
 * which the run could use up the rest of the budget on all of its CPUs.
 */
void check_cpu(struct watch *w, uint64_t now)
{
	uint64_t used = 0;
	if (run_read(w->run, FACT_CPU_USEC, &used) < 0) {
		evidence_error(w->o, fact_name(FACT_CPU_USEC), errno);
		kill_for(w, KILL_CPU);
		return;
	}
	used -= w->run->base_cpu_usec;
	if (used >= w->cpu_budget_usec) {
		kill_for(w, KILL_CPU);
		return;
	}
	uint64_t wait = (w->cpu_budget_usec - used) * 1000 / w->cpus;
	w->deadline[DEADLINE_CPU] = now + (wait > 1000000 ? wait : 1000000);
}

void take_sample(struct watch *w, uint64_t now)
{
	const struct run *run = w->run;
	samples_take(&w->o->samples, run, now);
	w->deadline[DEADLINE_SAMPLE] = samples_deadline(&w->o->samples);
}

/* ---- memory ---- */

uint64_t count_oom_events(struct watch *w)
{
	uint64_t events;
	if (read(w->run->leaf->oom_event, &events, sizeof events) == sizeof events)
		w->oom_events += events;
	return w->oom_events;
}

/*
 * Ends the run if the OOM killer has killed a process. This is for v1, where it kills only one process of the group. The event comes
 * before the kernel counts the kill, so the count is read again soon, until it shows a kill.
 */
void check_oom(struct watch *w, uint64_t now)
{
	uint64_t kills = 0;
	if (run_read(w->run, FACT_OOM_KILLS, &kills) == 0 && kills > 0)
		kill_for(w, KILL_OOM);
	else if (!w->run->box->attached || ++w->oom_checks < OOM_CHECKS_IN_SANDBOX)
		w->deadline[DEADLINE_OOM] = now + OOM_RECHECK_NS;
}

/* ---- page tables ---- */

/*
 * Whether the run exceeds the bound of page tables; `walkable` receives the product that is compared with it.
 *
 * The means of kill.c do not end all calls that walk page tables soon: some calls do not pause within one mapping, which can use all
 * page tables, and the address space of a process that lived for a few milliseconds is not held. At 4 ms for each MiB, 60 tasks that
 * walk 48 MiB need 12 s. So the product of tasks and bytes is bounded (walkableBytes() in src/sandbox/step.ts).
 */
static bool exceeds_walkable(struct watch *w, uint64_t walk_bytes, uint64_t exit_bytes, uint64_t *walkable)
{
	uint64_t tasks = 0;
	if (run_read(w->run, FACT_PIDS_CURRENT, &tasks) < 0)
		return false;
	/* More tasks can begin before the next check. */
	*walkable = walk_bytes * (tasks > TASKS_COUNTED_AT_LEAST ? tasks : TASKS_COUNTED_AT_LEAST);
	if (exit_bytes > *walkable)
		*walkable = exit_bytes;
	return *walkable > w->request->number[KEY_WALKABLE_BYTES];
}

/* Ends a run that exceeds the bound. Freezes it first, so that no more tasks begin such a call before the kernel ends the run. */
static void check_walkable(struct watch *w)
{
	uint64_t walkable = 0;
	bool exceeds = exceeds_walkable(w, w->tables.walk_bytes, w->tables.exit_bytes, &walkable);
	if (walkable > w->o->walkable_bytes)
		w->o->walkable_bytes = walkable;
	if (exceeds && w->o->reason == KILL_NONE) {
		set_frozen(w, true);
		force_oom(w);
	}
}

/*
 * Bounds the page tables that the tasks of a run can walk. All growth of the run's kernel memory since the last search can be
 * page tables, and a run can make 20 MiB of them, and let 60 tasks walk them, in the time between two regular searches. So the next
 * search comes early if page tables that had grown by as much would exceed the bound.
 */
static void check_page_tables(struct watch *w, uint64_t kernel_bytes)
{
	uint64_t now = now_ns(), walkable;
	if (kernel_bytes < PAGE_TABLES_KERNEL_BYTES)
		return;
	const struct page_tables *t = &w->tables;
	uint64_t growth = kernel_bytes > t->kernel_bytes ? kernel_bytes - t->kernel_bytes : 0;
	uint64_t walk_bytes = t->walk_bytes + SHARED_WALK * growth, exit_bytes = t->exit_bytes + PAGE_END * growth;
	if (now < t->search_at && (now < t->urgent_search_at || !exceeds_walkable(w, walk_bytes, exit_bytes, &walkable)))
		return;
	search_page_tables(w);
	w->tables.kernel_bytes = kernel_bytes;
	check_walkable(w);
}

/* ---- kernel memory ---- */

/*
 * Executions of a sandbox mostly wait, for hours. While one uses no CPU time, each pause between checks is twice as long as the one before, because
 * the slot's own CPU time is charged to nobody.
 */
static uint64_t longer_if_idle(struct watch *w, uint64_t pause)
{
	uint64_t used = 0;
	if (!w->run->box->attached)
		return pause;
	bool idle = run_read(w->run, FACT_CPU_USEC, &used) == 0 && used == w->idle_cpu_usec;
	w->idle_cpu_usec = used;
	w->idle_pause_ns = !idle ? pause : 2 * w->idle_pause_ns < IDLE_LONGEST_NS ? 2 * w->idle_pause_ns : IDLE_LONGEST_NS;
	return w->idle_pause_ns > pause ? w->idle_pause_ns : pause;
}

/*
 * The kernel walks the mappings and page tables of a group in calls that no signal interrupts and, without preemption,
 * no other task. 60 processes with 50,000 mappings of one file each, which all truncate it, held a CPU and the slot on
 * it for a minute after SIGKILL. A bound of kernel memory bounds that time. The kernel has no such limit, so a group
 * above the bound may not grow any more.
 *
 * The memory of ended processes and refused forks stays charged until an RCU grace period has passed and the kernel finds time to free
 * it: on an idle machine, ten processes that only fork reached 54 MiB in 0.1 s. The run is therefore frozen until this memory is
 * freed; only what then remains above the bound is held against the program. On an idle machine the freeing takes 20 ms. On a busy
 * one, the kernel's threads wait for CPU time as well: with a freeze of 40 ms, a third of the programs that only fork ended as out of
 * memory when several of them ran at the same time. Hence the freeze may be long, and its time begins again while memory is freed.
 */
void check_kernel_memory(struct watch *w, uint64_t now)
{
	uint64_t used = 0, bound = w->request->number[KEY_KERNEL_BYTES];
	if (run_read(w->run, FACT_KERNEL_NOW, &used) < 0)
		evidence_error(w->o, fact_name(FACT_KERNEL_NOW), errno);
	check_page_tables(w, used);
	uint64_t processes = w->request->number[KEY_PROCESSES];
	bool urgent = w->tables.walk_bytes * processes > w->request->number[KEY_WALKABLE_BYTES];
	uint64_t pause = urgent ? URGENT_CHECK_NS : processes > FEW_PROCESSES ? FREQUENT_CHECK_NS : KERNEL_CHECK_NS;
	w->deadline[DEADLINE_KERNEL_MEMORY] = now + (urgent ? pause : longer_if_idle(w, pause));
	if (!w->uncharge_by && used > bound && !w->memory_limit) {
		w->uncharge_by = now + UNCHARGE_NS;
		w->uncharge_end = now + UNCHARGE_MOST_NS;
		w->uncharge_bytes = used;
		set_frozen(w, true);
	}
	if (w->uncharge_by && used + UNCHARGE_PROGRESS_BYTES <= w->uncharge_bytes) {
		w->uncharge_bytes = used;
		w->uncharge_by = now + UNCHARGE_NS < w->uncharge_end ? now + UNCHARGE_NS : w->uncharge_end;
	}
	if (w->uncharge_by && now < w->uncharge_by && used > bound / 2) {
		w->deadline[DEADLINE_KERNEL_MEMORY] = now + UNCHARGE_CHECK_NS;
		return;
	}
	if (used > w->o->kernel_bytes)
		w->o->kernel_bytes = used;
	if (used > bound)
		stop_growth(w);
	if (w->uncharge_by) {
		w->uncharge_by = 0;
		set_frozen(w, false);
	}
}
