#ifndef ASSAY_CLOCK_H
#define ASSAY_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t now_ns(void);

#endif
