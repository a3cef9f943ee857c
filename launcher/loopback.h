#ifndef ASSAY_LOOPBACK_H
#define ASSAY_LOOPBACK_H

#include <stdbool.h>
#include <stdint.h>

#include "cgroup/sandboxes.h"
#include "failure.h"

/*
 * Sockets of the Internet protocols inside a sandbox. Its network namespace has the interface `lo` and no other, so that packets reach only
 * sockets of the same sandbox.
 *
 * What such sockets hold is charged to no group on cgroup v1. Even on v2, connections that nobody has accepted are not, nor those that go
 * on after both programs have closed them. So their number is limited, exactly, by BPF programs on the group of the sandbox, and what each may
 * hold by settings of the namespace. The programs count:
 *
 *   sockets    that a program has made and not closed
 *   datagrams  those of them that are of UDP
 *   ends       sockets of TCP from the SYN of their first connection until the kernel destroys them and frees their data, whether a program has
 *              them or not. One that was reset still holds what it has received, so it counts until it is closed. One that waits for a
 *              listener counts twice, because the other end of the connection is not made yet.
 *
 * Beyond a limit, socket() and connect() fail with ENOBUFS.
 */
struct loopback_counts {
	uint64_t sockets, datagrams, ends;
	uint64_t most_sockets, most_datagrams, most_ends;
	uint64_t owner; /* the number of the holder, by which the entry of a dead one can be deleted */
};

/* What one socket may hold, in bytes, that may be charged to nobody. */
enum {
	LOOPBACK_BUFFER_BYTES = 64 << 10, /* of each direction of a TCP connection (tcp_rmem, tcp_wmem) */
	LOOPBACK_BACKLOG = 128, LOOPBACK_TIME_WAITS = 256,
	LOOPBACK_ENDS_MOST = 256, /* of a sandbox */
};

/* The BPF programs of all sandboxes. */
enum { LOOPBACK_PROGRAMS = 5 };
struct loopback {
	int counts; /* the map of struct loopback_counts by the number of a group; -1: there is none, so sandboxes have no such sockets */
	int group;  /* storage of a group, in which a program finds that number */
	int settings; /* a /proc that is mounted nowhere, by which holders set what their namespace of the network has */
	uint64_t datagram_bytes; /* what a socket of UDP may hold: the machine's default of both buffers */
	int program[LOOPBACK_PROGRAMS];
};

/* Loads the programs for at most so many sandboxes. Returns -1 with the failure if the kernel does not permit them. */
int loopback_open(struct loopback *l, unsigned sandboxes, struct failure *f);
/*
 * Lets the calling process's network namespace have the addresses 127.0.0.0/8 and ::1, and small buffers. Returns -1 with the failure. It needs
 * CAP_NET_ADMIN and CAP_SYS_ADMIN.
 */
int loopback_enable(const struct loopback *l, struct failure *f);
/*
 * Attaches the programs to the group of a sandbox, until that is removed. The limits follow from its memory limit, so that TCP holds at most a sixteenth
 * of that, and UDP a 32nd.
 */
int loopback_limit(const struct loopback *l, const struct group_set *sandbox, uint64_t memory, uint64_t owner, struct failure *f);
/* Whether the kernel has all programs on the group of the sandbox. Linux 6.1 tells it only to a process with CAP_NET_ADMIN, which holders soon give up. */
bool loopback_attached(const struct loopback *l, const struct group_set *sandbox);
/* Reads the counts of a sandbox. Returns -1 with errno on failure. */
int loopback_read(const struct loopback *l, const struct group_set *sandbox, struct loopback_counts *counts);
/* Forgets the sandbox of a holder. */
void loopback_forget(const struct loopback *l, uint64_t owner);

#endif
