#ifndef ASSAY_PREPARE_H
#define ASSAY_PREPARE_H

#include "box.h"

/* What a program of the launcher does before it builds boxes: the launcher itself, and what measures boxes (bench.c). */

/* Names the sources that this was built from. */
extern const char build_name[];

/* Says which step failed, and ends with 1. */
_Noreturn void die(const struct failure *f);
/* The value of an option, or an end with 2. */
long number(const char *text, long smallest, long largest, const char *name);
/* a to z, digits and -, at most 40. */
bool plain_instance(const char *name);

/* 0, 1 and 2 are open after it: nothing else may get one of these numbers. False: they cannot be. */
bool have_standard_descriptors(void);
void describe_host(struct launcher *l, const char *instance, uid_t uid_base, unsigned slots);
void empty_bounding_set(void);
/* Has the OOM killer take the launcher and its slots last. False where the host does not let us (CAP_SYS_RESOURCE). */
bool spared_from_oom(const struct launcher *l);
/*
 * Everything that can fail before the first box, in the order that it needs: filter, groups, tracepoint, image,
 * capabilities. All boxes together weigh as much as `slots` programs of the host. Ends with 1 when something fails.
 */
void prepare(struct launcher *l, const char *image, unsigned slots);

#endif
