#ifndef ASSAY_DESCRIPTORS_H
#define ASSAY_DESCRIPTORS_H

#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Closes a descriptor unless it is -1, and sets it to -1. */
static inline void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Closes all descriptors from `from` on, except those in `excluded`, which are in rising order. Returns -1 with errno on failure. */
static inline int close_others(unsigned from, const int *excluded, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if ((unsigned)excluded[i] > from && syscall(__NR_close_range, from, (unsigned)excluded[i] - 1, 0) < 0)
			return -1;
		from = (unsigned)excluded[i] + 1;
	}
	return (int)syscall(__NR_close_range, from, ~0u, 0);
}

/* Closes all descriptors of this process but these, which it sorts. Some of them can be -1. Returns -1 with errno on failure. */
static inline int close_all_but(int *excluded, size_t count)
{
	size_t first = 0;
	for (size_t i = 1; i < count; i++)
		for (size_t j = i; j > 0 && excluded[j] < excluded[j - 1]; j--) {
			int smaller = excluded[j];
			excluded[j] = excluded[j - 1];
			excluded[j - 1] = smaller;
		}
	while (first < count && excluded[first] < 0)
		first++;
	return close_others(0, excluded + first, count - first);
}

#endif
