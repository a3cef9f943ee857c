#ifndef ASSAY_SERVE_H
#define ASSAY_SERVE_H

#include <stdbool.h>

#include "launcher.h"

enum { SLOTS_MAX = 1024 };

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
/* Forks a slot for each connection until SIGTERM or SIGINT arrives. When this function returns, no slot is left. */
void serve(struct launcher *l, int listener, uid_t client);

#endif
