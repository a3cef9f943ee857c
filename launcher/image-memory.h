#ifndef ASSAY_IMAGE_MEMORY_H
#define ASSAY_IMAGE_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

#include "failure.h"

/*
 * Locks the files of the image in memory until this process ends, if they have at most `most` bytes together.
 *
 * The kernel charges a page of a file to the group that reads the page first. Without the lock, that is the group of a box whenever
 * nobody has read the page since the boot, or the kernel has dropped it since: the memory figures of a run then depend on earlier
 * runs, and the time of a read shows other tenants which pages are in use. Worse, at the memory limit of the box the kernel tries to
 * reclaim such pages, and visits every mapping of each one. A program with 65,000 mappings makes one page fault last for seconds,
 * during which it uses CPU time and cannot be killed. With the lock, no page of the image is charged to a box.
 *
 * `bytes` receives the size of all files. The caller needs CAP_IPC_LOCK, which prepare() drops.
 * Returns -1 with a failure if the files are larger than `most` (EFBIG), or cannot be read or locked. Then no file is locked.
 */
int image_lock(const char *image, uint64_t most, uint64_t *bytes, struct failure *f);

/*
 * Locks the files in a child of its own, which does nothing else until the launcher ends. The image has more than ten thousand files, each with a
 * mapping of its own, and a fork visits all mappings of its process, even those that it does not pass on: it would take the launcher 5 ms longer to
 * start a slot. Returns the child when the files are locked, or -1 with a failure as image_lock() has it.
 */
pid_t image_keep(const char *image, uint64_t most, struct failure *f);

#endif
