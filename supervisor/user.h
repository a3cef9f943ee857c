#ifndef ASSAY_USER_H
#define ASSAY_USER_H

#include <sys/types.h>

/* The service's user, who has no privilege, and whom root does not trust. */
struct user {
	uid_t uid;
	gid_t gid;
};

/*
 * Makes the calling process one of the user, for good: without a privilege and without a way to gain one. A process of the user can
 * read the environment of this one, take descriptors from it (pidfd_getfd) and run code in it (ptrace). So root first gives
 * up what its own session has: the session keyring, the working directory, and all descriptors above 2. The caller has left the terminal.
 *
 * `group` is the control group to enter, or NULL. Returns NULL, or what could not be done, with errno: a verb and its object.
 */
const char *user_become(const struct user *user, const char *group);

#endif
