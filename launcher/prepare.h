#ifndef ASSAY_PREPARE_H
#define ASSAY_PREPARE_H

#include <stdbool.h>

#include "launcher.h"

/* The start of assay-launcher and assay-bench: everything that root does before the first box. */

/* The hash of the sources that this program was built from. */
extern const char build_name[];

/* Prints the failed step and exits with 1. */
_Noreturn void die(const struct failure *f);
/* Parses the value of an option; exits with 2 if it is not a number in the range. */
long parse_number(const char *text, long smallest, long largest, const char *name);
/* Whether it has 1 to 40 of the letters a to z, digits and `-`. */
bool valid_instance(const char *name);

/*
 * Opens those of descriptors 0, 1 and 2 that are closed, so that no other file gets their numbers. False if that fails.
 */
bool open_standard_descriptors(void);
/* Gives each signal its default action. Programs would inherit those that are ignored, such as SIGHUP under nohup. */
void reset_all_signals(void);
/* Fills in what does not need a privilege: the machine, the options, and no group yet. */
void init_launcher(struct launcher *l, const char *instance, uid_t uid_base, unsigned slots);
/* Empties the bounding set and the ambient set of capabilities, which every process of a box inherits. */
void clear_bounding_set(void);
/*
 * Makes the launcher and its slots the last choice of the OOM killer. False if the host does not permit it
 * (CAP_SYS_RESOURCE).
 */
bool protect_from_oom(const struct launcher *l);
/*
 * Performs everything that can fail before the first box, in the required order: filter, groups, tracepoint, image,
 * capabilities. All boxes together get the CPU weight of `slots` ordinary programs. Exits with 1 on failure.
 */
void prepare(struct launcher *l, const char *image, unsigned slots);

#endif
