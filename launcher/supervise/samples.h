#ifndef ASSAY_SAMPLES_H
#define ASSAY_SAMPLES_H

#include "cgroup/cgroup.h"
#include "wire/wire.h"

/*
 * Memory use and CPU time of a box over the time of its run: for users, never evidence or a limit. A sample reads two
 * counters whose cost does not depend on the number of processes. A full list is halved and the interval doubled: a run of
 * any length has at most SAMPLES_MAX, and takes 64 more for each doubling of its time, some 700 in ten minutes.
 */

/* Time and CPU time since the exec, and the highest memory use since the sample before. */
struct sample {
	uint64_t at_usec, cpu_usec, memory;
};

struct samples {
	unsigned count;
	uint64_t interval_ns, next_ns; /* an interval of 0: none are taken */
	struct sample list[SAMPLES_MAX];
};

/* Sets the time of the first sample. `interval_ms` 0: none are taken. */
void samples_start(struct samples *s, uint64_t start_ns, uint64_t interval_ms);
/* The latest time of the next sample. */
uint64_t samples_deadline(const struct samples *s);
/* Takes a sample if it is due. `exec_ns` is 0 before the exec; `base_cpu_usec` is the CPU time before the step. */
void samples_take_if_due(struct samples *s, const struct groups *g, const struct leaf *leaf, uint64_t exec_ns, uint64_t base_cpu_usec,
			 uint64_t now);
/* Adds them to the frame, if there are any. */
void samples_report(const struct samples *s, struct queue *out);

#endif
