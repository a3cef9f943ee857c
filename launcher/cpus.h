#ifndef ASSAY_CPUS_H
#define ASSAY_CPUS_H

#include <stdint.h>
#include <sys/types.h>

#include "failure.h"

/* The CPUs of the machine and the boxes that hold them, in memory shared by the launcher and its slots. */
struct cpus;

/* Called before the first slot. Uses the CPUs in the launcher's own affinity mask. */
struct cpus *cpus_open(unsigned slots, struct failure *f);
/*
 * Binds the tasks of a parked program and its slot to the `wanted` CPUs that the fewest running boxes hold. Binds neither if the
 * machine has no more CPUs than that. `given`: number of CPUs that can work for the box at the same time.
 */
int cpus_acquire(struct cpus *c, unsigned slot, const pid_t *task, int tasks, uint64_t wanted, unsigned *given,
	      struct failure *f);
/*
 * Lets killed processes of a box also use CPUs that no box holds; the box holds them until its end. Ending is work of
 * the kernel in which no program takes part: 1 GiB of full page tables took 2.9 s on one CPU and 1.6 s on two.
 */
void cpus_spread(struct cpus *c, unsigned slot, const pid_t *dying, int count);
/*
 * Moves the slot to a CPU that its box does not hold, to see what the box does to others, and back. Does nothing if there is
 * none.
 */
void cpus_move_slot_away(struct cpus *c, unsigned slot);
void cpus_move_slot_back(struct cpus *c, unsigned slot);
/* After the end of a box: frees its CPUs; the slot may run anywhere again. */
void cpus_release(struct cpus *c, unsigned slot);
/* Called by the launcher after a slot has died. */
void cpus_release_dead(struct cpus *c, unsigned slot);

#endif
