#ifndef ASSAY_SLOT_H
#define ASSAY_SLOT_H

#include "launcher.h"

/*
 * Makes the calling process, a child of the launcher, a slot, and serves one connection until it closes. `launcher` is the pid of the
 * parent. Returns the exit status for the process.
 */
int slot_serve(const struct launcher *l, unsigned number, int connection, pid_t launcher);

#endif
