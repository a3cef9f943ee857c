#ifndef ASSAY_SUPERVISE_PARTS_H
#define ASSAY_SUPERVISE_PARTS_H

#include "supervise.h"

/* What the supervise-*.c files share, and no other file needs. */

enum {
	READ_AT_ONCE = 64 * 1024,
	READS_PER_ROUND = 8, /* then the deadlines are looked at again */
	/* 15,000 locks of one file take 1 s of CPU time to end; on a busy CPU that must not look like a failure of the platform. */
	DRAIN_PATIENCE_MS = 15000,
};

struct watch {
	struct slot *slot;
	struct box *box;
	const struct request *request;
	struct queue *out;
	struct outcome *o;
	int connection;
	uint64_t start_ns, quiet_until, wall_deadline, cpu_check, kernel_check, cpu_budget_usec, killed_ns;
	unsigned cpus; /* that may work for the box at the same time */
	uint64_t memory_limit; /* before it was lowered because of kernel memory; 0: it was not */
	uint64_t oom_events; /* v1: that the kernel has told us */
	/* When this stream, which has just been looked at, is looked at again; 0: when something comes. */
	uint64_t muted_until[2];
	bool undying; /* a kernel that lets a program live on after our kill */
};

void note(struct outcome *o, const char *what, int err);

/* v1: how often the kernel has said that the group is out of memory, up to now. */
uint64_t count_oom_events(struct watch *w);

/* Hands the request over, sets the limits, lets the parked program go. */
int let_go(struct watch *w, struct failure *f);
/* Kills the box, which then may use idle CPUs as well. */
void kill_box(struct watch *w);
/* The same for a reason; the first one stays. */
void end_it(struct watch *w, enum kill_reason reason);

/* Reads what one pipe has, at most so many times; false at its end. */
bool forward(struct watch *w, int *fd, int stream, int rounds);
/* Whether the rest of the stream is counted and thrown away. */
bool past_limit(const struct watch *w, int stream);
/* The rest of both pipes, when every writer is dead. */
void drain(struct watch *w);

/* How the program ended, and what is known of it since its birth. */
void reap_program(struct watch *w);
/* Whether the init of the box was killed from outside. */
bool init_is_going(const struct watch *w);
/* Ends the processes that outlived the program, and waits for the end of them all. */
void end_survivors(struct watch *w);
/* The final counts. */
void collect(struct watch *w);

#endif
