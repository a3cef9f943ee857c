#ifndef ASSAY_SAMPLES_H
#define ASSAY_SAMPLES_H

#include "cgroup/cgroup.h"
#include "wire/wire.h"

/*
 * The course of a run, in memory use and CPU time: for users, never evidence or a limit. A sample reads two
 * counters; the time for this does not depend on the number of processes. When the list is full, pairs of samples are merged and the
 * interval is doubled. So the list of any run has at most SAMPLES_MAX samples, and a run takes 64 more for each doubling of its
 * length: some 700 in ten minutes, if the first interval is 10 ms.
 */

/* Time and CPU time since the exec, and the memory use at that time, or the highest of the samples that were merged into this one. */
struct sample {
	uint64_t at_usec, cpu_usec, memory;
};

struct samples {
	unsigned count;
	uint64_t interval_ns; /* 0: no samples are taken */
	uint64_t next_ns;     /* when the next one is due */
	struct sample list[SAMPLES_MAX];
};

/* Sets the time of the first sample. `interval_ms` 0: no samples are taken. */
void samples_start(struct samples *s, uint64_t start_ns, uint64_t interval_ms);
/* Returns the latest time of the next sample; UINT64_MAX if no samples are taken. */
uint64_t samples_deadline(const struct samples *s);
/* Whether a sample may be taken now. It may come a little before its deadline, so that it shares a wake-up with something else. */
bool samples_due(const struct samples *s, uint64_t now);
/* Takes a sample of the run, if its program has been executed. */
struct run;
void samples_take(struct samples *s, const struct run *run, uint64_t now);
/* Adds the samples, if there are any, to the frame that is being written. */
void samples_report(const struct samples *s, struct queue *out);

#endif
