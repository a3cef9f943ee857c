#ifndef ASSAY_SERVE_H
#define ASSAY_SERVE_H

#include <stdbool.h>

#include "launcher.h"

enum { SLOTS_MAX = 1024 };

/* Blocks SIGTERM, SIGINT and SIGCHLD except while the launcher waits, and installs their handlers. */
void block_signals(void);
/*
 * Makes the kernel refuse descriptors sent through this Unix socket or a connection to it. False with errno if it
 * cannot.
 */
bool refuse_descriptors(int socket);
/*
 * Listens at this full path; only `client` and root can connect. `directory` receives a descriptor of the socket's
 * directory, for unlinkat() at the end. Returns the socket, or -1 with the failure.
 */
int listen_at(const char *path, uid_t client, int *directory, struct failure *f);
/* Forks a slot for each connection until a signal arrives. No slot is left when it returns. */
void serve(struct launcher *l, int listener, uid_t client);

#endif
