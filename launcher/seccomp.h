#ifndef ASSAY_SECCOMP_H
#define ASSAY_SECCOMP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "failure.h"

#define SECCOMP_POLICY "builtin-deny"

/*
 * Whose programs a filter is for. Those in a sandbox may make a few more calls (IN_SANDBOX in seccomp.def), and where sockets on the loopback interface
 * or locks are bounded (loopback.h, locks.h), those that need these: the columns are bits.
 */
enum { SECCOMP_SUBMISSION = 0, SECCOMP_SANDBOX = 1, SECCOMP_LOOPBACK = 2, SECCOMP_LOCKS = 4, SECCOMP_RELAY = 8 /* see KEYED_FOR in seccomp.def */ };
/* Builds the filter of the columns, with a new key. Returns -1 with the failure if that is not possible. */
int seccomp_prepare(unsigned columns, struct failure *f);
/*
 * Installs the filter in the calling process, which must have CAP_SYS_ADMIN or no_new_privs. Each call needs a seccomp_prepare()
 * before it, because this function erases the filter that was built. Returns -1 with errno on failure.
 *
 * A slot installs the filter in itself, once, and programs inherit it, because the kernel takes 160 us to translate a filter and to
 * find the calls that are always allowed. But the slot, and its children until their exec, need some calls that the filter
 * refuses to programs (KEYED in seccomp.def). They therefore pass the key, a random number drawn for the slot, as one more argument
 * of such a call. No program has the memory that contains the key. With the key, a program could make user namespaces, and change
 * limits by which some verdicts are proven; the kernel would still check capabilities. PROTOCOL.md ("The filter key") has more.
 */
int seccomp_enter(void);
extern uint64_t seccomp_key;
/*
 * Installs another filter in the calling process, which must have CAP_SYS_ADMIN or no_new_privs: it refuses new user namespaces, like
 * RestrictNamespaces= in the units, and nothing else. In a user namespace, the service's user could mount a file system of its own (FUSE),
 * and leave processes that wait for it, which no signal ends. clone3 is refused as unknown, because its flags are behind a pointer,
 * which a filter cannot follow; callers then use clone. Returns -1 with errno on failure.
 */
int seccomp_refuse_user_namespaces(void);
/* A call, and the value that its first argument must have; -1: any. A number below 0 is that of a call which the architecture does not have (calls.h). */
struct seccomp_call {
	long number, first;
};
/*
 * Installs another filter in the calling process, which must have CAP_SYS_ADMIN or no_new_privs: it kills the process at each call but these. Under a filter of
 * programs, that needs the column SECCOMP_RELAY. Returns -1 with errno on failure.
 */
int seccomp_permit_only(const struct seccomp_call *calls, size_t count);
/* Makes a system call with the key after its arguments. The kernel ignores the key; only a filter reads it. */
#define keyed(call, ...) syscall(__NR_##call, __VA_ARGS__, seccomp_key)

#endif
