#ifndef ASSAY_LAUNCHER_H
#define ASSAY_LAUNCHER_H

#include <fcntl.h>
#include <stdint.h>
#include <sys/types.h>

#include "cgroup/cgroup.h"
#include "cgroup/sandboxes.h"
#include "cpus.h"
#include "disks.h"
#include "locks.h"
#include "loopback.h"
#include "seccomp.h"

/*
 * What the processes that serve connections tell the launcher, which reads no message. It is in memory that all of them share, and that no process of a box
 * has: a program could otherwise change it before its exec.
 */
struct process_note {
	uint64_t kept_until_ns; /* when its client has left: until then, it may wait for the next one */
	unsigned given_to;      /* 1 + the number of the process that has got its connection; 0: none has */
	uint32_t account;       /* of a holder: that of its sandbox */
	uint64_t disk;          /* of a holder: bytes of the disk of its sandbox */
	unsigned stays_with;    /* 1 + the number of the holder with which it stays although its client has left; 0: it does not */
};

/* What the command line and the machine fix for the life of the launcher. Slots inherit it by fork; no client can change it. */
struct launcher {
	const char *instance;
	const char *build; /* hash of the sources */
	uid_t uid_base;
	unsigned slots;
	unsigned holders;  /* sandboxes at most; 0: none are served */
	pid_t image_keeper; /* the child that keeps the image in memory; 0 or -1: none does */
	bool sandboxes_if_possible; /* nobody has asked for sandboxes, so a machine that can have none is no reason to end */
	unsigned attached; /* connections for executions in sandboxes at most */
	uint64_t sandbox_memory; /* of all sandboxes together */
	const char *disk_directory; /* where disks of sandboxes are (disks.h) */
	uint64_t disk_bytes; /* of all disks together; 0: there are none */
	const char *egress_directory; /* of the socket of the proxy for sandboxes with a network; NULL: there are none */
	int egress;        /* that directory; -1: sandboxes have no network */
	gid_t egress_gid;  /* its group, which relays have; 0: they have one of their own */
	int egress_namespace; /* an empty network namespace, in which all relays are: they serve sockets of other namespaces (egress/relay.c) */
	uint64_t keep_ns;  /* how long a sandbox whose client has left waits for the next one; 0: not at all */
	char name[17];     /* LAUNCHER in HELLO: random, for the life of this process */
	struct process_note *notes; /* of each process that serves a connection, by its number */
	struct groups groups;
	struct group_set sandboxes;
	int sockets;    /* a directory for the sockets between holders and attached slots, in a file system that is mounted nowhere; -1: none */
	int proc;       /* the host's /proc, opened before the root was changed */
	int signal_map; /* the BPF map of signals.h; -1: the kernel does not permit it, so no signals are counted */
	bool has_loopback; /* whether the operator permits sockets in sandboxes */
	struct loopback loopback; /* sockets in sandboxes */
	struct locks locks; /* in sandboxes */
	struct disks disks; /* of sandboxes */
	struct cpus *cpus;
	char kernel[96];
	uint64_t lookup_ns; /* the time of a look-up of a file name before any box has run (supervise/rename-lock.c) */
};

enum { SLOTS_MAX = 1024, HOLDERS_MAX_NUMBER = 4096, ATTACHED_CONNECTIONS_MAX = 1024, ATTACHED_OF_ONE = 17 };

static inline size_t notes_size(const struct launcher *l)
{
	return (l->slots + l->holders + l->attached) * sizeof *l->notes;
}

/* The columns of seccomp.def for programs in sandboxes. */
static inline unsigned sandbox_columns(const struct launcher *l)
{
	return SECCOMP_SANDBOX | (l->loopback.counts >= 0 ? SECCOMP_LOOPBACK : 0) | (l->locks.sandboxes >= 0 ? SECCOMP_LOCKS : 0);
}

/* Opens a file of the host's /proc for reading. Returns -1 with errno on failure. */
static inline int open_proc(const struct launcher *l, const char *path)
{
	return openat(l->proc, path, O_RDONLY | O_CLOEXEC);
}

#endif
