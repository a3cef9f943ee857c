#ifndef ASSAY_UNFORKED_MEMORY_H
#define ASSAY_UNFORKED_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/*
 * Memory that a fork does not pass on (MADV_DONTFORK), for what clients sent and programs wrote, and for the state of a slot. So no
 * process of a box has it, not even before its exec. Forks do not copy its page tables either, and the slot does not copy its
 * pages when it writes after a fork.
 */
struct area {
	uint8_t *data;
	size_t size;
};

/* Makes the area at least `size` bytes large, and keeps its content. -1: there is no memory, and nothing has changed. */
int area_grow(struct area *a, size_t size);
void area_free(struct area *a);
/* Returns the memory of a static area, which gets this size in the first call. Ends the process if there is no memory. */
void *area_of(struct area *a, size_t size);

#endif
