#ifndef ASSAY_PRIVATE_H
#define ASSAY_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Memory for what clients sent and programs wrote, and for the state of a slot. No process of a box has it, not even before
 * its exec. Forks do not copy its page tables, and the slot does not copy its pages when it writes after a fork.
 */
struct area {
	uint8_t *data;
	size_t size;
};

/* Makes it at least as large; keeps its content. -1: there is no memory, and nothing has changed. */
int area_grow(struct area *a, size_t size);
void area_free(struct area *a);
/* The memory, of this size since the first call. Ends the process if there is none. */
void *area_of(struct area *a, size_t size);

#endif
