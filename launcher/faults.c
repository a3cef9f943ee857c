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
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

int __real_prctl(int option, ...);
int __real_mount(const char *what, const char *at, const char *type, unsigned long flags, const void *data);
int __real_openat(int dir, const char *name, int flags, ...);
ssize_t __real_read(int fd, void *to, size_t size);
ssize_t __real_write(int fd, const void *from, size_t size);
ssize_t __real_pwrite(int fd, const void *from, size_t size, off_t at);
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
	if (fault("own_image") && type && !strcmp(type, "overlay")) {
		errno = ENODEV;
		return -1;
	}
	return __real_mount(what, at, type, flags, data);
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
	return __real_openat(dir, name, flags, mode);
}

/* "init_stays": neither the end of its life line nor a kill ends the init. */
ssize_t __wrap_read(int fd, void *to, size_t size)
{
	ssize_t n = __real_read(fd, to, size);
	while (n == 0 && in_init() && fault("init_stays"))
		pause();
	return n;
}

ssize_t __wrap_write(int fd, const void *from, size_t size)
{
	if (size == 1 && in_program() && fault("cgroup_membership"))
		return 1;
	return __real_write(fd, from, size);
}

/* "memory_limit", "process_limit": another value is written. The size of a value shows which of the two limits it is. */
ssize_t __wrap_pwrite(int fd, const void *from, size_t size, off_t at)
{
	char text[24] = "";
	unsigned long long value = size < sizeof text ? strtoull(memcpy(text, from, size), NULL, 10) : 0;
	if (fault("memory_limit") && value >= 1 << 20)
		value /= 2;
	else if (fault("process_limit") && value && value < 1 << 20)
		value++;
	else
		return __real_pwrite(fd, from, size, at);
	int n = snprintf(text, sizeof text, "%llu", value);
	return __real_pwrite(fd, text, (size_t)n, at) == n ? (ssize_t)size : -1;
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
	if (number == __NR_bpf && a[0] == BPF_MAP_LOOKUP_ELEM && fault("signal_counts")) {
		errno = EIO;
		return -1;
	}
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
