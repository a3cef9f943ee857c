#ifndef ASSAY_SECCOMP_H
#define ASSAY_SECCOMP_H

#include <sys/resource.h>

#include "failure.h"

#define SECCOMP_POLICY "builtin-deny"

/* Builds the filter. Called once, at start. */
int seccomp_prepare(struct failure *f);
/* Installs the filter in the calling process, which must have no_new_privs. Returns -1 with errno. */
int seccomp_enter(void);
/* setrlimit for the calling process; the filter permits it for every limit. Requires seccomp_prepare(). */
long seccomp_set_rlimit(int resource, const struct rlimit *limit);

#endif
