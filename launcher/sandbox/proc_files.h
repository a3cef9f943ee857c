#ifndef ASSAY_SANDBOX_PROC_FILES_H
#define ASSAY_SANDBOX_PROC_FILES_H

#include <stdint.h>

#include "failure.h"

/*
 * The files in /proc of a sandbox whose content changes while it lives: loadavg, meminfo, stat and uptime. The kernel's own would show the machine, so the
 * holder writes them, with the numbers of the sandbox.
 *
 * They are in a tmpfs that only the holder can write to. The sandbox has it read-only at PROC_FILES_AT, and in place of each file in /proc a symbolic
 * link to the one there. A file is replaced by a rename, so a reader gets an old or a new file as a whole; a mount of the file itself would show the replaced one
 * for ever. A program that keeps a file open goes on to read the values of the moment at which it opened the file.
 */

#define PROC_FILES_AT "/proc/fs/sandbox"
#define PROC_FILES {"loadavg", "meminfo", "stat", "uptime"}

struct proc_files {
	int mount;     /* of the tmpfs, until it is attached to the mount namespace of the sandbox; -1: no more */
	int directory; /* its root directory, through a mount that can be written to */
	unsigned cpus;
	int64_t boot_time;      /* in seconds of the wall clock */
	uint64_t begin_ns;      /* when the sandbox was made, as now_ns() */
	uint64_t written_ns;    /* when the files were last written */
	uint64_t cpu_usec;      /* what the sandbox had used then */
	double load[3];         /* the average number of CPUs that it has used, in 1, 5 and 15 minutes */
};

/* What the files say of a sandbox. */
struct proc_values {
	uint64_t memory_limit, memory, files, shmem; /* bytes: charged to the sandbox, of these of files in memory and on disks, of these of files in memory */
	uint64_t cpu_usec, processes;
};

/* Makes the tmpfs, without files. Returns -1 with the failure. */
int proc_files_make(struct proc_files *p, struct failure *f);
/* Writes the files for the first time. `proc` is the directory /proc of the sandbox, whose cpuinfo says how many CPUs it shows. Returns -1 with the failure. */
int proc_files_begin(struct proc_files *p, int proc, const struct proc_values *values, struct failure *f);
/*
 * Writes the files anew. Returns -1 with errno if one of them stays as it was; ENOSPC: programs keep too many replaced ones open, which the size of the tmpfs
 * bounds, because their memory is not charged to the sandbox.
 */
int proc_files_write(struct proc_files *p, const struct proc_values *values);

#endif
