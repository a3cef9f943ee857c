#ifndef ASSAY_RELAY_H
#define ASSAY_RELAY_H

#include <stdint.h>
#include <sys/types.h>

#include "failure.h"

/*
 * The relay of a sandbox with a network: an unprivileged process that passes connections and DNS queries of the sandbox's programs to the proxy of the worker.
 * It decides nothing and understands nothing of what it passes: the proxy resolves, permits, connects, counts and logs.
 *
 *   program ── connect() to any address ──► listener in the sandbox's network namespace ──► relay ── Unix socket ──► proxy ──► the Internet
 *   program ── UDP to port 53 ────────────► datagrams                                  ──►
 *
 * Each connection of a program is a connection of its own to the proxy. It begins with a struct relay_header, upon which the proxy answers with one
 * byte: RELAY_PERMITTED, and the bytes of both directions follow; or any other, and the program's connection is reset. One more connection to
 * the proxy, the control connection, comes first; it carries DNS and tells the relay which connections to reset, and all of them are reset when it ends. The
 * head of src/egress/protocol.ts describes the protocol, whose other end that is.
 *
 * Without a proxy, the relay resets each connection at once and answers no query. Without the relay, connections wait in the queue of the listener until the
 * holder has started another relay. Without the holder, the kernel refuses them. So nothing that fails opens a way out: the namespace has no interface but `lo`.
 */
enum { RELAY_TOKEN_BYTES = 32, RELAY_PERMITTED = 0 };

struct relay_header {
	char magic[4]; /* ASEG */
	uint8_t version, kind;
	uint8_t reserved[2];
	char token[RELAY_TOKEN_BYTES];
	uint64_t stream;
	uint64_t group; /* the number of the control group whose process has made the socket, as in BEGUN (protocol.def); 0: not known */
	uint8_t address[16]; /* that the program has dialled; of IPv4 in the form ::ffff:a.b.c.d */
	uint16_t port, source_port;
	uint8_t unused[4];
} __attribute__((packed));
_Static_assert(sizeof(struct relay_header) == 80, "as src/egress/protocol.ts has it");

struct relay {
	int listener, datagrams; /* in the namespace of the sandbox */
	int diag;                /* a netlink socket of that namespace, by which the kernel says who has made a socket */
	int namespace;           /* the network namespace of relays (launcher.h) */
	int directory;           /* that of the proxy's socket */
	int ready;               /* a socket that gets a byte when the relay serves; -1: nobody waits for that */
	char token[RELAY_TOKEN_BYTES + 1];
	uid_t uid;
	gid_t gid;
	pid_t holder;
};

/* Makes the calling process, a child of the holder, the relay. */
_Noreturn void become_relay(const struct relay *relay);

#endif
