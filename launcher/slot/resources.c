/*
 * Resources of a slot (resources.h): its mounts, its lanes for boxes and for runs, and what programs inherit. slot.c, check.c and
 * the benchmark prepare them once.
 */
#define _GNU_SOURCE
#include "slot/resources.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/securebits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "image-root.h"
#include "run/run.h"
#include "seccomp.h"

int slot_mounts(const struct slot *s, char *text, size_t size)
{
	int fd = open_proc(s->launcher, "self/mountinfo");
	size_t used = 0;
	ssize_t n = -1;
	while (fd >= 0 && used + 1 < size && (n = read(fd, text + used, size - 1 - used)) > 0)
		used += (size_t)n;
	text[used] = 0;
	if (fd >= 0)
		close(fd);
	return n < 0 ? -1 : 0;
}

void slot_return(const struct slot *s)
{
	if (keyed(setns, s->self_mount_ns, CLONE_NEWNS) < 0)
		abort();
}

/* Maps memory that a child of the slot shares with it. Returns NULL with the failure if there is none. */
static void *map_shared(size_t size, struct failure *f)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory != MAP_FAILED)
		return memory;
	fail(f, "memory", "memory shared with the processes of a box");
	return NULL;
}

static int open_namespaces(const struct launcher *l, int namespace_fd[LANE_NAMESPACES])
{
	for (int i = 0; i < LANE_NAMESPACES; i++) {
		char path[16];
		snprintf(path, sizeof path, "self/ns/%s", lane_namespaces[i].name);
		if ((namespace_fd[i] = open_proc(l, path)) < 0)
			return -1;
	}
	return 0;
}

static int lane_open(struct slot *s, struct lane *lane, uid_t uid, bool loopback, struct failure *f)
{
	lane->uid = uid;
	int slot_fd[LANE_NAMESPACES];
	if (open_namespaces(s->launcher, slot_fd) < 0)
		return fail(f, "namespaces", "open those of the slot");
	if (unshare(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) < 0 || sethostname("assay", 5) < 0 || setdomainname("", 0) < 0 ||
	    open_namespaces(s->launcher, lane->namespace_fd) < 0 || (lane->sockets = open_proc(s->launcher, "self/net/sockstat")) < 0)
		return fail(f, "namespaces", "new network, ipc, uts");
	if (loopback && loopback_enable(&s->launcher->loopback, f) < 0)
		return -1;
	for (int i = 0; i < LANE_NAMESPACES; i++) {
		if (setns(slot_fd[i], lane_namespaces[i].flag) < 0)
			return fail(f, "namespaces", "return to %s of the slot", lane_namespaces[i].name);
		close(slot_fd[i]);
	}
	lane->failure = map_shared(sizeof *lane->failure, f);
	return lane->failure ? 0 : -1;
}

static int run_lane_open(struct slot *s, unsigned number, struct failure *f)
{
	struct run_lane *lane = &s->run_lane[number];
	char name[32];
	snprintf(name, sizeof name, "s%u-b%u", s->number, number);
	leaf_name(&lane->leaf, LEAF_OF_RUN, name);
	lane->exec_args = map_shared(EXEC_ARGS_BYTES, f);
	return lane->exec_args ? 0 : -1;
}

static int limit_resources(void)
{
	/* RLIMIT_CORE: with 0, the kernel still starts a core handler behind a pipe; with 1, it starts none and writes no core file. */
	static const struct { int resource; rlim_t most; } fixed[] = {
		{RLIMIT_CORE, 1}, {RLIMIT_MEMLOCK, 0}, {RLIMIT_MSGQUEUE, 0}, {RLIMIT_NICE, 0}, {RLIMIT_RTPRIO, 0},
		{RLIMIT_SIGPENDING, 1024},
	};
	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
		struct rlimit limit = {fixed[i].most, fixed[i].most};
		if (setrlimit(fixed[i].resource, &limit) < 0)
			return -1;
	}
	return 0;
}

/* Only the mounts and the network of a sandbox need these, and only at the time when they are made. */
static int drop_makers(void)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct sets[2];
	if (syscall(__NR_capget, &header, sets) < 0)
		return -1;
	sets[CAP_TO_INDEX(CAP_FOWNER)].permitted &= ~CAP_TO_MASK(CAP_FOWNER);
	sets[CAP_TO_INDEX(CAP_NET_ADMIN)].permitted &= ~CAP_TO_MASK(CAP_NET_ADMIN);
	for (int i = 0; i < 2; i++)
		sets[i].effective = sets[i].permitted;
	return syscall(__NR_capset, &header, sets) < 0 ? -1 : 0;
}

/* Once for all programs, which inherit the restrictions. */
int slot_confine(unsigned columns, struct failure *f)
{
	if (drop_makers() < 0)
		return fail(f, "capabilities", "CAP_FOWNER, CAP_NET_ADMIN");
	/* Without a new session keyring, programs would have the launcher's. */
	if (syscall(__NR_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS)
		return fail(f, "keyring", "session");
	if (prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP_LOCKED |
			  SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED) < 0)
		return fail(f, "capabilities", "securebits");
	if (setgroups(0, NULL) < 0)
		return fail(f, "identity", "groups");
	if (limit_resources() < 0)
		return fail(f, "rlimit", "fixed");
	if (seccomp_prepare(columns, f) < 0)
		return -1;
	return seccomp_enter() < 0 ? fail(f, "seccomp", "filter") : 0;
}

static int begin(struct slot *s, const struct launcher *l, unsigned number, struct failure *f)
{
	memset(s, 0, sizeof *s);
	s->launcher = l;
	s->number = number;
	s->timeout_ms = BUILD_TIMEOUT_MS;
	s->cpu_group_tasks = -1;
	if ((s->dev_null = open("/dev/null", O_WRONLY | O_CLOEXEC)) < 0)
		return fail(f, "device", "/dev/null");
	s->self_pid_ns = open_proc(l, "self/ns/pid");
	s->self_mount_ns = open_proc(l, "self/ns/mnt");
	if (s->self_pid_ns < 0 || s->self_mount_ns < 0 || controls_prepare(s) < 0)
		return fail(f, "namespaces", "open those of the slot");
	s->run_lane[0].exec_args = map_shared(EXEC_ARGS_BYTES, f);
	return s->run_lane[0].exec_args ? 0 : -1;
}

int slot_prepare_holder(struct slot *s, const struct launcher *l, unsigned number, unsigned holder, struct failure *f)
{
	if (begin(s, l, number, f) < 0)
		return -1;
	for (int i = 1; i < LANES; i++)
		s->lane[i].in_use = true; /* there is only one */
	if (lane_open(s, &s->lane[0], l->uid_base + l->slots * LANES + holder, l->loopback.counts >= 0, f) < 0)
		return -1;
	return slot_mounts(s, s->mounts, sizeof s->mounts) < 0 ? fail(f, "mount", "list") : 0;
}

int slot_prepare_attached(struct slot *s, const struct launcher *l, unsigned number, struct failure *f)
{
	if (begin(s, l, number, f) < 0)
		return -1;
	if (slot_mounts(s, s->mounts, sizeof s->mounts) < 0)
		return fail(f, "mount", "list");
	return slot_confine(sandbox_columns(l), f);
}

int slot_prepare(struct slot *s, const struct launcher *l, unsigned number, struct failure *f)
{
	memset(s, 0, sizeof *s);
	s->launcher = l;
	s->number = number;
	s->timeout_ms = BUILD_TIMEOUT_MS;
	s->cpu_group_tasks = -1;
	if (unshare(CLONE_NEWNS) < 0)
		return fail(f, "namespaces", "mount namespace of the slot");
	uid_t users[LANES];
	for (int i = 0; i < LANES; i++)
		users[i] = l->uid_base + number * LANES + (uid_t)i;
	int shared = image_overlay(users, LANES, f);
	if (shared < 0)
		return -1;
	s->own_image = !shared;
	if ((s->dev_null = open("/dev/null", O_WRONLY | O_CLOEXEC)) < 0)
		return fail(f, "device", "/dev/null");
	s->self_pid_ns = open_proc(l, "self/ns/pid");
	s->self_mount_ns = open_proc(l, "self/ns/mnt");
	if (s->self_pid_ns < 0 || s->self_mount_ns < 0 || controls_prepare(s) < 0)
		return fail(f, "namespaces", "open those of the slot");
	for (int i = 0; i < LANES; i++)
		if (lane_open(s, &s->lane[i], users[i], false, f) < 0)
			return -1;
	for (unsigned i = 0; i < RUN_LANES; i++)
		if (run_lane_open(s, i, f) < 0)
			return -1;
	if (slot_mounts(s, s->mounts, sizeof s->mounts) < 0)
		return fail(f, "mount", "list");
	return slot_confine(SECCOMP_SUBMISSION, f);
}
