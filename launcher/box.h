#ifndef ASSAY_BOX_H
#define ASSAY_BOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cgroup.h"
#include "cpus.h"
#include "failure.h"
#include "box-init.h"

/* Fixed by the command line for the life of the launcher; the service cannot change it. */
struct launcher {
	const char *instance;
	const char *build;
	uid_t uid_base;
	unsigned slots;
	struct groups groups;
	int proc;       /* the host's /proc, opened before the root was changed */
	int signal_map; /* see signals.h; -1 without BPF */
	struct cpus *cpus;
	char kernel[96];
	uint64_t lookup_ns; /* the shortest time of a look-up of a name, before any box has run (supervise-locks.c) */
};

enum { BUILD_TIMEOUT_MS = 10000 };
/*
 * Sizes of pipes. Signals come after the input before them, so the pipe of live input has room for all of it: 256 KiB, in
 * pieces that can each leave half of a page unused.
 */
enum { PIPE_BYTES = 256 * 1024, INPUT_PIPE_BYTES = 2 * PIPE_BYTES };
enum { LANES = 2, NAMESPACES = 6 };

enum control {
#define CONTROL(name) CONTROL_##name,
#include "controls.def"
#undef CONTROL
	CONTROL_COUNT
};

/* Pooled for each slot: creating its namespaces takes longer than a whole run. */
struct lane {
	uid_t uid;
	int space[LANE_SPACES];
	int sockets; /* count of those in its network */
	struct exec_args *exec_args;
	struct leaf leaf;
	bool taken;
};

struct box {
	bool built;
	struct shape shape;
	struct lane *lane;
	struct leaf *leaf; /* of the lane */
	pid_t init, program;
	int init_fd, program_fd;     /* pidfds */
	int mount_ns;                /* to unmount its file systems after its end */
	int lifeline;                /* write end of a pipe; closing it ends the init, and with it the box */
	int go, ready;               /* eventfds */
	int stdin_fd, out_fd, err_fd; /* sealed memfd; read ends of pipes */
	int in_fd; /* write end of the pipe that a piped program reads in place of stdin_fd; otherwise -1 */
	bool reaped_init, reaped_program;
	bool own_work; /* it has mounted the work directory */
	bool runtime; /* its program is a runtime that has started and waits for its step */
	const char *control[CONTROL_COUNT]; /* "": applied. Otherwise the reason why it is missing; NULL: not read. */
	uint64_t base_cpu_usec, base_full_usec, base_some_usec;
	int base_errno; /* one of them could not be read; otherwise 0 */
};

struct slot {
	const struct launcher *launcher;
	unsigned number;
	int self_pid_ns, self_mount_ns;
	int null; /* /dev/null, for writing */
	int cpu_tasks; /* groups_join() */
	uint64_t self_ns[NAMESPACES]; /* inodes of the slot's namespaces, in the order of controls.c */
	long self_filter_count; /* seccomp filters of the slot, which every program inherits */
	struct lane lane[LANES];
	const struct lane *before; /* lane of the last step that used the work directory; NULL if none did */
	int timeout_ms; /* for a process of a box to become ready */
	int work;         /* root of the work directory; -1: the next box gets a new one */
	bool work_shared; /* it is mounted in the slot as well, and the boxes that are built then have it */
	bool own_image; /* root_overlay() succeeded */
	char mounts[16384]; /* mountinfo of an idle slot */
};

/* Opens a file in the host's /proc for reading. -1 with errno. */
int open_proc(const struct launcher *l, const char *path);

/*
 * Creates the slot's mount namespace and lanes, and gives the calling process what programs inherit from it: no groups, no
 * keys of the launcher, fixed limits and the filter. Not reversible.
 */
int slot_prepare(struct slot *s, const struct launcher *l, unsigned number, struct failure *f);
/* The slot's mountinfo as text. -1 with errno. */
int slot_mounts(const struct slot *s, char *text, size_t size);

/* Returns from the mount namespace of a box, or ends the process: a slot must not continue there. */
void leave_box(const struct slot *s);
/* Leaves the work directory: it ends with the last box that has it, and the next box gets a new one. */
int work_leave(struct slot *s, struct failure *f);
/* Gives the work directory of the box to the boxes that are built from now on. */
int work_share(struct slot *s, const struct box *b, struct failure *f);
/* Bytes that the work directory holds. On failure: -1 with the failure in `f`, or 0 if `f` is NULL. */
int64_t work_bytes(const struct slot *s, struct failure *f);
/*
 * Whether the kernel stores a large file of the work directory in large pieces, which saves 0.9 ms for 2 MiB. Only for files
 * that the slot writes: a sparse file of a program would take memory that the program does not use. -1 with errno: the
 * kernel cannot.
 */
int work_store_large(const struct slot *s, const struct box *b, bool large);
int work_write(struct slot *s, const char *name, const void *data, size_t size, unsigned mode, struct failure *f);

/*
 * Builds a box up to a program that waits to exec: in its cgroups, unprivileged, without capabilities, with
 * no_new_privs and seccomp. Verifies each control. Its work directory is the shared directory, or a new one. Its standard
 * input is a pipe from the slot if `piped`.
 */
int box_build(struct slot *s, struct box *b, const struct shape *shape, bool piped, struct failure *f);
/* Ends the box, frees its lane and lists everything that could not be removed. */
struct teardown {
	bool reaped;
	int populated; /* -1: cannot be read */
	uint64_t pids_left;
	int zombies;
	char left[16][128];      /* groups */
	unsigned left_count;
	char mount[8][256];
	unsigned mounts;
	char error[8][160];
	unsigned errors;
};
void box_destroy(struct slot *s, struct box *b, struct teardown *t);
void box_kill(struct box *b);
/* Waits until a process of the box signals `ready`. */
int await_ready(const struct slot *s, struct box *b, int pidfd, const char *who, struct failure *f);
/* What was counted before is not the step's: the cost of setting up, and earlier boxes of the leaf. */
void read_baseline(const struct groups *g, struct box *b);
/*
 * Sockets that are in flight in a cycle of Unix sockets end only when the kernel collects such cycles, which it does
 * whenever a socket is closed.
 */
void collect_socket_cycles(void);

/* Records the namespaces and filters of the slot itself. -1 with errno. */
int controls_prepare(struct slot *s);
/* Compares the state of the parked program in /proc with the request (controls.c). */
void controls_read(const struct slot *s, struct box *b);
void control_note(struct box *b, enum control control, const char *why_missing);
bool control_applied(const struct box *b, enum control control);
bool controls_applied(const struct box *b); /* all of them */
extern const char *const control_name[CONTROL_COUNT];

/* Closes a descriptor unless it is -1, and sets it to -1. */
void close_fd(int *fd);

#endif
