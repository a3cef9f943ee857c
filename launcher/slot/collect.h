#ifndef ASSAY_SLOT_COLLECT_H
#define ASSAY_SLOT_COLLECT_H

#include "wire/wire.h"

/*
 * Queues FILE frames with all files and directories of a work directory (`path` is ""), or of this directory in it; or none,
 * if one of them cannot be sent.
 */
void send_files(struct queue *out, int work, const char *path);

#endif
