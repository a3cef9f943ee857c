#ifndef ASSAY_SLOT_RESOURCES_H
#define ASSAY_SLOT_RESOURCES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "box/init.h"
#include "failure.h"
#include "launcher.h"
#include "seccomp.h"

/*
 * What a slot owns for its life and lends to its boxes and runs. box/, run/ and supervise/ use it; slot.c, check.c and the benchmark
 * create it.
 */

enum { BUILD_TIMEOUT_MS = 10000 };
enum { LANES = 2, RUN_LANES = LANES, NAMESPACES = 6 };

/*
 * What two boxes of a slot must not share at the same time. A lane serves one box after the other, because creating its namespaces
 * takes longer than a run.
 */
struct lane {
	uid_t uid;
	int namespace_fd[LANE_NAMESPACES];
	int sockets; /* /proc/net/sockstat of its network namespace, which counts the sockets */
	struct child_failure *failure; /* shared with the init of the box until that is ready */
	bool in_use;
};

/* What two runs of a slot must not share at the same time. A run lane serves one run after the other. */
struct run_lane {
	struct leaf leaf;
	struct exec_args *exec_args;
	bool in_use;
};

struct slot {
	const struct launcher *launcher;
	unsigned number;
	int self_pid_ns, self_mount_ns;
	int dev_null; /* /dev/null, for writing */
	int cpu_group_tasks; /* `tasks` of the group of TREE_CPU for the programs of the slot; -1: there is none (groups_join()) */
	uint64_t self_ns[NAMESPACES]; /* inodes of the slot's namespaces, in the order of run/controls.c */
	long self_filter_count; /* how many seccomp filters the slot has before its own; every program inherits them */
	struct lane lane[LANES];
	struct run_lane run_lane[RUN_LANES];
	const struct lane *previous_lane; /* the lane of the last step that used the work directory; NULL if none did */
	int timeout_ms; /* how long a process of a box may take to become ready */
	bool work_shared; /* a work directory is mounted in the slot as well, and boxes that are built from now on have it */
	bool own_image; /* image_overlay() succeeded */
	bool unclean; /* a failed build has left something behind, so the slot serves no further request */
	char mounts[16384]; /* mountinfo of an idle slot */
};

/*
 * Makes the calling process a slot: creates its mount namespace, lanes and run lanes, and gives it what programs inherit from it: no
 * supplementary groups, no keyring of the launcher, fixed limits and the filter. This cannot be undone.
 */
int slot_prepare(struct slot *s, const struct launcher *l, unsigned number, struct failure *f);
/*
 * Both make the calling process part of a sandbox: its holder, which has one lane with the user of this number among the holders, or an
 * attached slot, which has no lane of its own. The holder is confined later (slot_confine()), because it must first make its sandbox.
 */
int slot_prepare_holder(struct slot *s, const struct launcher *l, unsigned number, unsigned holder, struct failure *f);
int slot_prepare_attached(struct slot *s, const struct launcher *l, unsigned number, struct failure *f);
/* Takes from the process what it does not need, and installs its filter. */
int slot_confine(unsigned columns, struct failure *f);
/* Reads the slot's mountinfo as text. Returns -1 with errno on failure. */
int slot_mounts(const struct slot *s, char *text, size_t size);
/* Returns to the slot's own mount namespace from that of a box. Ends the process on failure, because a slot must not continue there. */
void slot_return(const struct slot *s);

#endif
