#ifndef ASSAY_CHECK_H
#define ASSAY_CHECK_H

#include "launcher.h"

/*
 * Tries every control in turn and prints a JSON line for each: {"check":..., "works":..., "detail":...}. The service
 * decides the consequence of a missing one. At most `image_bytes` may be used to keep the image in memory. Returns 0 if all
 * checks could be run.
 */
int check_print(struct launcher *l, const char *image, uint64_t image_bytes);

#endif
