#ifndef ASSAY_SUPERVISE_H
#define ASSAY_SUPERVISE_H

#include "box.h"
#include "wire.h"

enum kill_reason { KILL_NONE, KILL_WALL, KILL_CPU, KILL_OOM, KILL_CLIENT };

/* Everything that is known of a step when it is over. */
struct outcome {
	struct failure failure;
	bool exited;
	int code;   /* exit code, or the signal when it did not exit */
	enum kill_reason reason; /* recorded before the kill was sent; the first cause stays */
	uint64_t wall_ns, ended_ns;
	uint64_t seen[2];        /* bytes of stdout and stderr, kept or not */
	uint64_t last_output_ns; /* 0: there was none */
	bool write_error;
	uint64_t survivors;
	uint64_t kernel_bytes;   /* the largest reading of the run */
	uint64_t kept_bytes;     /* in /box, of the step before */
	uint64_t end_ns;         /* from our kill, or the end of the program, to that of the last process */
	uint64_t fact[FACT_COUNT];
	bool known[FACT_COUNT];
	uint64_t file_size_signals, cpu_time_signals;
	struct rlimit rlimit[RLIM_NLIMITS];
	char error[8][160];
	unsigned errors;
};

/*
 * Lets the parked program go and watches it to its end: forwards its output as
 * frames (up to the limits, the rest is read and thrown away), keeps the
 * deadlines, and reads the counters when every process but the init is dead.
 * `meanwhile` (may be NULL) runs once, right after the start.
 */
void supervise(struct slot *s, struct box *b, const struct request *r, struct queue *out, int connection,
	       const volatile int *stopping, void (*meanwhile)(void *), void *context, struct outcome *o);

/* Adds the ENDED frame. */
void outcome_report(const struct outcome *o, const struct box *b, struct queue *out);

#endif
