#ifndef ASSAY_PRIVATE_H
#define ASSAY_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Memory for what clients sent and programs wrote. No program has it, not even before its exec, and forks do not copy its
 * page tables, so its size does not slow down the start of later programs.
 */
struct area {
	uint8_t *data;
	size_t size;
};

/* Makes it at least as large; keeps its content. -1: there is no memory, and nothing has changed. */
int area_grow(struct area *a, size_t size);
void area_free(struct area *a);

#endif
