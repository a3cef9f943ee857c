#ifndef ASSAY_RELAY_PROCESS_H
#define ASSAY_RELAY_PROCESS_H

#include <stdbool.h>

#include "box/box.h"
#include "cgroup/sandboxes.h"
#include "egress/network.h"
#include "egress/relay.h"

/*
 * The network and the relay of a sandbox, as its holder has them. relay_process_none() is none.
 *
 * The holder starts the relay when it has its own filter already, also the first time, so that a relay that is started again is like the first one. It inherits the
 * filter of the holder, and adds one that permits only a few calls. That needs the call seccomp(), which only a holder can make, with its key (KEYED_FOR in
 * seccomp.def). A process without the holder's filter, which would wait to become the next relay, would need no such call; but it would have to be root to
 * enter the group of the relay and to change its user, in every sandbox, for all of its life.
 */
struct relay_process {
	struct network network;
	struct relay relay;
	const struct group_set *groups;
	struct leaf leaf;  /* the relay's own group in the sandbox, so that what it uses is the sandbox's */
	int cpu_tasks;
	pid_t pid;         /* -1: it does not run */
	int pidfd;         /* readable when it has ended; -1 without one */
	int ready;         /* readable when it serves; -1: that was seen */
	uint64_t begun_ns;
};

void relay_process_none(struct relay_process *p);
static inline bool has_network(const struct relay_process *p) { return p->network.link >= 0; }

/* To whom the relay belongs, and to which proxy it leads. */
struct relay_owner {
	uid_t uid;         /* a user of its own */
	gid_t gid;         /* by which it may reach the socket of the proxy */
	int directory;     /* of that socket */
	int namespace;     /* the network namespace of relays */
	const char *token; /* by which the proxy knows the sandbox; RELAY_TOKEN_BYTES characters */
};

/*
 * Gives the network namespace of the lane a network, in the sandbox's groups, and reads back that it has no route out. Call it before slot_confine(). Returns
 * -1 with the failure.
 */
int relay_process_make(struct relay_process *p, const struct slot *s, const struct lane *lane, const struct group_set *groups, int cpu_tasks,
		       const struct relay_owner *owner, struct failure *f);
/* Starts the relay. Call it after slot_confine(). Returns -1 with the failure. */
int relay_process_start(struct relay_process *p, struct failure *f);
/* Waits until the relay serves. Returns -1 with the failure if it ends instead. */
int relay_process_await(struct relay_process *p, struct failure *f);
/*
 * Starts the relay again if it has ended, as it does when all processes of the sandbox are killed; at most every second. Returns when the next attempt is due;
 * UINT64_MAX if it runs, or if there is no network.
 */
uint64_t relay_process_check(struct relay_process *p);
/* Ends the relay, and closes the network: the kernel then refuses connections. */
void relay_process_end(struct relay_process *p);

#endif
