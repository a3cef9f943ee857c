#ifndef ASSAY_EGRESS_NETWORK_H
#define ASSAY_EGRESS_NETWORK_H

#include <stdint.h>

#include "failure.h"

/*
 * The network of a sandbox that may reach something: its namespace, whose only interface is `lo`, delivers each packet to itself.
 *
 * Two routes make every address of IPv4 and IPv6 one of the namespace's own. So a connection to any address arrives in the namespace, where a BPF program at
 * the lookup of sockets gives it to one listener, whatever its address and port; likewise datagrams to port 53. The kernel asks the program before it
 * looks for sockets of programs, so none can take connections that are meant for the relay. Addresses of 127.0.0.0/8 and ::1 are left to programs. Other
 * datagrams find no socket, and the kernel answers at once that the port is unreachable. There is no way out: no interface leads anywhere.
 */
struct network {
	int listener, datagrams; /* what the relay serves (relay.h) */
	int diag;                /* a netlink socket by which the relay asks who has made a socket */
	int routes;              /* a netlink socket by which network_leak() reads interfaces and routes */
	int link;                /* keeps the BPF program in its place; after its end, connections reach no socket but those of the sandbox's programs */
	uint64_t inode;          /* of the namespace */
};

struct network network_none(void);
void network_close(struct network *n);
/*
 * Makes the network of the calling process's namespace, which is also open as `namespace`. The listener is made by a child in `group`, the v2 group of the relay.
 * Needs CAP_NET_ADMIN and CAP_SYS_ADMIN, and that the process has no filter yet. Returns -1 with the failure, after which nothing is open.
 */
int network_make(struct network *n, int namespace, int group, struct failure *f);
/*
 * Reads back that the namespace has no route out: no interface but `lo`, no route through a gateway or another interface, and the program in its place. Returns
 * NULL if all of that holds, or what does not. It can be called in any namespace, and under the filter.
 */
const char *network_leak(const struct network *n);

#endif
