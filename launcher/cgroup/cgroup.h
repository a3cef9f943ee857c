#ifndef ASSAY_CGROUP_H
#define ASSAY_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "failure.h"

/*
 * Control groups of both versions behind one interface. A run has a leaf: one group in each tree that the backend uses, except
 * TREE_CPU. Most counters cannot be reset, and a group must not contain evidence of another run, so it is removed after its run.
 * Only a group without the memory controller can serve the next run, if its counters are as in a new group.
 *
 * If there is a cpu controller, CPU time is shared evenly among the boxes: on v2 by their leaves, on v1 by a group of TREE_CPU for
 * the programs of each slot. The slot itself is in another group: in the group of its box it would wait for a time slice of each
 * process, and a system call can make that slice long.
 */
enum tree { TREE_MEMORY, TREE_PIDS, TREE_CPU, TREE_UNIFIED, TREE_COUNT };

enum fact {
	/* Those of the table of facts in protocol.def, which a run reports, and POPULATED, which only the end of a box needs. */
#define FRAME(...)
#define KEY(...)
#define FACT(number, name, count, text) FACT_##name,
#include "protocol.def"
#undef FRAME
#undef KEY
#undef FACT
	FACT_POPULATED,
	FACTS_OF_A_RUN,
	FACT_MEMORY_NOW = FACTS_OF_A_RUN,
	FACT_KERNEL_NOW, /* the part of the memory that the kernel uses: mappings, page tables, inodes, queued data */
	FACT_COUNT,
};

/* The launcher's own groups, below which all leaves are. */
struct groups {
	const struct backend *backend;
	int dir[TREE_COUNT]; /* the launcher's group in each tree; -1 where unused */
	bool pressure;       /* the kernel counts pressure for each group */
	bool shares_cpu;     /* more processes do not give a box more CPU time */
	bool renews_peak;    /* the peak of memory of a group can begin anew (leaf_reset_peak()) */
};

enum leaf_kind {
	LEAF_OF_RUN,      /* the slot makes the groups for a run, and removes them */
	LEAF_OF_HOLDER,   /* of an execution in a sandbox: the holder makes the groups, and several executions use them one after the other */
	LEAF_WITH_GROUPS, /* of a sandbox or of all sandboxes: other groups are below it */
};

/* The groups of one run, with the same name in each tree. A descriptor that is not open is -1. */
struct leaf {
	enum leaf_kind kind;
	char name[48];
	int dir[TREE_COUNT];
	int tasks[TREE_COUNT]; /* v1: the file `tasks`; the program enters the group by writing 0 to it */
	int fact[FACT_COUNT];  /* the file that contains each fact */
	int swap_limit;        /* the file of the limit of swap; -1: the kernel does not count swap */
	int oom_event;         /* v1: eventfd, readable when the group is out of memory; -1 on v2 */
	uint64_t id;           /* the kernel's id of the v2 leaf */
	bool frozen, killed; /* by leaf_freeze() and leaf_kill() */
};

/*
 * Finds the trees, creates the group `assay-<instance>` below the group of this process in each of them, and removes what an earlier
 * launcher left there. Returns -1 with the failure, after which the caller calls groups_close().
 */
int groups_open(struct groups *g, const char *instance, struct failure *f);
/* Removes the groups that groups_open() created. Returns how many could not be removed. */
int groups_close(struct groups *g, const char *instance);
/*
 * Kills the members of each group whose name begins with `prefix` and of the groups below it, and removes these groups. Returns how many groups are left after
 * `timeout_ms`.
 */
int groups_sweep(const struct groups *g, const char *prefix, int timeout_ms);
/* Kills the members of the group with this name and of those below it, and removes them. Returns in how many trees it is left; call it again then. */
int groups_remove(const struct groups *g, const char *name);
/* Gives all boxes together the CPU weight of `programs` ordinary programs, on v2 of 100 at most. */
void groups_set_weight(const struct groups *g, unsigned programs);
/*
 * On v1 with a cpu controller, moves the calling slot into its group of TREE_CPU, and opens `tasks` of the group for its programs in
 * `programs`. Otherwise `programs` receives -1. It is NULL if the programs have another group, that of their sandbox.
 */
int groups_join(const struct groups *g, unsigned slot, int *programs, struct failure *f);
/* Removes the group of a dead slot whose programs have another group. Returns whether it is left; call it again then. */
bool groups_leave(const struct groups *g, unsigned slot);
const char *groups_backend(const struct groups *g);
/* Whether the host has swap space; true if that is not known. */
bool host_swaps(void);

/* Initializes a leaf that has no groups yet. */
void leaf_name(struct leaf *leaf, enum leaf_kind kind, const char *name);
/*
 * Makes the groups that the leaf does not have, and opens them; of LEAF_OF_HOLDER, it only opens them. On failure, leaf_release() removes
 * those that were made.
 */
int leaf_make(const struct groups *g, struct leaf *leaf, struct failure *f);
int leaf_limit_memory(const struct groups *g, struct leaf *leaf, uint64_t memory_bytes, struct failure *f);
int leaf_limit(const struct groups *g, struct leaf *leaf, uint64_t memory_bytes, uint64_t processes, struct failure *f);
/*
 * Lowers the memory limit to 1 MiB more than the current use without droppable file pages, so that a box that grows further meets the
 * OOM killer. Never raises the limit. Returns -1 with errno on failure; it is no failure if v1 refuses the limit for now (EBUSY).
 */
int leaf_stop_growth(const struct groups *g, const struct leaf *leaf);
/* Stops or continues all processes of the leaf. SIGKILL ends them even while they are stopped. Returns -1 with errno on failure. */
int leaf_freeze(struct leaf *leaf, bool frozen);
/*
 * Kills all processes of the leaf, also those that are being forked. Needs cgroup.kill (Linux 5.14). Returns -1 with errno on failure. The leaf must serve no
 * further run then: some kernels (seen on Linux 6.18) kill what is born in a group that was killed before, unless the group of its parent was killed as often.
 */
int leaf_kill(struct leaf *leaf);
/* On v2, lets the kernel end all processes of the leaf as out of memory. Returns -1 on v1, where the kernel has no means for that. */
int leaf_force_oom(const struct groups *g, const struct leaf *leaf);
/* On v1, opens the file through which a process enters the memory group. Returns -1 with errno on failure. */
int leaf_open_tasks(const struct leaf *leaf);
/*
 * Makes the peak of memory begin at the current use, where the kernel can (v1; v2 since Linux 6.12). Elsewhere the peak includes
 * earlier use. Returns whether the kernel has accepted that.
 */
bool leaf_reset_peak(const struct leaf *leaf);
/* Reads a fact. Returns -1 with errno if it cannot be read; errno is ENODATA if the backend does not have this fact. */
int leaf_read(const struct groups *g, const struct leaf *leaf, enum fact fact, uint64_t *value);
const char *fact_name(enum fact fact);
/* Whether `word` is an element of the list, in which any character of `separators` divides elements. */
bool list_contains(const char *list, const char *word, const char *separators);
/* Reads how many bytes of files in memory are charged to the leaf. Returns -1 with errno if that cannot be read. */
int leaf_files(const struct groups *g, const struct leaf *leaf, uint64_t *bytes);
/*
 * Returns the number of tasks (threads) in the leaf, including zombies if the kernel lists them; 0 if they cannot be read. Stores the
 * ids of the first `most` in `pid`.
 */
int leaf_tasks(const struct groups *g, const struct leaf *leaf, pid_t *pid, int most);
/* Returns the number of processes in the leaf; 0 if they cannot be read. Stores the ids of the first `most` in `pid`. */
int leaf_processes(const struct groups *g, const struct leaf *leaf, pid_t *pid, int most);
/*
 * Waits, for at most 10 s, until the kernel has uncharged the memory of an empty leaf, and makes it drop negative dentries. Costs one
 * read if little is charged. Does not wait if another step will use the work directory (`work_shared`), whose files stay charged.
 * Returns the bytes that are still charged after the wait, normally 0; -1 with errno if the memory cannot be read.
 */
int64_t leaf_wait_uncharged(const struct groups *g, const struct leaf *leaf, bool work_shared);
/* Makes the kernel reclaim memory of the leaf. Failures are ignored, because others then wait for the same. */
void leaf_reclaim(const struct groups *g, const struct leaf *leaf, uint64_t bytes);
/* Closes the groups without removing them; leaf_close_all_but() except those in the trees of these bits. */
void leaf_close(const struct groups *g, struct leaf *leaf);
void leaf_close_all_but(const struct groups *g, struct leaf *leaf, unsigned trees);
/*
 * Whether the leaf is empty, was neither frozen nor killed, and each group that leaf_release() could keep would be kept. What its other groups have counted is
 * subtracted (run/run.c).
 */
bool leaf_is_as_new(const struct groups *g, const struct leaf *leaf);
/*
 * Ends the use of the leaf by a run: keeps the groups that are as new for the next run, and removes the others. For each group that
 * cannot be removed, calls `leftover` with `context` and a text.
 */
void leaf_release(const struct groups *g, struct leaf *leaf, void (*leftover)(void *, const char *), void *context);

#endif
