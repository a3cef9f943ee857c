#ifndef ASSAY_CPUS_H
#define ASSAY_CPUS_H

#include <stdint.h>
#include <sys/types.h>

#include "failure.h"

/* The CPUs of the machine and the boxes that hold them, in memory that the launcher shares with its slots. */
struct cpus;

/* Before the first slot: the CPUs are those that the launcher itself may run on. */
struct cpus *cpus_open(unsigned slots, struct failure *f);
/*
 * Binds a parked program, and the slot that watches it, to the `wanted` CPUs that the fewest running boxes hold. Where the
 * machine has no more than that, neither is bound. `given`: how many CPUs may work for the box at the same time.
 */
int cpus_take(struct cpus *c, unsigned slot, pid_t program, uint64_t wanted, unsigned *given,
	      struct failure *f);
/*
 * The processes of a box that were killed may also use the CPUs that no box holds, and the box holds these until its end. Its end is the
 * kernel's work, and programs of the box take no part in it: 1 GiB of full page tables took 2.9 s on one CPU and 1.6 s on two.
 */
void cpus_spread(struct cpus *c, unsigned slot, const pid_t *dying, int count);
/* The box has ended: its CPUs are free, and the slot may run anywhere again. */
void cpus_give(struct cpus *c, unsigned slot);
/* For the launcher, after a slot has died. */
void cpus_forget(struct cpus *c, unsigned slot);

#endif
