#ifndef ASSAY_SLOT_RESOURCES_H
#define ASSAY_SLOT_RESOURCES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "box/init.h"
#include "failure.h"
#include "launcher.h"

/* What a slot owns for its life and lends to its boxes. box/ and supervise/ use it; slot.c, check.c and the benchmark create it. */

enum { BUILD_TIMEOUT_MS = 10000 };
enum { LANES = 2, NAMESPACES = 6 };

/*
 * What two boxes of a slot must not share at the same time. A lane serves one box after the other, because creating its namespaces
 * takes longer than a run.
 */
struct lane {
	uid_t uid;
	int namespace_fd[LANE_NAMESPACES];
	int sockets; /* /proc/net/sockstat of its network namespace, which counts the sockets */
	struct exec_args *exec_args;
	struct leaf leaf;
	bool in_use;
};

struct slot {
	const struct launcher *launcher;
	unsigned number;
	int self_pid_ns, self_mount_ns;
	int dev_null; /* /dev/null, for writing */
	int cpu_group_tasks; /* `tasks` of the group of TREE_CPU for the programs of the slot; -1: there is none (groups_join()) */
	uint64_t self_ns[NAMESPACES]; /* inodes of the slot's namespaces, in the order of box/controls.c */
	long self_filter_count; /* how many seccomp filters the slot has before its own; every program inherits them */
	struct lane lane[LANES];
	const struct lane *previous_lane; /* the lane of the last step that used the work directory; NULL if none did */
	int timeout_ms; /* how long a process of a box may take to become ready */
	int work;         /* root of the work directory; -1: the next box gets a new one */
	bool work_shared; /* the work directory is mounted in the slot as well, and boxes that are built from now on have it */
	bool own_image; /* image_overlay() succeeded */
	char mounts[16384]; /* mountinfo of an idle slot */
};

/*
 * Makes the calling process a slot: creates its mount namespace and lanes, and gives it what programs inherit from it: no
 * supplementary groups, no keyring of the launcher, fixed limits and the filter. This cannot be undone.
 */
int slot_prepare(struct slot *s, const struct launcher *l, unsigned number, struct failure *f);
/* Reads the slot's mountinfo as text. Returns -1 with errno on failure. */
int slot_mounts(const struct slot *s, char *text, size_t size);
/* Returns to the slot's own mount namespace from that of a box. Ends the process on failure, because a slot must not continue there. */
void slot_return(const struct slot *s);

struct box;
/* Gives up the work directory: the kernel frees it with the last box that has it, and the next box gets a new one. */
int work_release(struct slot *s, struct failure *f);
/* Shares the work directory of this box with the boxes that are built from now on. */
int work_share(struct slot *s, const struct box *b, struct failure *f);
/* Bytes that the work directory contains. On failure: -1 with the failure in `f`, or 0 if `f` is NULL. */
int64_t work_bytes(const struct slot *s, struct failure *f);
/*
 * Sets whether the kernel stores large files of the work directory in huge pages, which saves 0.9 ms for 2 MiB. The slot uses
 * them only for files that it writes itself: a sparse file of a program would take memory that the program does not use.
 * Returns -1 with errno if the kernel cannot.
 */
int work_use_huge_pages(const struct slot *s, const struct box *b, bool huge);
/*
 * Creates a file or directory, and its parents, in a work directory that no payload has used. `mode` is a mode as in FILE_MODES
 * (protocol.def), which can be MODE_DEFAULT.
 */
int work_write_file(struct slot *s, const char *name, const void *data, size_t size, unsigned mode, struct failure *f);

#endif
