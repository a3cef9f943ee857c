#ifndef ASSAY_BOX_H
#define ASSAY_BOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "slot/resources.h"
#include "wire/wire.h"

/*
 * A box: namespaces, a work directory and other file systems of a fixed shape, and the init that keeps them. Its init runs no program;
 * run/run.h has the programs that run in it. It is built before them, and destroyed after their end.
 */
struct box {
	bool built;
	struct shape shape;
	const struct groups *groups; /* the runs in this box have their leaves below these groups, which are those of the launcher */
	struct lane *lane; /* its user, and its network, IPC and UTS namespaces */
	pid_t init;
	int init_fd;  /* pidfd */
	int mount_ns; /* the mount namespace, through which the file systems are unmounted after the end of the box */
	int lifeline; /* write end of a pipe; closing it ends the init, and with it the box */
	int work;     /* root of the work directory */
	/*
	 * Set if the box is a sandbox that another process holds, and this process only runs programs in it. Then `init`, `init_fd`, `groups` and
	 * `lane` are those of the holder.
	 */
	bool attached;
	int terminals; /* the directory /dev/pts of a sandbox; -1: the box is none */
	bool reaped;  /* the init has been reaped */
};

/* The end of a box and of its run: facts about it, and everything that could not be removed. */
struct teardown {
	bool reaped;   /* all processes that the slot started for them */
	int populated; /* -1: the kernel's answer could not be read */
	uint64_t pids_left;
	int zombies;
	char leftover[16][128]; /* cgroups, memory, sockets */
	unsigned leftovers;
	char mount[8][256];
	unsigned mounts;
	char error[8][160];
	unsigned errors;
};

/*
 * Builds a box, which has all its mounts when this returns. Its work directory is the one that the slot shares, if it shares one, and
 * otherwise a new one. Returns -1 with the failure, after which the caller destroys what was built.
 */
int box_build(struct slot *s, struct box *b, const struct shape *shape, struct failure *f);
/* Builds the box of a sandbox. The calling process must not have its filter yet. On failure, the same holds as for box_build(). */
int box_build_sandbox(struct slot *s, struct box *b, const struct sandbox_root *root, struct failure *f);
/*
 * Ends the box, frees its lane, and lists everything that could not be removed. Call it when the programs of the box have been reaped
 * (run_end()): its pid namespace, and so its init, cannot end before.
 */
void box_destroy(struct slot *s, struct box *b, struct teardown *t);
/* Kills all processes of the box, and does not wait for their end. */
void box_kill(struct box *b);

/* ---- what a box and a run have in common ---- */

/*
 * Makes a child, in the v2 cgroup `group` unless that is -1. The child must not use the state of the slot, because it does not have
 * that memory (unforked-memory.h). Returns -1 with errno on failure.
 */
pid_t clone_into(uint64_t flags, int *pidfd, int group);
/*
 * Waits until a child writes to the eventfd `ready`. Returns -1 with the failure if the child reports one in `why`, dies, or takes longer
 * than `timeout_ms`.
 */
int await_ready(int ready, int pidfd, const struct child_failure *why, int timeout_ms, const char *who, struct failure *f);
/* Reaps a killed child, unless `reaped` says that this was done. Returns whether it is reaped; false if it does not end in time. */
bool reap_child(int pidfd, bool *reaped);
void teardown_error(struct teardown *t, const char *what, int err);
/* Notes what is left. `context` is a struct teardown. */
void teardown_leftover(void *context, const char *text);
/*
 * Makes the kernel collect cycles of Unix sockets that are in flight (sent in messages of each other), because nothing else ends these
 * sockets. The kernel does so whenever a Unix socket is closed.
 */
void collect_socket_cycles(void);

/* ---- the work directory of a box (work.c) ---- */

/* Shares the work directory of this box with the boxes that are built from now on. */
int work_share(struct slot *s, const struct box *b, struct failure *f);
/* Ends the sharing: the kernel frees the work directory with the last box that has it, and the next box gets a new one. */
int work_release(struct slot *s, struct failure *f);
/* Returns how many bytes the work directory contains, or -1 with the failure. */
int64_t work_bytes(const struct box *b, struct failure *f);
/* Writes the files of a request into the work directory of a box, which no payload has used. */
int work_write_files(const struct slot *s, const struct box *b, const struct request *r, struct failure *f);
/*
 * Creates a file or directory, and its parents, in a work directory that no payload has used. `work` is the root of the directory, and
 * `mode` a mode as in FILE_MODES (protocol.def), which can be MODE_DEFAULT.
 */
int work_write_file(int work, const char *name, const void *data, size_t size, unsigned mode, struct failure *f);

#endif
