#ifndef ASSAY_CPUS_H
#define ASSAY_CPUS_H

#include <stdint.h>
#include <sys/types.h>

#include "failure.h"

/* The CPUs of the machine and the programs that are bound to them, in memory shared by the launcher and its slots. */
struct cpus;

/*
 * What is bound. A submission has a box of its own and computes all the time. An execution of a sandbox can wait for hours, as a shell does,
 * so it chooses its CPUs after the boxes have chosen theirs, and keeps no box away from a CPU that another box does not have.
 */
enum bound_kind { BOUND_BOX, BOUND_EXECUTION, BOUND_KINDS };

/* Makes the table, with the CPUs in the launcher's own affinity mask. Call it before the first slot. */
struct cpus *cpus_open(unsigned slots, struct failure *f);
/* How many CPUs `slots` slots can use at the same time if each runs one program. */
unsigned cpus_usable(const struct cpus *c, unsigned slots);
/*
 * Binds the tasks of a parked program, and its slot, to `wanted` CPUs, namely those with the fewest boxes, and of these the ones with the fewest
 * executions. If the launcher has no more CPUs than that, the tasks may use all of them, and the slot stays as it is. `given` receives the
 * number of CPUs that can work for the program at the same time.
 */
int cpus_acquire(struct cpus *c, unsigned slot, enum bound_kind kind, const pid_t *task, int tasks, uint64_t wanted, unsigned *given,
	      struct failure *f);
/*
 * Lets killed processes of a box that is bound to CPUs also use the CPUs that nothing is bound to. These CPUs are assigned to the box until
 * its end. The end of a process is work of the kernel in which no program takes part: with 1 GiB of full page tables, it took 2.9 s
 * on one CPU and 1.6 s on two.
 */
void cpus_spread(struct cpus *c, unsigned slot, const pid_t *dying, int count);
/*
 * Moves the slot to CPUs that its box does not have, so that the slot can measure what the box does to programs there. Does nothing if
 * there are no such CPUs.
 */
void cpus_move_slot_away(struct cpus *c, unsigned slot);
/* Binds the slot to the CPUs of its box again. */
void cpus_move_slot_back(struct cpus *c, unsigned slot);
/* Frees the CPUs of a box that has ended, and lets the slot use all CPUs again. */
void cpus_release(struct cpus *c, unsigned slot);
/* Frees the CPUs of the box of a dead slot. The launcher process calls this. */
void cpus_release_dead(struct cpus *c, unsigned slot);

#endif
