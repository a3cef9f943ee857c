#define _GNU_SOURCE
#include "user.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../launcher/seccomp.h"

/*
 * A kernel without keyrings, or a filter of a container's engine, refuses every call of keyctl. Then there is nothing that the process
 * could read.
 */
static bool join_new_keyring(void)
{
	if (syscall(__NR_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0)
		return true;
	int reason = errno;
	bool refused = syscall(__NR_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0) < 0 && errno == reason &&
		       (reason == ENOSYS || reason == EPERM);
	errno = reason;
	return refused;
}

static bool enter_group(const char *directory)
{
	int group = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int members = group < 0 ? -1 : openat(group, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	return members >= 0 && write(members, "0", 1) == 1; /* user_become closes both */
}

static bool drop_capabilities(void)
{
	for (int capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; capability++)
		if (prctl(PR_CAPBSET_DROP, capability) < 0)
			return false;
	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0;
}

/* The change of the user has cleared the permitted and the effective capabilities, but not the inheritable ones. */
static bool clear_inheritable(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};
	return syscall(__NR_capset, &header, none) == 0;
}

const char *user_become(const struct user *user, const char *group)
{
	if (group && !enter_group(group))
		return "enter its control group";
	if (!join_new_keyring())
		return "join a new session keyring";
	if (chdir("/") < 0)
		return "change to /";
	if (syscall(__NR_close_range, 3u, UINT_MAX, 0) < 0)
		return "close descriptors";
	if (!drop_capabilities())
		return "drop its capabilities";
	if (setgroups(0, NULL) < 0 || setresgid(user->gid, user->gid, user->gid) < 0 ||
	    setresuid(user->uid, user->uid, user->uid) < 0)
		return "change its user";
	if (!clear_inheritable())
		return "clear its inheritable capabilities";
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return "set no_new_privs";
	return seccomp_refuse_user_namespaces() < 0 ? "install the filter of system calls" : NULL;
}
