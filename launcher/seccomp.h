#ifndef ASSAY_SECCOMP_H
#define ASSAY_SECCOMP_H

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "failure.h"

#define SECCOMP_POLICY "builtin-deny"

/* Builds the filter, with a new key. */
int seccomp_prepare(struct failure *f);
/*
 * Installs the filter in the calling process, which must have CAP_SYS_ADMIN or no_new_privs. Returns -1 with errno. Once for
 * each seccomp_prepare().
 *
 * A slot installs it in itself, once, and programs inherit it: the kernel takes 160 us to translate it and to find the
 * calls that are always allowed. The slot, and its children until their exec, therefore pass a random number, drawn for
 * the slot, as one more argument of each call that the filter refuses to programs and that they need (KEYED in
 * seccomp.def). A program has none of their memory. With the key it could make user namespaces, and choose some verdicts by
 * its limits; the kernel checks all else as without the filter.
 */
int seccomp_enter(void);
extern uint64_t seccomp_key;
#define keyed(call, ...) syscall(__NR_##call, __VA_ARGS__, seccomp_key)

#endif
