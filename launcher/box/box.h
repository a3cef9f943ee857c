#ifndef ASSAY_BOX_H
#define ASSAY_BOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "slot/resources.h"

/*
 * Sizes of pipes. A signal comes after the input that the client sent before it, so the pipe of live input must be able to take
 * all of that: 256 KiB, in pieces that can each leave half of a page unused.
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
	struct leaf *leaf; /* the lane's */
	pid_t init, program;
	int init_fd, program_fd;     /* pidfds */
	int mount_ns;                /* through which its file systems are unmounted after its end */
	int lifeline;                /* write end of a pipe; closing it ends the init, and with it the box */
	int go, ready;               /* eventfds */
	int stdin_fd, out_fd, err_fd; /* sealed memfd; read ends of pipes */
	int in_fd; /* write end of the pipe that a program with piped input reads in place of stdin_fd; otherwise -1 */
	bool reaped_init, reaped_program;
	bool mounted_work; /* it has mounted the work directory */
	bool runtime; /* its program is a runtime that has started and waits for its step */
	const char *control[CONTROL_COUNT]; /* "": it holds. Otherwise the reason why it is missing; NULL: it was not read. */
	uint64_t base_cpu_usec, base_full_usec, base_some_usec; /* counted before the step: see read_baseline() */
	int base_errno; /* the errno if one of them could not be read; otherwise 0 */
};

/* What the end of a box was like: facts, and everything that could not be removed. */
struct teardown {
	bool reaped;
	int populated; /* -1: it cannot be read */
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
 * Builds a box up to a program that waits to exec: in its cgroups, unprivileged, without capabilities, with
 * no_new_privs and seccomp. Verifies each control. Its work directory is the shared one of the slot, or a new one. If `piped`,
 * its standard input is a pipe from the slot.
 */
int box_build(struct slot *s, struct box *b, const struct shape *shape, bool piped, struct failure *f);
/* Ends the box, frees its lane and lists everything that could not be removed. */
void box_destroy(struct slot *s, struct box *b, struct teardown *t);
void box_kill(struct box *b);
/* Waits until a process of the box signals `ready`. */
int await_ready(const struct slot *s, struct box *b, int pidfd, const char *who, struct failure *f);
/*
 * Reads the counters that cannot be reset: what they count until now are earlier boxes of the leaf, and the building of this
 * one.
 */
void read_baseline(const struct groups *g, struct box *b);
/*
 * Makes the kernel collect cycles of Unix sockets that are in flight, because only that ends these sockets. The kernel does so
 * whenever a socket is closed.
 */
void collect_socket_cycles(void);

/* Records the namespaces and filters of the slot itself, with which controls_read() compares. -1 with errno. */
int controls_prepare(struct slot *s);
/* Reads from /proc which controls hold for the parked program (controls.c). */
void controls_read(const struct slot *s, struct box *b);
void control_note(struct box *b, enum control control, const char *why_missing);
bool control_applied(const struct box *b, enum control control);
/* Whether all of them hold. */
bool controls_applied(const struct box *b);
extern const char *const control_name[CONTROL_COUNT];

#endif
