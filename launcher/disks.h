#ifndef ASSAY_DISKS_H
#define ASSAY_DISKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "failure.h"

/*
 * Disks: file systems for the files of sandboxes that are to be on the disk of the machine and not in memory.
 *
 * A disk is a file without a name. A loop device makes it a block device, and the file system on that, an ext4, bounds the bytes and the number of
 * the sandbox's files. All blocks of the file are reserved at once, so a sandbox has what it was promised, and none can fill the disk of the machine beyond the
 * bytes that the operator has set for all of them together.
 *
 * The file begins as a copy of a template: an empty file system of nearly the same size, which set-up has made (setup/disks.sh). So the launcher formats
 * nothing, and mounts only what root has made. No program of the sandbox can write to the blocks of the device that are not those of a file: a program of the
 * machine that looks for signatures there finds that of ext4 and no other.
 *
 * Nothing of a disk stays after its sandbox. The file has no name, its loop device is cleared with the last mount of the file system, and the mount is in the
 * mount namespace of the sandbox, which ends with its processes, however these end.
 *
 * Each disk has a process of the launcher, its ender, which waits until the holder of the sandbox ends the disk or dies. Then it shuts the file system down, so that
 * nothing is written any more that is thrown away anyway, waits until the device is cleared, and frees the file. It reads nothing that a program has written, and the
 * holder, which does, needs no right to do these things.
 */

enum { DISK_INODE_BYTES = 16384 /* a file system has one inode for so many bytes; setup/disks.sh says the same */ };

/* What disks are made of. */
struct disks {
	int directory; /* of templates and files; -1: there are no disks */
	int control;   /* /dev/loop-control */
	int devices;   /* the directory /dev of the machine */
	int blocks;    /* the directory /sys/block */
};

static inline struct disks disks_none(void)
{
	return (struct disks){-1, -1, -1, -1};
}

/* A disk while its sandbox lives. disk_none() is none. */
struct disk {
	int mount;   /* of its file system, until it is attached to a mount namespace; -1: there is none any more */
	int end;     /* a pipe, whose end ends the disk */
	int loop;    /* the number of the device */
	pid_t ender; /* -1: there is no disk */
};

static inline struct disk disk_none(void)
{
	return (struct disk){-1, -1, -1, -1};
}

/*
 * Opens what disks need, and proves it by a disk of the smallest size, if `most` bytes are enough for one. Returns -1 with the failure if the machine can have
 * none, such as in most containers.
 */
int disks_open(struct disks *d, const char *directory, uint64_t most, struct failure *f);
/* Closes it, in a process that makes no disk. */
void disks_close(struct disks *d);
/* Makes a disk of this size, for which there must be a template. On failure, nothing of it is left. */
int disk_make(const struct disks *d, uint64_t bytes, struct disk *disk, struct failure *f);
/*
 * Begins the end of a disk: soon, each further read and write of it fails, so that programs do not wait for it and the end of the mount writes no pages. Without
 * a disk, it does nothing.
 */
void disk_end(struct disk *disk);
/*
 * Ends a disk whose file system is no longer mounted anywhere else, and waits for at most `timeout_ms` until its loop device is cleared and its file is freed. Returns
 * whether they are.
 */
bool disk_await_ended(struct disk *disk, int timeout_ms);

#endif
