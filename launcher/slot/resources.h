#ifndef ASSAY_SLOT_RESOURCES_H
#define ASSAY_SLOT_RESOURCES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "box/init.h"
#include "failure.h"
#include "launcher.h"

/* What a slot owns for its life and lends to its boxes. box/ and supervise/ use it; slot.c and the benchmark create it. */

enum { BUILD_TIMEOUT_MS = 10000 };
enum { LANES = 2, NAMESPACES = 6 };

/*
 * What two boxes of a slot may not share at one time. It is used again and again: creating its namespaces takes longer than a
 * run.
 */
struct lane {
	uid_t uid;
	int namespace_fd[LANE_NAMESPACES];
	int sockets; /* /proc/net/sockstat of its network, which counts the sockets */
	struct exec_args *exec_args;
	struct leaf leaf;
	bool in_use;
};

struct slot {
	const struct launcher *launcher;
	unsigned number;
	int self_pid_ns, self_mount_ns;
	int dev_null; /* /dev/null, for writing */
	int cpu_group_tasks; /* from groups_join() */
	uint64_t self_ns[NAMESPACES]; /* inodes of the slot's namespaces, in the order of box/controls.c */
	long self_filter_count; /* seccomp filters of the slot, which every program inherits */
	struct lane lane[LANES];
	const struct lane *previous_lane; /* the lane of the last step that used the work directory; NULL if none did */
	int timeout_ms; /* how long a process of a box may take to become ready */
	int work;         /* root of the work directory; -1: the next box gets a new one */
	bool work_shared; /* it is mounted in the slot as well, and the boxes that are built from now on have it */
	bool own_image; /* image_overlay() succeeded */
	char mounts[16384]; /* mountinfo of an idle slot */
};

/*
 * Creates the slot's mount namespace and lanes, and gives the calling process what programs inherit from it: no groups, no
 * keys of the launcher, fixed limits and the filter. It cannot be undone.
 */
int slot_prepare(struct slot *s, const struct launcher *l, unsigned number, struct failure *f);
/* Reads the slot's mountinfo as text. -1 with errno. */
int slot_mounts(const struct slot *s, char *text, size_t size);
/* Returns from the mount namespace of a box, or ends the process, because a slot must not continue there. */
void slot_return(const struct slot *s);

struct box;
/* Gives up the work directory: it ends with the last box that has it, and the next box gets a new one. */
int work_release(struct slot *s, struct failure *f);
/* Gives the work directory of this box to the boxes that are built from now on. */
int work_share(struct slot *s, const struct box *b, struct failure *f);
/* Bytes that the work directory contains. On failure: -1 with the failure in `f`, or 0 if `f` is NULL. */
int64_t work_bytes(const struct slot *s, struct failure *f);
/*
 * Sets whether the kernel stores large files of the work directory in huge pages, which saves 0.9 ms for 2 MiB. The slot uses
 * them only for files that it writes itself: a sparse file of a program would take memory that the program does not use.
 * -1 with errno if the kernel cannot.
 */
int work_use_huge_pages(const struct slot *s, const struct box *b, bool huge);
/* Creates a file or directory, and its parents, in a work directory that no payload has used. `mode` is a value of FILE_MODES. */
int work_write_file(struct slot *s, const char *name, const void *data, size_t size, unsigned mode, struct failure *f);

#endif
