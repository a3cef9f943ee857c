#ifndef ASSAY_SANDBOX_ROOT_H
#define ASSAY_SANDBOX_ROOT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "failure.h"

/* What the root directory of a sandbox is made of. */
struct sandbox_root {
	uid_t uid;
	uint64_t disk, inodes;
	bool network;   /* it has a network, so names are resolved */
	int disk_mount; /* the mount of a disk (disks.h), with room for `disk` bytes and `inodes` files; -1: the files are in memory */
	int proc_mount; /* the mount of the files in /proc that the holder writes (proc_files.h) */
};

enum { TERMINALS_MAX = 16 /* terminals that a sandbox can have at the same time */ };

/*
 * Makes the calling process, whose root is the image and which has a mount namespace and a pid namespace of its own, see the root directory of
 * a sandbox: the image below a layer in memory that contains everything that differs from the image. Needs all calls that a filter
 * refuses.
 */
int sandbox_root_enter(const struct sandbox_root *root, struct failure *f);

/*
 * Covers each entry of the directory /proc of a sandbox that is neither one of the sandbox's own nor replaced by a file of
 * sandbox_root_enter(), such as one that a kernel module has made meanwhile. Call it in the mount namespace of the sandbox. Returns how many it
 * has covered, or -1 with errno.
 */
int sandbox_proc_cover(void);
/*
 * Returns how many entries of a sandbox's /proc, which is open as `proc`, show something of the machine, or one more if the mount of the files that the holder
 * writes there is not read-only. -1: it cannot be read.
 */
int sandbox_proc_uncovered(int proc);

#endif
