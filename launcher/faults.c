/*
 * For tests only (build --faults): the linker routes system calls of the launcher through this file. The environment variable
 * ASSAY_FAULT names a fault: a call then reports success without effect, has another effect, or fails. The launcher's own source
 * contains no fault injection; the tests show how it detects the faults.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/sched.h>
#include <net/if.h>
#include <net/route.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "locks.h"
#include "loopback.h"
#include "seccomp.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

int __real_prctl(int option, ...);
int __real_mount(const char *what, const char *at, const char *type, unsigned long flags, const void *data);
int __real_openat(int dir, const char *name, int flags, ...);
ssize_t __real_read(int fd, void *to, size_t size);
ssize_t __real_write(int fd, const void *from, size_t size);
ssize_t __real_pwrite(int fd, const void *from, size_t size, off_t at);
int __real_ioctl(int fd, unsigned long request, void *argument);
long __real_syscall(long number, ...);

static bool fault(const char *name)
{
	const char *chosen = getenv("ASSAY_FAULT");
	return chosen && !strcmp(chosen, name);
}

/* The namespace that the chosen fault makes a program skip; 0: it enters all. */
static long skipped_namespace(void)
{
	static const struct { const char *fault; int flag; } spaces[] = {
		{"mount_namespace", CLONE_NEWNS}, {"ipc_namespace", CLONE_NEWIPC}, {"uts_namespace", CLONE_NEWUTS},
		{"network_namespace", CLONE_NEWNET},
	};
	for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
		if (fault(spaces[i].fault))
			return spaces[i].flag;
	return 0;
}

/* The parent of the init and of the program is outside their pid namespace. The init is pid 1, the program is not. */
static bool in_program(void) { return getppid() == 0 && getpid() != 1; }
static bool in_init(void) { return getppid() == 0 && getpid() == 1; }

int __wrap_prctl(int option, ...)
{
	va_list list;
	unsigned long a[4];
	va_start(list, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(list, unsigned long);
	va_end(list);
	if ((option == PR_CAPBSET_DROP && fault("no_capabilities")) ||
	    (option == PR_SET_NO_NEW_PRIVS && in_program() && fault("no_new_privileges")))
		return 0;
	return __real_prctl(option, a[0], a[1], a[2], a[3]);
}

/* How many boxes this slot has built, for "box_N_hangs": the init of the Nth box of a slot never becomes ready. */
static int boxes;

int __wrap_mount(const char *what, const char *at, const char *type, unsigned long flags, const void *data)
{
	if (fault("read_only_root"))
		flags &= ~(unsigned long)MS_NOSUID;
	if (fault("own_upper") && type && !strcmp(type, "overlay"))
		flags &= ~(unsigned long)MS_NOSUID;
	/* That of a sandbox; the one of a box is mounted by syscall(). */
	if (fault("restricted_proc") && type && !strcmp(type, "proc"))
		data = NULL;
	if (fault("own_image") && type && !strcmp(type, "overlay")) {
		errno = ENODEV;
		return -1;
	}
	return __real_mount(what, at, type, flags, data);
}

/* Adds a route to a network of 2^24 addresses, on the interface `lo` itself, or through a gateway. */
static int add_route(int fd, uint32_t to, uint32_t gateway)
{
	static char lo[] = "lo";
	struct rtentry route = {.rt_flags = (unsigned short)(RTF_UP | (gateway ? RTF_GATEWAY : 0)), .rt_dev = lo};
	*(struct sockaddr_in *)&route.rt_dst = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(to)};
	*(struct sockaddr_in *)&route.rt_genmask = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(0xff000000)};
	*(struct sockaddr_in *)&route.rt_gateway = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(gateway)};
	return __real_ioctl(fd, SIOCADDRT, &route);
}

/* "loopback_only": the interface of a sandbox gets a route to other machines as well. "no_route_out": it gets one through a gateway. */
int __wrap_ioctl(int fd, unsigned long request, void *argument)
{
	int done = __real_ioctl(fd, request, argument);
	if (request != SIOCSIFFLAGS || done < 0)
		return done;
	if (fault("loopback_only") || fault("no_route_out"))
		done = add_route(fd, 0x0a000000, 0);
	return fault("no_route_out") && done == 0 ? add_route(fd, 0x0b000000, 0x0a000001) : done;
}

/* The file of a limit of groups that was opened last to be written once; "memory_limit" and "process_limit" change what is written. */
static struct { int fd; bool memory; } limit_file = {.fd = -1};

static void note_limit_file(const char *name, int fd)
{
	bool memory = !strcmp(name, "memory.max") || !strcmp(name, "memory.limit_in_bytes");
	limit_file.fd = memory || !strcmp(name, "pids.max") ? fd : -1;
	limit_file.memory = memory;
}

/* Another number than the one in the text, if the chosen fault is about this limit. Returns the size of the new text, or 0. */
static int other_limit(char text[24], const void *from, size_t size, bool memory)
{
	unsigned long long value = size < 24 ? strtoull(memcpy(text, from, size), NULL, 10) : 0;
	if (!value || !fault(memory ? "memory_limit" : "process_limit"))
		return 0;
	return snprintf(text, 24, "%llu", memory ? value / 2 : value + 1);
}

/* "unreadable:FILE": the descriptor can be written if requested, but never read. */
int __wrap_openat(int dir, const char *name, int flags, ...)
{
	/* The first time, these can be read, because the start of a slot or launcher needs their content. */
	static const char *const at_start[] = {"self/mountinfo", "cpu.pressure"};
	static bool opened_before[2];
	char unreadable[128];
	va_list list;
	va_start(list, flags);
	mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
	va_end(list);
	if (!strcmp(name, "ptmx") && fault("terminals")) { /* the machine has as many as kernel.pty.max permits */
		errno = ENOSPC;
		return -1;
	}
	snprintf(unreadable, sizeof unreadable, "unreadable:%s", name);
	bool is_unreadable = fault(unreadable);
	for (int i = 0; i < 2; i++)
		if (!strcmp(name, at_start[i])) {
			is_unreadable = is_unreadable && opened_before[i];
			opened_before[i] = true;
		}
	if (is_unreadable && (flags & O_ACCMODE) == O_RDWR)
		return __real_openat(dir, name, (flags & ~O_ACCMODE) | O_WRONLY);
	if (is_unreadable)
		return __real_openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int opened = __real_openat(dir, name, flags, mode);
	if ((flags & O_ACCMODE) == O_WRONLY)
		note_limit_file(name, opened);
	return opened;
}

/* "init_stays": neither the end of its life line nor a kill ends the init. */
ssize_t __wrap_read(int fd, void *to, size_t size)
{
	ssize_t n = __real_read(fd, to, size);
	while (n == 0 && size == 1 && in_init() && fault("init_stays"))
		pause();
	return n;
}

ssize_t __wrap_write(int fd, const void *from, size_t size)
{
	char text[24] = "";
	if (size == 1 && in_program() && fault("cgroup_membership"))
		return 1;
	bool limit = fd >= 0 && fd == limit_file.fd;
	int n = limit ? other_limit(text, from, size, limit_file.memory) : 0;
	limit_file.fd = -1;
	return n > 0 ? (__real_write(fd, text, (size_t)n) == n ? (ssize_t)size : -1) : __real_write(fd, from, size);
}

/* "memory_limit", "process_limit": another value is written. The size of a value shows which of the two limits it is. */
ssize_t __wrap_pwrite(int fd, const void *from, size_t size, off_t at)
{
	char text[24] = "";
	unsigned long long value = size < sizeof text ? strtoull(memcpy(text, from, size), NULL, 10) : 0;
	int n = other_limit(text, from, size, value >= 1 << 20);
	if (!n)
		return __real_pwrite(fd, from, size, at);
	return __real_pwrite(fd, text, (size_t)n, at) == n ? (ssize_t)size : -1;
}

/* "unreadable:socket counts", "unreadable:lock counts": a look-up in the map of struct loopback_counts, or of struct lock_counts. */
static bool is_unreadable_map(const union bpf_attr *attr)
{
	struct bpf_map_info info = {0};
	union bpf_attr about;
	if (!fault("unreadable:socket counts") && !fault("unreadable:lock counts"))
		return false;
	memset(&about, 0, sizeof about);
	about.info.bpf_fd = attr->map_fd;
	about.info.info = (uint64_t)(uintptr_t)&info;
	about.info.info_len = sizeof info;
	return __real_syscall(__NR_bpf, BPF_OBJ_GET_INFO_BY_FD, &about, sizeof about, seccomp_key) == 0 &&
	       info.value_size == (fault("unreadable:lock counts") ? sizeof(struct lock_counts) : sizeof(struct loopback_counts));
}

/* "lock_limit": there is no program at the tracepoint of whole files. At the other one, the launcher tries whether a program works. */
static bool is_of_locks(const union bpf_attr *attr)
{
	return !strcmp((const char *)(uintptr_t)attr->raw_tracepoint.name, "flock_lock_inode");
}

long __wrap_syscall(long number, ...)
{
	va_list list;
	long a[6];
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (number == __NR_clone3) {
		struct clone_args *args = (struct clone_args *)a[0];
		boxes += (args->flags & CLONE_NEWPID) != 0;
		if (fault("pid_namespace"))
			args->flags &= ~(uint64_t)CLONE_NEWPID;
		if (fault("cgroup_membership"))
			args->flags &= ~(uint64_t)CLONE_INTO_CGROUP;
	}
	if (number == __NR_setns && in_program() && a[1] == skipped_namespace())
		return 0;
	if (number == __NR_unshare && in_program() && fault("cgroup_namespace"))
		return 0;
	if (number == __NR_setresuid && fault("unprivileged_user"))
		return 0;
	if (number == __NR_seccomp && fault("seccomp_filter"))
		return 0;
	if (number == __NR_mount && in_init()) {
		char hangs[32];
		snprintf(hangs, sizeof hangs, "box_%d_hangs", boxes);
		while (fault(hangs))
			pause();
		if (fault("restricted_proc") && !strcmp((const char *)a[2], "proc"))
			a[4] = 0;
	}
	if (number == __NR_umount2 && fault("umount") && !strcmp((const char *)a[0], "/box"))
		return 0;
	if (number == __NR_pidfd_send_signal && fault("init_stays"))
		return 0;
	if (number == __NR_prlimit64 && a[2] && a[1] == RLIMIT_NOFILE && fault("resource_limits")) {
		const struct rlimit *wanted = (const struct rlimit *)a[2];
		struct rlimit other = {wanted->rlim_cur - 1, wanted->rlim_max};
		return __real_syscall(number, a[0], a[1], &other, a[3], a[4]);
	}
	if (number == __NR_bpf && a[0] == BPF_MAP_LOOKUP_ELEM && (fault("signal_counts") || is_unreadable_map((const union bpf_attr *)a[1]))) {
		errno = EIO;
		return -1;
	}
	if (number == __NR_move_mount && a[3] && !strcmp((const char *)a[3], "proc/loadavg") && fault("uncovered_proc"))
		return 0;
	/* Without any program on the group, the kernel has no storage for the group either. */
	if (number == __NR_bpf && a[0] == BPF_PROG_ATTACH && ((const union bpf_attr *)a[1])->attach_type == BPF_CGROUP_SOCK_OPS && fault("socket_limit"))
		return 0;
	/* "no_lookup": connections of a sandbox with a network do not come to its relay. */
	if (number == __NR_bpf && a[0] == BPF_LINK_CREATE && ((const union bpf_attr *)a[1])->link_create.attach_type == BPF_SK_LOOKUP && fault("no_lookup"))
		return fcntl((int)((const union bpf_attr *)a[1])->link_create.prog_fd, F_DUPFD_CLOEXEC, 0);
	/* "no_relay": the relay cannot enter the namespace of its sandbox. No process of a sandbox enters one before it has the user of the relay. */
	if (number == __NR_setns && a[1] == CLONE_NEWNET && !in_program() && fault("no_relay")) {
		errno = EPERM;
		return -1;
	}
	if (number == __NR_bpf && a[0] == BPF_RAW_TRACEPOINT_OPEN && fault("lock_limit") && is_of_locks((const union bpf_attr *)a[1]))
		return fcntl((int)((const union bpf_attr *)a[1])->raw_tracepoint.prog_fd, F_DUPFD_CLOEXEC, 0);
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
