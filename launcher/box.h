#ifndef ASSAY_BOX_H
#define ASSAY_BOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "cgroup.h"
#include "cpus.h"
#include "failure.h"

/* What the command line fixed for the life of the launcher; the service cannot change any of it. */
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
};

enum { BUILD_PATIENCE_MS = 10000 };
enum { LANES = 2, NAMESPACES = 6, CONTROLS_MOST = 24, HAND_SPACE = 512 * 1024, HAND_STRINGS = 256, PIPE_BYTES = 256 * 1024 };

/*
 * Shared with the parked program until it execs: what to run goes in, how far it
 * got comes out. After the exec the program has no memory of it.
 */
struct hand {
	struct rlimit rlimit[RLIM_NLIMITS];
	bool set[RLIM_NLIMITS];
	char *argv[HAND_STRINGS];
	char *envp[HAND_STRINGS];
	char fail_step[32];
	char fail_object[32];
	int fail_errno;
	uint64_t exec_ns;              /* CLOCK_MONOTONIC, just before the exec; 0 before that */
	struct rlimit read[RLIM_NLIMITS]; /* read back from the kernel after setting */
	char strings[];
};

/* What a box is built for. A parked box fits a request only when they are equal. */
struct shape {
	uint64_t work_bytes, work_inodes, tmp_bytes, tmp_inodes;
};

/* Pooled per slot: creating a network namespace costs more than a whole run. */
struct lane {
	uid_t uid;
	int netns, sockets; /* the second: its count of sockets */
	struct hand *hand;
	bool taken;
};

struct box {
	bool built;
	struct shape shape;
	struct lane *lane;
	struct leaf leaf;
	pid_t init, program;
	int init_fd, program_fd;     /* pidfds */
	int life;                    /* closing it ends the init, and with it the box */
	int go, ready;               /* eventfds */
	int stdin_fd, out_fd, err_fd; /* sealed memfd; read ends of the pipes */
	bool reaped_init, reaped_program;
	char control[CONTROLS_MOST][32], missing[CONTROLS_MOST][160];
	unsigned controls, missings;
	uint64_t base_cpu_usec, base_full_usec, base_some_usec;
};

struct slot {
	const struct launcher *launcher;
	unsigned number;
	int self_pid_ns, self_net_ns;
	int null; /* /dev/null, to be written to */
	uint64_t self_ns[NAMESPACES]; /* inodes of our own namespaces, in the order of controls.c */
	long self_filters; /* seccomp filters that we ourselves run under, and with us every program */
	struct lane lane[LANES];
	const struct lane *before; /* of the step that has used the work directory; none if it is fresh */
	int patience_ms; /* for a process of a box to get ready */
	unsigned boxes; /* built so far: part of the groups' names */
	bool work_mounted;
	bool own_image; /* root_own() could give it one */
	char mounts[16384]; /* the mount list of an idle slot */
};

/* Own mount namespace, lanes. */
int slot_prepare(struct slot *s, const struct launcher *l, unsigned number, struct failure *f);
/* The slot's mount list as text. -1 with errno. */
int slot_mounts(const struct slot *s, char *text, size_t size);

/* A fresh work directory at /box, or none. */
int work_mount(struct slot *s, const struct shape *shape, struct failure *f);
int work_unmount(struct slot *s, struct failure *f);
/* Bytes that /box holds now. With `f` a failure is noted there and -1 returned; without it a failure is 0 bytes. */
int64_t work_bytes(struct failure *f);
int work_write(struct slot *s, const char *name, const void *data, size_t size, struct failure *f);

/*
 * Builds a box up to a program that waits to exec: joined groups, dropped
 * identity, capabilities, no_new_privs, seccomp; and reads each control back.
 * The current /box becomes its work directory.
 */
int box_build(struct slot *s, struct box *b, const struct shape *shape, struct failure *f);
/* Ends what is left of the box and gives its lane back. Fills in what could not be removed. */
struct teardown {
	bool reaped;
	int populated; /* -1: this backend cannot tell */
	uint64_t pids_left;
	int zombies;
	char left[16][128];      /* groups */
	unsigned lefts;
	char mount[8][256];
	unsigned mounts;
	char error[8][160];
	unsigned errors;
};
void box_destroy(struct slot *s, struct box *b, struct teardown *t);
void box_kill(struct box *b);
/*
 * What was sent through a socket, and waits in one that only waits in another, ends
 * when the kernel collects such circles. It does so when any socket is closed.
 */
void collect_circles(void);

/* Notes which namespaces and filters are the slot's own. Returns -1 with errno. */
int controls_prepare(struct slot *s);
/* What the kernel says of the parked program, compared with what was asked (controls.c). */
void controls_read(const struct slot *s, struct box *b);
void control_note(struct box *b, const char *name, const char *why_missing);

/* The two processes of a box (inside.c); neither returns. */
struct inside {
	const struct shape *shape;
	uid_t uid;
	int init_pidfd, netns, proc, tasks[TREE_COUNT];
	int stdin_fd, out_fd, err_fd, go, ready, life;
	struct hand *hand;
};
_Noreturn void inside_init(const struct inside *in);
_Noreturn void inside_program(const struct inside *in);

uint64_t now_ns(void);
/* Closes a descriptor that may be -1, and makes it so. */
void shut(int *fd);

#endif
