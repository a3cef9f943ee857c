#ifndef ASSAY_CHECK_H
#define ASSAY_CHECK_H

#include "launcher.h"

/*
 * Tries every control in turn and prints a JSON line for each: {"check":..., "works":..., "detail":...}. `assay doctor` knows
 * which controls are required. At most `image_bytes` may be used to keep the image in memory. Returns 0 if a box could be built with all
 * controls that do not depend on a run, and was removed completely.
 */
int check_print(struct launcher *l, const char *image, uint64_t image_bytes);

#endif
