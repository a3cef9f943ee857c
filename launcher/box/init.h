#ifndef ASSAY_BOX_INIT_H
#define ASSAY_BOX_INIT_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "cgroup/cgroup.h"
#include "sandbox/root.h"

/*
 * What the slot passes to the two processes of a box, the init and the program. Both begin as copies of the slot, and become what they
 * are in init.c. box.c starts the init, and run/run.c the program.
 */

enum { EXEC_ARGS_BYTES = 512 * 1024, EXEC_ARGS_STRINGS = 256 };

/*
 * Namespaces that belong to a lane, and so to one box after the other. No program can leave anything there for the next one: sockets
 * are counted after each box (box.c), the filter refuses System V objects and message queues, and changing the host name or the
 * domain name needs a capability.
 */
enum { LANE_NAMESPACES = 3 };
static const struct { int flag; const char *name; } lane_namespaces[LANE_NAMESPACES] = {
	{CLONE_NEWNET, "net"}, {CLONE_NEWIPC, "ipc"}, {CLONE_NEWUTS, "uts"},
};

/* Descriptors of two eventfds in a parked program. A runtime inherits them; the exec of any other program closes them. */
enum { GO_FD = 3, READY_FD = 4 };
/* In a sandbox, the descriptor from which a parked program copies its input before the exec. The exec closes it. */
enum { SOURCE_FD = 5 };

/* F_SEAL_SEAL, SHRINK, GROW and WRITE: the program reads exactly what was sent. */
enum { STDIN_SEALS = 1 | 2 | 4 | 8 };
#ifndef F_ADD_SEALS
#define F_ADD_SEALS 1033
#endif

/* Why such a process failed before it was ready, or before its exec. It leaves this in memory that it shares with the slot. */
struct child_failure {
	char step[32]; /* empty: it has not failed */
	char object[32];
	int err;
};

/*
 * Memory shared with the parked program until its exec: the slot writes what to execute, the program writes its progress. The
 * exec unmaps it in the program.
 */
struct exec_args {
	bool runtime;                  /* the program is a runtime: it starts, writes to READY_FD, and waits on GO_FD for its step */
	struct rlimit rlimit[RLIM_NLIMITS];
	bool set[RLIM_NLIMITS];        /* which of these limits the program sets */
	char *argv[EXEC_ARGS_STRINGS];
	char *envp[EXEC_ARGS_STRINGS];
	char *directory;               /* in which the program starts; NULL: /box */
	bool search;                   /* the program is looked for in the directories of PATH, if its name has no slash */
	struct child_failure failure;
	uint64_t exec_ns;              /* CLOCK_MONOTONIC, just before the exec, or when a runtime gets its step; 0 until then */
	struct rlimit read[RLIM_NLIMITS]; /* these limits, read back from the kernel */
	char strings[];
};

/* Sizes of the file systems of a box. A parked box serves a request only if its sizes are those of the request. */
struct shape {
	uint64_t work_bytes, work_inodes, tmp_bytes, tmp_inodes;
};

enum { WORK_FLAGS = MS_NOSUID | MS_NODEV };

/* What the init of a box gets. */
struct init_args {
	struct shape shape;
	bool new_work; /* it mounts a new /box */
	const struct sandbox_root *sandbox; /* the box is a sandbox, and the init not filtered yet; NULL: it is the box of a step */
	int lifeline, ready;
	struct child_failure *failure;
};
_Noreturn void become_init(const struct init_args *args);

/* What the program of a run gets. */
struct program_args {
	uid_t uid;
	int init_pidfd, namespace_fd[LANE_NAMESPACES], proc, tasks[TREE_COUNT];
	int stdin_fd, out_fd, err_fd, go, ready;
	int source_fd; /* a file whose content the program copies to stdin_fd, so that it is charged to the group of the program; -1: none */
	bool terminal; /* stdin_fd, out_fd and err_fd are a terminal, which becomes the controlling one */
	struct exec_args *exec_args;
};
_Noreturn void become_program(const struct program_args *args);

#endif
