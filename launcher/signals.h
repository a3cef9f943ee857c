#ifndef ASSAY_SIGNALS_H
#define ASSAY_SIGNALS_H

#include <stdint.h>

#include "failure.h"

/*
 * Counts signals that the kernel itself sent for an exceeded rlimit. The number of a signal proves nothing: any program
 * can call kill(self, SIGXFSZ), and Python, Node, Java and Go ignore the real one. A raw tracepoint on signal_generate
 * counts for each v2 leaf: SIGXFSZ without sender information (only the kernel sends it so) and SIGXCPU marked as sent
 * by the kernel.
 */
struct signal_counts {
	uint64_t file_size;
	uint64_t cpu_time;
	uint64_t owner; /* the number of the slot that watches, by which the entries of a dead slot can be dropped */
};

/* Loads and attaches the program. Returns the map's descriptor, or -1 if the kernel does not support it. */
int signals_open(struct failure *f);
/* Begins to count for this leaf. -1 with errno. */
int signals_watch(int map, uint64_t leaf_id, uint64_t owner);
/* Reads and deletes the counts. -1 with errno if the leaf is not watched. */
int signals_take(int map, uint64_t leaf_id, struct signal_counts *counts);
/* Deletes the counts of a dead slot. */
void signals_drop_owner(int map, uint64_t owner);

#endif
