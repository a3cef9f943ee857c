/*
 * Binds each box to CPUs. Equal shares of CPU time do not isolate boxes. Processes that wake each other on two CPUs (pipes,
 * futexes, vfork), and kernel work on all CPUs of a process (TLB flushes, membarrier), took up to 95 % of a neighbour's time at
 * equal shares, charged to no cgroup. With a quota of one CPU for each box, the neighbour of pairs that pass a byte still took 7.3
 * times as long. On Linux 6.18, such unbound pairs also starved tasks of any weight: a slot (nice -20, or in a group of 256 times
 * the weight) waited 18 s for its CPU, so that a box with a limit of 2 s used 7.9 s of CPU time. A slot with a real-time priority
 * was in time, but the killed processes then waited 1.5 s to end.
 *
 * A box that is bound to its own CPU can do that only to itself. Each box, whether it compiles or executes, is therefore
 * bound to the CPUs with the fewest boxes. While there are no more running boxes than CPUs, each box has its own CPU; beyond
 * that, boxes share CPUs by the weights of the cpu controller. With this binding, slots act in time on a machine full of such pairs:
 * with three boxes and two other busy processes for each CPU, a box used 1.4 ms of CPU time beyond its limit. The kernel
 * enforces the binding: however late a slot acts, a box on one CPU uses no more CPU time than time passes.
 *
 * The binding is an affinity mask: it needs no controller, children inherit it, and seccomp refuses sched_setaffinity.
 * The slot is bound as well, so that its work for a box (reading output) takes time from that box only.
 *
 * All slots share the table, and any of them can be killed at any time. Hence the mutex is robust: after a death, its next owner
 * counts the boxes of each CPU again, from the sets of CPUs that are assigned to the slots.
 */
#define _GNU_SOURCE
#include "cpus.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "seccomp.h"

struct cpus {
	pthread_mutex_t lock;
	cpu_set_t all;
	unsigned slots;
	unsigned bound[BOUND_KINDS][CPU_SETSIZE]; /* how many boxes and executions each CPU has */
	struct assignment {
		cpu_set_t cpus; /* empty: nothing of the slot is bound */
		enum bound_kind kind;
	} assigned[]; /* for each slot */
};

struct cpus *cpus_open(unsigned slots, struct failure *f)
{
	size_t size = sizeof(struct cpus) + slots * sizeof(struct assignment);
	struct cpus *c = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t attributes;
	if (c == MAP_FAILED) {
		fail(f, "cpus", "shared memory");
		return NULL;
	}
	c->slots = slots;
	if (sched_getaffinity(0, sizeof c->all, &c->all) < 0) {
		fail(f, "cpus", "own affinity");
		return NULL;
	}
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	int err = pthread_mutex_init(&c->lock, &attributes);
	if (err) {
		fail_with(f, err, "cpus", "lock");
		return NULL;
	}
	return c;
}

unsigned cpus_usable(const struct cpus *c, unsigned slots)
{
	unsigned cpus = (unsigned)CPU_COUNT(&c->all);
	return slots < cpus ? slots : cpus;
}

static void lock(struct cpus *c)
{
	if (pthread_mutex_lock(&c->lock) != EOWNERDEAD)
		return;
	memset(c->bound, 0, sizeof c->bound);
	for (unsigned slot = 0; slot < c->slots; slot++)
		for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
			c->bound[c->assigned[slot].kind][cpu] += CPU_ISSET(cpu, &c->assigned[slot].cpus) != 0;
	pthread_mutex_consistent(&c->lock);
}

static void release(struct cpus *c, unsigned slot)
{
	struct assignment *a = &c->assigned[slot];
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &a->cpus))
			c->bound[a->kind][cpu]--;
	CPU_ZERO(&a->cpus);
}

/*
 * Returns, of the CPUs that are not chosen yet, the one with the fewest boxes, and of these the one with the fewest executions. Among several
 * such CPUs it prefers the current CPU of the slot, which avoids a migration.
 */
static int least_loaded(const struct cpus *c, const cpu_set_t *chosen, int current)
{
	int best = -1;
	uint64_t least = 0;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &c->all) || CPU_ISSET(cpu, chosen))
			continue;
		uint64_t load = (uint64_t)c->bound[BOUND_BOX][cpu] << 32 | c->bound[BOUND_EXECUTION][cpu];
		if (best < 0 || load < least || (load == least && cpu == current)) {
			best = cpu;
			least = load;
		}
	}
	return best;
}

int cpus_acquire(struct cpus *c, unsigned slot, enum bound_kind kind, const pid_t *task, int tasks, uint64_t wanted, unsigned *given, struct failure *f)
{
	cpu_set_t chosen;
	int current = sched_getcpu();
	unsigned available = (unsigned)CPU_COUNT(&c->all);
	bool bound = wanted < available;
	*given = bound ? (unsigned)wanted : available;
	CPU_ZERO(&chosen);
	if (bound) {
		lock(c);
		release(c, slot);
		for (uint64_t i = 0; i < wanted; i++)
			CPU_SET(least_loaded(c, &chosen, current), &chosen);
		for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
			c->bound[kind][cpu] += CPU_ISSET(cpu, &chosen) != 0;
		c->assigned[slot] = (struct assignment){chosen, kind};
		pthread_mutex_unlock(&c->lock);
	}
	/*
	 * This is needed for an unbound program too, because the program may have been born while its slot was bound to the CPUs of
	 * the previous step.
	 */
	for (int i = 0; i < tasks; i++)
		if (keyed(sched_setaffinity, task[i], sizeof chosen, bound ? &chosen : &c->all) < 0)
			return fail(f, "cpus", "bind the program");
	if (bound && keyed(sched_setaffinity, 0, sizeof chosen, &chosen) < 0)
		return fail(f, "cpus", "bind the slot");
	return 0;
}

void cpus_spread(struct cpus *c, unsigned slot, const pid_t *dying, int count)
{
	lock(c);
	struct assignment *a = &c->assigned[slot];
	cpu_set_t spread = a->cpus;
	for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&a->cpus) > 0; cpu++)
		if (CPU_ISSET(cpu, &c->all) && !c->bound[BOUND_BOX][cpu] && !c->bound[BOUND_EXECUTION][cpu]) {
			CPU_SET(cpu, &spread);
			c->bound[a->kind][cpu]++;
		}
	a->cpus = spread;
	pthread_mutex_unlock(&c->lock);
	/* The call fails for processes that have ended. Their pids are not reused yet, because the kernel first assigns all other pids. */
	for (int i = 0; i < count && CPU_COUNT(&spread) > 0; i++)
		keyed(sched_setaffinity, dying[i], sizeof spread, &spread);
}

void cpus_move_slot_away(struct cpus *c, unsigned slot)
{
	cpu_set_t others;
	CPU_XOR(&others, &c->all, &c->assigned[slot].cpus);
	if (CPU_COUNT(&others) > 0)
		keyed(sched_setaffinity, 0, sizeof others, &others);
}

void cpus_move_slot_back(struct cpus *c, unsigned slot)
{
	cpu_set_t *own = &c->assigned[slot].cpus;
	if (CPU_COUNT(own) > 0)
		keyed(sched_setaffinity, 0, sizeof *own, own);
}

void cpus_release_dead(struct cpus *c, unsigned slot)
{
	lock(c);
	release(c, slot);
	pthread_mutex_unlock(&c->lock);
}

void cpus_release(struct cpus *c, unsigned slot)
{
	if (CPU_COUNT(&c->assigned[slot].cpus) == 0)
		return;
	cpus_release_dead(c, slot);
	keyed(sched_setaffinity, 0, sizeof c->all, &c->all); /* a failure only makes the slot slower */
}
