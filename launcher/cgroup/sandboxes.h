#ifndef ASSAY_CGROUP_SANDBOXES_H
#define ASSAY_CGROUP_SANDBOXES_H

#include "cgroup/cgroup.h"

/*
 * The groups of sandboxes: `sandboxes`, below the launcher's group, has all of them and limits their memory together. Below it, h3 is the
 * group of the sandbox of the holder 3, with the limits of the sandbox, and below that, e0, e1 … are the leaves of its executions.
 *
 * In the tree that shares the CPU time (v2, or the cpu controller of v1), a group of the account is between the first two: a00c0ffee. It has the weight of
 * one sandbox, however many sandboxes the account has, and they share its time evenly. It exists while the account has a sandbox.
 *
 * The kernel cannot free a memory group before the last page that is charged to it, and files of a sandbox remain when the execution
 * that wrote them has ended. A new leaf for each execution would leave thousands of groups, of 20 KiB each. So a sandbox has a pool of
 * leaves: a leaf without processes serves the next execution, whose counters are differences (run/run.c).
 */

enum {
	SANDBOX_LEAVES_MAX = 64,
	SANDBOX_LEAVES_POOLED = 16, /* as many as executions at the same time; a leaf beyond these is made only if none is free */
	LEAF_CHARGED_LITTLE = 1 << 20, /* a leaf to which more is charged is taken last */
	/*
	 * A leaf with more files serves no further execution, because their size raises the limit of an execution that removes them. The kernel keeps
	 * its group until then, so there are at most as many such groups as the memory of the sandbox has room for.
	 */
	LEAF_FILES_MAX = 4 << 20,
	/*
	 * Where the peak of memory cannot begin anew, each execution gets a new leaf, so that its peak is exact, as long as the kernel keeps fewer removed
	 * groups of the sandbox than this.
	 */
	LEAVES_REMOVED_MAX = 128,
};

/* A group that has other groups below it. */
struct group_set {
	struct leaf own;     /* for the limits and counters of the group itself */
	struct groups below; /* for the groups below it */
};

/*
 * Makes the group of all sandboxes. They may use `memory` bytes together, and get the CPU weight of `programs` programs. Fails if the kernel
 * cannot stop or kill a group.
 */
int sandboxes_make(struct group_set *all, const struct groups *launcher, uint64_t memory, unsigned programs, struct failure *f);
/* Makes the group of a sandbox. On failure, sandbox_remove() removes what was made. */
int sandbox_make(struct group_set *s, const struct groups *all, unsigned holder, uint32_t account, uint64_t memory, uint64_t processes, struct failure *f);
/* On v1 with a cpu controller, opens the file `tasks` through which programs get the CPU weight of the sandbox. Otherwise -1. */
int sandbox_cpu_tasks(const struct group_set *s);
/* Kills all processes of the sandbox, without waiting for their end. Nothing can be born in its leaves then; pool_kill_all() lets them be made anew. */
void sandbox_kill(const struct group_set *s);
/* Stops or continues all processes. Returns what the kernel says after at most `timeout_ms`: 1 if all are stopped, 0 if not, -1 if unknown. */
int sandbox_freeze(const struct group_set *s, bool frozen, int timeout_ms);
/* What is charged to a sandbox, in bytes: all of it, and of that files in memory and pages of files on disks, and only the former. */
struct sandbox_memory { uint64_t all, files, shmem; };
/* Returns -1 if it cannot be read. */
int sandbox_memory(const struct group_set *s, struct sandbox_memory *memory);
/* Returns how many bytes are charged to the sandbox, without page cache of files on disk; UINT64_MAX if that cannot be read. */
uint64_t sandbox_charged(const struct group_set *s);
int sandbox_is_frozen(const struct group_set *s);
/* How many processes of the sandbox the OOM killer has killed. `retired` counts those of leaves that were removed. */
uint64_t sandbox_oom_kills(const struct group_set *s, uint64_t retired);
/*
 * v2: opens the file that changes when the limit of the sandbox itself, and not that of an execution, makes the kernel kill; -1 on v1, where
 * the eventfd of the group tells that. sandbox_own_ooms() reads how often that was.
 */
int sandbox_open_events(const struct group_set *s);
uint64_t sandbox_own_ooms(const struct group_set *s);
/* Removes all groups of a sandbox, and that of its account if it was the last one. Returns how many of the sandbox are left after `timeout_ms`. */
int sandbox_remove(const struct groups *all, unsigned holder, uint32_t account, int timeout_ms);

/* Makes a group in the sandbox, of this name, in each tree, unless there is one. Returns -1 with errno. */
int sandbox_make_leaf(const struct group_set *s, const char *name);
/* Removes it. Returns -1 if a part of it is left, because there are processes in it. */
int sandbox_remove_leaf(const struct group_set *s, const char *name);

/* The leaves of a sandbox, which its holder makes. */
enum leaf_state { LEAF_NONE, LEAF_FREE, LEAF_TAKEN, LEAF_LEFT };
struct leaf_pool {
	enum leaf_state state[SANDBOX_LEAVES_MAX];
	unsigned user[SANDBOX_LEAVES_MAX]; /* which slot has had the leaf last, as in pool_take(); 0: none, or the leaf has another group since then */
	bool as_new[SANDBOX_LEAVES_MAX];   /* of a free leaf: it has all groups, and all are as new */
	bool killed[SANDBOX_LEAVES_MAX];   /* a process that is born in the group of v2 would be killed (leaf_kill()) */
	bool frozen; /* between pool_freeze() of true and of false */
	uint64_t retired_oom_kills;
	bool on_disk; /* leaves keep pages of files that are on a disk */
	/*
	 * Each use of a leaf has a group of v2 of its own, and so a number of its own (struct leaf), because connections are known by it: a program can end before the
	 * relay has accepted its connections. On v2 that holds as long as LEAVES_REMOVED_MAX permits it.
	 */
	bool own_ids;
};

/*
 * Takes a leaf without processes, if possible one that the same `user` has had last, a number above 0, or 0 for nobody. `same` receives in which trees the group
 * is the one that this user has had then, as bits by enum tree. Returns the number of the leaf, or -1 with errno; EAGAIN: all are in use.
 */
int pool_take(struct leaf_pool *p, const struct group_set *s, unsigned user, unsigned *same);
/* How a leaf is given back. */
struct leaf_use {
	bool left;        /* it has processes that run on; otherwise those that it still has are killed */
	bool reusable;    /* it may serve another execution; otherwise it is removed */
	bool killed;      /* leaf_kill() */
	bool as_new;      /* leaf_is_as_new() */
	uint64_t charged; /* how many bytes are charged to it; UINT64_MAX: unknown */
};
/* The use of which nothing is known, by a slot that was lost. */
static const struct leaf_use leaf_use_lost = {.charged = UINT64_MAX};
/* Takes a leaf back. */
void pool_give(struct leaf_pool *p, const struct group_set *s, int leaf, const struct leaf_use *use);
/* Kills the processes of a leaf that stays taken, without waiting for their end: its slot reaps them, and gives the leaf back. */
void pool_kill(struct leaf_pool *p, const struct group_set *s, int leaf);
/* Does the same to all leaves. */
void pool_kill_all(struct leaf_pool *p, const struct group_set *s);
/*
 * Takes back the leaves whose last process has ended since it was left, and kills the processes of those that use more than `kernel_bytes` of the
 * kernel's memory, or more page tables than `walkable_bytes`: no slot watches them (supervise/limits.c). `walkable` measures page tables of the first
 * 1,024 processes; all tasks of the sandbox can walk them. Returns how many leaves have processes that were left.
 */
int pool_check_left(struct leaf_pool *p, const struct group_set *s, uint64_t kernel_bytes, uint64_t walkable_bytes,
		    uint64_t (*walkable)(int proc, const pid_t *process, int processes, uint64_t tasks), int proc);
/*
 * Stops or continues the processes of each leaf that has or may have some, so that a leaf that is taken later is not stopped. Returns whether the
 * kernel says so within `timeout_ms`; a group above them that is stopped makes no difference to that.
 */
bool pool_freeze(struct leaf_pool *p, const struct group_set *s, bool frozen, int timeout_ms);
/* Writes the name of a leaf of the pool. */
void pool_name(int leaf, char name[16]);

#endif
