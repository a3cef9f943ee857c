#define _GNU_SOURCE
#include "unforked-memory.h"

#include <stdlib.h>
#include <sys/mman.h>

static void *new_area(size_t size)
{
	void *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (data == MAP_FAILED || madvise(data, size, MADV_DONTFORK) == 0)
		return data;
	munmap(data, size);
	return MAP_FAILED;
}

int area_grow(struct area *a, size_t size)
{
	if (size <= a->size)
		return 0;
	void *data = a->data ? mremap(a->data, a->size, size, MREMAP_MAYMOVE) : new_area(size);
	if (data == MAP_FAILED)
		return -1;
	*a = (struct area){data, size};
	return 0;
}

void area_free(struct area *a)
{
	if (a->data)
		munmap(a->data, a->size);
	*a = (struct area){0};
}

void *area_of(struct area *a, size_t size)
{
	if (area_grow(a, size) < 0)
		abort();
	return a->data;
}
