#ifndef ASSAY_SUPERVISE_PARTS_H
#define ASSAY_SUPERVISE_PARTS_H

#include "supervise.h"

/* Shared by the supervise*.c files only. */

enum {
	READ_AT_ONCE = 64 * 1024,
	READS_PER_ROUND = 8, /* then the deadlines are checked again */
	/* The end can take 2 s of CPU time; on a busy CPU that must not count as a failure of the platform. */
	END_TIMEOUT_MS = 15000,
	HURRY_MS = 10, /* after a kill, the processes that are left are looked at so often */
	HELPERS_MAX = 128,
};

struct watch {
	struct slot *slot;
	struct box *box;
	const struct request *request;
	struct queue *out;
	struct outcome *o;
	int connection;
	uint64_t start_ns, quiet_until, wall_deadline, cpu_check, kernel_check, cpu_budget_usec, killed_ns;
	unsigned cpus; /* CPUs that can work for the box at the same time */
	uint64_t settled_by;   /* end of the time for which the box is frozen to free kernel memory; 0: not frozen */
	uint64_t memory_limit; /* limit before kernel memory caused it to be lowered; 0: not lowered */
	uint64_t oom_events; /* v1: count of OOM events */
	/* When this stream, which was just read, is read next; 0: when data arrives. */
	uint64_t paused_until[2];
	bool unkillable; /* the program did not end after the kill */
	uint64_t hurried_ns;
	int helpers;
	pid_t helper[HELPERS_MAX], helped[HELPERS_MAX];
};

void evidence_error(struct outcome *o, const char *what, int err);

/* v1: number of times that the group was out of memory so far. */
uint64_t count_oom_events(struct watch *w);

/* Passes the request to the parked program, sets the limits and starts the program. */
int start_program(struct watch *w, struct failure *f);
/*
 * Called every HURRY_MS after a kill. Processes that exit may use idle CPUs; long system calls of the others are ended by
 * helpers, which end_helpers ends.
 */
void hurry_end(struct watch *w);
void end_helpers(struct watch *w);
/* Kills the box and records the reason; the first reason stays. */
void kill_for(struct watch *w, enum kill_reason reason);

/* Reads one pipe, at most that many times; false at its end. */
bool forward_output(struct watch *w, int *fd, int stream, int rounds);
/* Whether the rest of the stream is counted and discarded. */
bool past_output_limit(const struct watch *w, int stream);
/* Reads the rest of both pipes after the death of every writer. */
void drain_pipes(struct watch *w);

/* Reaps the program, and records how it ended and its progress before the exec. */
void reap_program(struct watch *w);
/* Reads the flags of /proc/PID/stat. */
int task_flags(int proc, pid_t task, unsigned *flags);
/* Whether the init of the box was killed from outside. */
bool init_is_exiting(const struct watch *w);
/* Kills the processes that outlived the program, and waits for the end of all. */
void kill_survivors(struct watch *w);
/* Reads the final counters. */
void read_counters(struct watch *w);

#endif
