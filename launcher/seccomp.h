#ifndef ASSAY_SECCOMP_H
#define ASSAY_SECCOMP_H

#include <sys/resource.h>

#include "failure.h"

#define SECCOMP_POLICY "builtin-deny"

/* Builds the filter once, at start. */
int seccomp_prepare(struct failure *f);
/* Installs it in the calling process; no_new_privs must be set. Returns -1 with errno. */
int seccomp_enter(void);
/* setrlimit for the process itself, let through by the filter for every limit. Not before seccomp_prepare. */
long seccomp_set_rlimit(int resource, const struct rlimit *limit);

#endif
