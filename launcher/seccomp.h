#ifndef ASSAY_SECCOMP_H
#define ASSAY_SECCOMP_H

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "failure.h"

#define SECCOMP_POLICY "builtin-deny"

/* Builds the filter, with a new key. -1 with the failure. */
int seccomp_prepare(struct failure *f);
/*
 * Installs the filter in the calling process, which must have CAP_SYS_ADMIN or no_new_privs. Call it once for each
 * seccomp_prepare(). -1 with errno.
 *
 * A slot installs it in itself, once, and programs inherit it, because the kernel takes 160 us to translate a filter and to
 * find the calls that are always allowed. But the slot, and its children until their exec, need some calls that the filter
 * refuses to programs (KEYED in seccomp.def). They therefore pass a random number, drawn for the slot, as one more argument of
 * such a call: the key. A program has none of the memory in which the key was. With the key it could make user namespaces, and
 * choose some verdicts by its limits; the kernel checks everything else as without the filter. PROTOCOL.md has more about it.
 */
int seccomp_enter(void);
extern uint64_t seccomp_key;
/* Makes a system call with the key after its arguments. Without a filter, as in the launcher itself, the kernel ignores the key. */
#define keyed(call, ...) syscall(__NR_##call, __VA_ARGS__, seccomp_key)

#endif
