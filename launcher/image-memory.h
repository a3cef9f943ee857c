#ifndef ASSAY_IMAGE_MEMORY_H
#define ASSAY_IMAGE_MEMORY_H

#include <stdint.h>

#include "failure.h"

/*
 * Keeps the files of an image in memory until this process ends, if they have at most `most` bytes.
 *
 * The kernel charges a page of a file to the group that reads it first. Without this, that group is a box's whenever nobody has read
 * the page since the boot, or the kernel has dropped it since: the memory figures of a run then depend on earlier runs, and
 * the time of a read shows other tenants what is in use. Worse, at the memory limit of the box the kernel tries to reclaim
 * such pages, and visits every mapping of each one. A program with 65,000 mappings makes one page fault last for
 * seconds, during which it uses CPU time and cannot be killed. With this, a box has no page that can be reclaimed.
 *
 * `bytes` receives the size of all files. The caller needs CAP_IPC_LOCK, which prepare() drops.
 * Returns -1 with a failure if the files are larger (EFBIG) or cannot be locked. Then none of them is.
 */
int image_lock(const char *image, uint64_t most, uint64_t *bytes, struct failure *f);

#endif
