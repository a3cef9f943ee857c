#ifndef ASSAY_SLOT_H
#define ASSAY_SLOT_H

#include "box.h"

/*
 * Serves one connection until it closes. `launcher` is the pid of the parent. Returns the exit status of the slot's
 * process.
 */
int slot_serve(const struct launcher *l, unsigned number, int connection, pid_t launcher);

#endif
