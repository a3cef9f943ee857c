#ifndef ASSAY_DESCRIPTORS_H
#define ASSAY_DESCRIPTORS_H

#include <unistd.h>

/* Closes a descriptor unless it is -1, and sets it to -1. */
static inline void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

#endif
