#ifndef ASSAY_SLOT_H
#define ASSAY_SLOT_H

#include "launcher.h"

/*
 * Serves one connection until it closes. The launcher calls it in a child process. `launcher` is the pid of the parent. Returns
 * the exit status of the slot's process.
 */
int slot_serve(const struct launcher *l, unsigned number, int connection, pid_t launcher);

#endif
