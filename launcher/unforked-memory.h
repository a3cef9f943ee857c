#ifndef ASSAY_UNFORKED_MEMORY_H
#define ASSAY_UNFORKED_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/*
 * Memory that a fork does not pass on (MADV_DONTFORK), for what clients sent and programs wrote, and for the state of a slot. So no
 * process of a box has this memory, not even before its exec. A fork is also faster: the kernel does not copy the page tables of
 * this memory, nor a page of it when the slot writes to it afterwards.
 */
struct area {
	uint8_t *data;
	size_t size;
};

/* Makes the area at least `size` bytes large, and keeps its content. Returns -1, and changes nothing, if there is no memory. */
int area_grow(struct area *a, size_t size);
void area_free(struct area *a);
/*
 * Makes the area at least `size` bytes large, and returns its memory. Ends the process if there is no memory. The attribute lets the
 * compiler check writes to that memory, for example by a read into the rest of it.
 */
void *area_of(struct area *a, size_t size) __attribute__((alloc_size(2)));

#endif
