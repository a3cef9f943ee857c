#ifndef ASSAY_LOCKS_H
#define ASSAY_LOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "cgroup/sandboxes.h"
#include "failure.h"

/*
 * Locks of files in sandboxes: flock(), and fcntl() with ranges of bytes.
 *
 * The kernel charges no group for the records of such locks, and limits neither their number nor the time that it takes to search the list of a
 * file. So BPF programs at its tracepoints count the records, after each change of a list, by the file and by the sandbox whose program has
 * made the first of them. They kill a program with SIGKILL
 *
 *   - that makes more records than a sandbox, or a file, may have;
 *   - that locks a file that all tenants share: those of eventfd, epoll, timerfd, signalfd and inotify have one inode together, and all user
 *     namespaces are the same one.
 *
 * A program cannot make a second record before it is killed, but a record can belong to an open file that others keep, and each of them can make one
 * more. Therefore the holder looks from time to time, and kills all programs of the sandbox if there are still too many, or if a file that all
 * share was locked (locks_exceeded()). That removes all records.
 *
 * A record of flock() belongs to an open file, of which each has at most one. The kernel reports a change of these lists only after it has
 * released the list, so two programs that change the same list at the same time can leave a count that is wrong by one, until the next change. There
 * may be none: the entry of a file that ends just then stays in the map, which all sandboxes share, until the end of its sandbox (docs/security.md).
 */
enum { LOCKS_OF_FILE = 1024, LOCKS_OF_SANDBOX = 4096, LOCKS_OF_ALL = 1 << 18 };

struct locks {
	int sandboxes; /* the map of struct lock_counts by sandbox; -1: there is none, so locks in sandboxes succeed and lock nothing */
	int known;     /* the map of what is known of each list, and of each open file */
	int tracepoint[2]; /* of ranges, and of whole files; they stay open for the life of the process, because closing one would detach its program */
};

/* The records of a sandbox. */
struct lock_counts {
	uint64_t records, most;
	uint64_t kills;  /* how many programs were killed */
	uint64_t shared; /* those of them that have locked a file that all tenants share */
	uint64_t changes; /* of `records`; 0: nothing is known of a file of this sandbox */
	uint64_t owner; /* the number of the holder, by which the entry of a dead one can be deleted */
};

/* Loads and attaches the programs, for what is in the group of all sandboxes. Returns -1 with the failure if the kernel does not permit them. */
int locks_open(struct locks *l, const struct group_set *sandboxes, struct failure *f);
/* Lets the programs of a sandbox have locks. All sandboxes together, of which there are at most so many, have no more than LOCKS_OF_ALL. */
int locks_permit(const struct locks *l, const struct group_set *sandbox, unsigned sandboxes, uint64_t owner, struct failure *f);
/* Whether the kernel has the programs at their tracepoints. */
bool locks_attached(const struct locks *l);
/* Reads the counts of a sandbox. Returns -1 with errno on failure. */
int locks_read(const struct locks *l, const struct group_set *sandbox, struct lock_counts *counts);
/* Whether all programs of the sandbox have to be killed. `seen` belongs to the sandbox, and is 0 before the first call. */
bool locks_exceeded(const struct locks *l, const struct group_set *sandbox, uint64_t *seen);
/* Forgets the sandbox of a holder. */
void locks_forget(const struct locks *l, uint64_t owner);

#endif
