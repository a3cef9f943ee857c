#ifndef ASSAY_CGROUP_H
#define ASSAY_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "failure.h"

/*
 * Control groups behind one table. A box has a leaf in every tree the backend
 * uses; a leaf serves one step and is removed after it, because most counters
 * cannot be reset and a reused one would be evidence of somebody else's run.
 * CPU time is shared out evenly: on v2 among the leaves; on v1 among the slots,
 * each of which lives in a group of TREE_CPU with all that it starts.
 */
enum tree { TREE_MEMORY, TREE_PIDS, TREE_CPU, TREE_UNIFIED, TREE_COUNT };

enum fact {
	FACT_MEMORY_LIMIT,
	FACT_MEMORY_PEAK,
	FACT_MEMORY_HITS,    /* times the limit was met, whether or not anything died */
	FACT_OOM_EVENTS,
	FACT_OOM_KILLS,
	FACT_PIDS_LIMIT,
	FACT_PIDS_CURRENT,
	FACT_PIDS_REFUSED,
	FACT_PIDS_PEAK,
	FACT_CPU_USEC,
	FACT_POPULATED,
	FACT_PRESSURE_FULL,
	FACT_PRESSURE_SOME,
	FACTS_OF_A_RUN,
	FACT_MEMORY_NOW = FACTS_OF_A_RUN,
	FACT_KERNEL_NOW, /* of that memory, what the kernel needs for the group: mappings, page tables, inodes, queued data */
	FACT_COUNT,
};

struct groups {
	const struct backend *backend;
	int home[TREE_COUNT]; /* our own group in each tree, -1 where unused */
	bool pressure;        /* the kernel keeps pressure per group         */
	bool fair;            /* no box gets more of the CPU by having more processes */
};

struct leaf {
	char name[48];
	int dir[TREE_COUNT];
	int tasks[TREE_COUNT]; /* v1: where the program enters by writing 0 */
	int fact[FACT_COUNT];
	int oom_event;         /* v1: readable when the group met its limit for good; -1 on v2 */
	uint64_t id;           /* what the kernel calls the v2 leaf */
};

/* Finds the trees, makes `assay-<instance>` below our own group in each, sweeps what an earlier life left there. */
int groups_open(struct groups *g, const char *instance, struct failure *f);
/* Removes the groups that groups_open made. Returns how many could not be removed. */
int groups_close(struct groups *g, const char *instance);
/* Kills and removes every leaf whose name begins with `prefix`. Returns how many are left after that time. */
int groups_sweep(const struct groups *g, const char *prefix, int patience_ms);
/* All boxes together weigh as much against the rest of the host as that many programs of its own. */
void groups_weigh(const struct groups *g, unsigned slots);
/* Moves the caller, a slot, to where its boxes' CPU time is counted as one; its children are born there. */
int groups_join(const struct groups *g, unsigned slot, struct failure *f);
const char *groups_backend(const struct groups *g);
/* Whether the host swaps now. */
bool host_swaps(void);

int leaf_make(const struct groups *g, struct leaf *leaf, const char *name, struct failure *f);
int leaf_limit(const struct groups *g, struct leaf *leaf, uint64_t memory_bytes, uint64_t processes, struct failure *f);
/*
 * Lowers the memory limit to what the group uses now without the files that the kernel can drop, and never raises it: the
 * group's next need is met by the OOM killer. -1 with errno.
 */
int leaf_stop_growth(const struct groups *g, const struct leaf *leaf);
/* The value, or -1 with errno when it cannot be read; ENODATA when this backend has no such fact. */
int leaf_read(const struct groups *g, const struct leaf *leaf, enum fact fact, uint64_t *value);
const char *fact_name(enum fact fact);
/* Whether `word` stands in the list, whole. */
bool has_word(const char *list, const char *word, const char *separators);
/* Number of tasks listed in the leaf, zombies included where the kernel lists them. The first `most` are put into `pid`. */
int leaf_tasks(const struct groups *g, const struct leaf *leaf, pid_t *pid, int most);
/*
 * Waits until the kernel has taken back what an empty leaf was charged for, and has it drop the names that were looked up
 * in vain. Costs one read where little is left. While the work directory is kept for another step it does not wait, because
 * the files there stay. Returns the bytes that remain beyond HELD_MOST, 0 as a rule; -1 with errno where the leaf's memory
 * cannot be read.
 */
int64_t leaf_settle(const struct groups *g, const struct leaf *leaf, bool work_kept);
/* Removes the leaf. `left` gets the trees where that failed, as text. */
void leaf_remove(const struct groups *g, struct leaf *leaf, void (*left)(void *, const char *), void *context);

#endif
