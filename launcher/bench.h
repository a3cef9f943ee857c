#ifndef ASSAY_BENCH_H
#define ASSAY_BENCH_H

#include "box.h"

/* Reads the program to measure with, before the root changes. Returns -1 with errno. */
int bench_load(const char *path);
/* Measures warm boxes against bare vfork+exec, prints one JSON object. Returns an exit status. */
int bench_print(struct launcher *l, unsigned runs);

#endif
