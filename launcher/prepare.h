#ifndef ASSAY_PREPARE_H
#define ASSAY_PREPARE_H

#include <stdbool.h>

#include "launcher.h"

/* What assay-launcher and assay-bench have in common at their start, before the first box. */

/* The hash of the sources that this program was built from. */
extern const char build_name[];

/* Prints the failed step and exits with 1. */
_Noreturn void die(const struct failure *f);
/* Parses the value of an option; exits with 2 if it is not a number in the range. */
long parse_number(const char *text, long smallest, long largest, const char *name);
/* Whether the name has 1 to 40 characters, each a letter from a to z, a digit or `-`. */
bool valid_instance(const char *name);

/* Opens /dev/null for each of the descriptors 0, 1 and 2 that is closed, so that no other file gets its number. False if that fails. */
bool open_standard_descriptors(void);
/* Gives each signal its default action. Otherwise, programs would inherit that a signal is ignored, such as SIGHUP under nohup. */
void reset_all_signals(void);
/* Fills in the fields that need no privilege: the options and what describes the machine. prepare() fills in the others. */
void init_launcher(struct launcher *l, const char *instance, uid_t uid_base, unsigned slots);
/* Empties the bounding set and the ambient set of capabilities, which every process of a box inherits. */
void clear_bounding_set(void);
/*
 * Lets the OOM killer of the machine choose almost any other process before the launcher and its slots (oom_score_adj -900). False if
 * the host does not permit that, because CAP_SYS_RESOURCE is missing.
 */
bool protect_from_oom(const struct launcher *l);
/*
 * Refuses sandboxes where a process that changes its user stays readable for others of that user: between that change and its exec, a program
 * still has memory of its slot, with the filter key. In the box of a submission there is no other process that could read it.
 */
int require_private_changes(const struct launcher *l, struct failure *f);
/*
 * Does what comes between the start and the first slot, in the required order: filter, CPUs, groups, tracepoint, image, capabilities.
 * All boxes together get the CPU weight of `slots` ordinary programs, or of one for each CPU if there are fewer CPUs. Exits with 1 on
 * failure.
 */
void prepare(struct launcher *l, const char *image, unsigned slots);

#endif
