#ifndef ASSAY_SIGNALS_H
#define ASSAY_SIGNALS_H

#include <stdint.h>

#include "failure.h"

/*
 * Counts signals that the kernel itself sent for an exceeded rlimit. The signal by which a program ended proves nothing: any program
 * can call kill(getpid(), SIGXFSZ), and Python, Node, Java and Go do not end by the kernel's own SIGXFSZ. A raw tracepoint on
 * signal_generate counts two signals for each v2 leaf: SIGXFSZ without sender information, which only the kernel can send, and
 * SIGXCPU that is marked as sent by the kernel.
 */
struct signal_counts {
	uint64_t file_size;
	uint64_t cpu_time;
	uint64_t owner; /* the number of the slot that watches the leaf, by which the entries of a dead slot can be deleted */
};

/* Loads and attaches the BPF program. Returns the descriptor of its map, or -1 with the failure if the kernel does not permit it. */
int signals_open(struct failure *f);
/* Begins to count for this leaf. Returns -1 with errno on failure. */
int signals_watch(int map, uint64_t leaf_id, uint64_t owner);
/* Reads and deletes the counts of a leaf. Returns -1 with errno on failure, for example if the leaf is not watched. */
int signals_take(int map, uint64_t leaf_id, struct signal_counts *counts);
/* Deletes the counts of all leaves that the slot with the number `owner` watched. */
void signals_drop_owner(int map, uint64_t owner);

#endif
