#ifndef ASSAY_SERVE_H
#define ASSAY_SERVE_H

#include <stdbool.h>

#include "launcher.h"

/* Blocks SIGTERM, SIGINT and SIGCHLD, which are then delivered only while the launcher waits, and installs their handlers. */
void block_signals(void);
/*
 * Makes the kernel refuse descriptors sent through this Unix socket or a connection to it. False with errno if it
 * cannot.
 */
bool refuse_descriptors(int socket);
/*
 * Listens at this absolute path; only the user `client` and root can connect. `directory` receives a descriptor of the directory of
 * the socket, for unlinkat() at the end. Returns the socket, or -1 with the failure.
 */
int listen_at(const char *path, uid_t client, int *directory, struct failure *f);
/* The sockets of the launcher; -1: there are no sandboxes. */
struct listeners {
	int slots, holders, attached;
};
/* The names of the sockets of sandboxes, in the directory of the socket of slots: for HOLD, and for a STEP in a sandbox. */
#define HOLDERS_SOCKET "sandboxes.sock"
#define ATTACHED_SOCKET "executions.sock"
/* Listens at the sockets of sandboxes beside `path`. Returns -1 with the failure. */
int listen_for_sandboxes(const char *path, uid_t client, struct listeners *listeners, struct failure *f);
/* Forks a slot for each connection until SIGTERM or SIGINT arrives. When this function returns, no slot is left. */
void serve(struct launcher *l, const struct listeners *listeners, uid_t client);

#endif
