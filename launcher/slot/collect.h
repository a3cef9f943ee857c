#ifndef ASSAY_SLOT_COLLECT_H
#define ASSAY_SLOT_COLLECT_H

#include "wire/wire.h"

/*
 * Queues a FILE frame for each file and directory in the work directory if `path` is "", or otherwise in the directory `path` there.
 * Queues none if one of them cannot be sent.
 */
void send_files(struct queue *out, int work, const char *path);

#endif
