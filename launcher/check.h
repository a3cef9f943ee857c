#ifndef ASSAY_CHECK_H
#define ASSAY_CHECK_H

#include "box.h"

/*
 * Tries every control for real, one after another, and prints a JSON line for
 * each: {"check":..., "works":..., "detail":...}. Judges nothing: what a missing
 * one means is said by the service. Returns 0 when all that could be tried was.
 */
int check_print(struct launcher *l, const char *image);

#endif
