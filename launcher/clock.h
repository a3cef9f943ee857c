#ifndef ASSAY_CLOCK_H
#define ASSAY_CLOCK_H

#include <stdint.h>

/* The time of CLOCK_MONOTONIC in nanoseconds. */
uint64_t now_ns(void);

#endif
