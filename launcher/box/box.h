#ifndef ASSAY_BOX_H
#define ASSAY_BOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "slot/resources.h"

/*
 * Sizes of pipes. The slot sends a signal only after it has written all input that the client sent before the signal. The pipe of
 * live input must therefore have space for all input of a run, 256 KiB, even if pieces of it each leave half of a page unused.
 */
enum { PIPE_BYTES = 256 * 1024, INPUT_PIPE_BYTES = 2 * PIPE_BYTES };

enum control {
#define CONTROL(name) CONTROL_##name,
#include "controls.def"
#undef CONTROL
	CONTROL_COUNT
};

struct box {
	bool built;
	struct shape shape;
	struct lane *lane;
	struct leaf *leaf; /* the leaf of the lane */
	pid_t init, program;
	int init_fd, program_fd;     /* pidfds */
	int mount_ns;                /* the mount namespace, through which the file systems are unmounted after the end of the box */
	int lifeline;                /* write end of a pipe; closing it ends the init, and with it the box */
	int go, ready;               /* eventfds */
	int stdin_fd, out_fd, err_fd; /* sealed memfd; read ends of pipes */
	int in_fd; /* write end of the pipe that a program with piped input reads in place of stdin_fd; otherwise -1 */
	bool reaped_init, reaped_program;
	bool mounted_work; /* the init of this box has mounted the work directory */
	bool runtime; /* the program is a runtime that has started and waits for its step */
	const char *control[CONTROL_COUNT]; /* "": the control holds; NULL: it was not read; otherwise the reason why it is missing */
	uint64_t base_cpu_usec, base_full_usec, base_some_usec; /* counters at the start of the step: see read_baseline() */
	int base_errno; /* the errno if one of these counters could not be read; otherwise 0 */
};

/* The end of a box: facts about it, and everything that could not be removed. */
struct teardown {
	bool reaped;   /* both processes of the box */
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
 * Builds a box in which a program waits to exec: in the cgroups of the box, unprivileged, without capabilities, with
 * no_new_privs and seccomp. Reads back which controls hold. The work directory is the one that the slot shares, if it shares one,
 * and otherwise a new one. If `piped`, the standard input of the program is a pipe from the slot. On failure, destroys what was built,
 * and returns -1 with the failure.
 */
int box_build(struct slot *s, struct box *b, const struct shape *shape, bool piped, struct failure *f);
/* Ends the box, frees its lane and lists everything that could not be removed. */
void box_destroy(struct slot *s, struct box *b, struct teardown *t);
/* Kills all processes of the box, and does not wait for their end. */
void box_kill(struct box *b);
/* Waits until the process with this pidfd signals `ready`. Returns -1 with the failure if it fails, dies or takes too long. */
int await_ready(const struct slot *s, struct box *b, int pidfd, const char *who, struct failure *f);
/*
 * Reads the counters that cannot be reset. Until now they have counted earlier boxes of the leaf and the building of this one, which
 * read_counters() in supervise/supervise.c later subtracts.
 */
void read_baseline(const struct groups *g, struct box *b);
/*
 * Makes the kernel collect cycles of Unix sockets that are in flight (sent in messages of each other), because nothing else ends these
 * sockets. The kernel does so whenever a Unix socket is closed.
 */
void collect_socket_cycles(void);

/*
 * Records the namespaces of the slot, and how many filters it has before its own, for comparison in controls_read(). Returns -1 if
 * these cannot be read.
 */
int controls_prepare(struct slot *s);
/* Reads from /proc which controls hold for the parked program (controls.c). */
void controls_read(const struct slot *s, struct box *b);
/* Records that a control holds (`why_missing` is NULL), or why it is missing. */
void control_note(struct box *b, enum control control, const char *why_missing);
bool control_applied(const struct box *b, enum control control);
/* Whether all controls hold. */
bool controls_applied(const struct box *b);
extern const char *const control_name[CONTROL_COUNT];

#endif
