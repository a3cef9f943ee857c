#ifndef ASSAY_SERVE_H
#define ASSAY_SERVE_H

#include "box.h"

enum { SLOTS_MOST = 1024 };

/* SIGTERM, SIGINT and SIGCHLD are let in only where the launcher waits. */
void block_signals(void);
/* Whether the kernel refuses to pass descriptors through this unix socket, or through a connection to it. With errno. */
bool refuse_descriptors(int socket);
/* The socket at this full path, its client's alone. `directory` is where it can be removed. -1 with the failure. */
int listen_at(const char *path, uid_t client, int *directory, struct failure *f);
/* Forks a slot for each connection, until a signal ends it; then no slot is left. */
void serve(struct launcher *l, int listener, uid_t client);

#endif
