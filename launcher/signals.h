#ifndef ASSAY_SIGNALS_H
#define ASSAY_SIGNALS_H

#include <stdint.h>

#include "failure.h"

/*
 * Which signals the kernel itself sent for a broken rlimit. A signal's number
 * proves nothing: any program can kill(self, SIGXFSZ), and Python, Node, Java and
 * Go ignore the real one. So one raw tracepoint on signal_generate counts, per
 * v2 leaf, SIGXFSZ without sender information (only the kernel sends it so) and
 * SIGXCPU marked as the kernel's own.
 */
struct signal_counts {
	uint64_t file_size;
	uint64_t cpu_time;
	uint64_t owner; /* the slot that watches: so that a dead slot's entries can be dropped */
};

/* Loads and attaches. Returns the map's descriptor, or -1 where the kernel does not offer it. */
int signals_open(struct failure *f);
int signals_watch(int map, uint64_t leaf_id, uint64_t owner);
/* Reads and forgets. -1 with errno when the leaf is not watched. */
int signals_take(int map, uint64_t leaf_id, struct signal_counts *counts);
void signals_drop_owner(int map, uint64_t owner);

#endif
