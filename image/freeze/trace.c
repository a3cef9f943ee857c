/*
 * Traces the system calls of a program to the point at which it is frozen (freeze.c), and saves its threads there. Every call is
 * examined: what it leaves in the kernel is recorded, or the freeze is refused. So a snapshot lacks nothing.
 */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "freeze.h"

/* Interrupted system calls, as the kernel marks them for itself; ENOSYS marks a call that begins. */
enum { ERESTARTSYS = 512, ERESTARTNOINTR = 513, ERESTARTNOHAND = 514, ERESTART_RESTARTBLOCK = 516 };
enum { SYSCALL_LENGTH = 2, QUIET_MS = 1000, PATH_BYTES = 64 };

static pid_t thread_id[FROZEN_THREADS];
static const char *point; /* the file whose first use is the point; NULL: the point is the close of READY_FD */

/*
 * Returns the error with which a call fails, or 0 if it is made. Calls fail whose state is not restored, and those that a box
 * refuses (launcher/seccomp.def), so that a program is frozen in the state in which it would start there. Programs do without
 * them.
 */
static int refusal(uint64_t number, const uint64_t *a)
{
	if (number == SYS_mmap)
		return a[3] & 8 /* MAP_DROPPABLE */ ? EPERM : 0;
	return number == SYS_io_uring_setup || number == SYS_pkey_alloc || number == SYS_membarrier ? ENOSYS : 0;
}

static bool is_one_of(uint64_t value, const uint64_t *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == value)
			return true;
	return false;
}
#define IS_ONE_OF(value, ...) is_one_of(value, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/*
 * Whether everything that the call leaves in the kernel is saved: by record_call() and save_thread(), as a mapping
 * (save-memory.c), or as a descriptor (save-files.c, which refuses those of other kinds). Only calls change what the kernel
 * keeps for a process, so a program without others lacks nothing after the thaw: its user, limits, priority, CPUs, directory,
 * mask, timers, timer slack, personality, and the options of prctl are those of a new program.
 */
static bool is_restored(uint64_t number, const uint64_t *a)
{
	switch (number) {
	case SYS_prctl:
		/* PR_SET_VMA names mappings, which a box refuses. */
		return IS_ONE_OF(a[0], PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE, PR_GET_PDEATHSIG, PR_GET_SECCOMP, PR_GET_NO_NEW_PRIVS,
				 PR_CAPBSET_READ, PR_GET_THP_DISABLE, PR_GET_TIMERSLACK, PR_SET_VMA);
	case SYS_arch_prctl:
		return IS_ONE_OF(a[0], ARCH_SET_FS, ARCH_GET_FS, ARCH_GET_GS, ARCH_GET_CPUID);
	case SYS_fcntl:
		return IS_ONE_OF(a[1], F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_GETPIPE_SZ);
	case SYS_ioctl:
		return IS_ONE_OF(a[1], TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX);
	case SYS_setrlimit:
		return a[0] == RLIMIT_NOFILE; /* up to the hard limit, which is the soft one in a box */
	case SYS_prlimit64:
		return !a[2] || a[1] == RLIMIT_NOFILE;
	default:
		return IS_ONE_OF(number,
			/* memory */
			SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_madvise, SYS_brk, SYS_mincore, SYS_msync,
			/* descriptors */
			SYS_open, SYS_openat, SYS_creat, SYS_close, SYS_close_range, SYS_dup, SYS_dup2, SYS_dup3, SYS_pipe, SYS_pipe2,
			SYS_lseek, SYS_eventfd, SYS_eventfd2, SYS_epoll_create, SYS_epoll_create1, SYS_epoll_ctl, SYS_memfd_create,
			SYS_socket, SYS_socketpair, SYS_connect, SYS_setsockopt, SYS_timerfd_create, SYS_signalfd4, SYS_inotify_init1,
			/* contents and names of files, which remain */
			SYS_read, SYS_pread64, SYS_readv, SYS_preadv, SYS_write, SYS_pwrite64, SYS_writev, SYS_pwritev, SYS_sendfile,
			SYS_copy_file_range, SYS_ftruncate, SYS_fallocate, SYS_fsync, SYS_fdatasync, SYS_stat, SYS_fstat, SYS_lstat,
			SYS_newfstatat, SYS_statx, SYS_statfs, SYS_fstatfs, SYS_access, SYS_faccessat, SYS_faccessat2, SYS_readlink,
			SYS_readlinkat, SYS_getdents, SYS_getdents64, SYS_getcwd, SYS_getxattr, SYS_lgetxattr, SYS_fgetxattr, SYS_mkdir,
			SYS_mkdirat, SYS_rmdir, SYS_unlink, SYS_unlinkat, SYS_rename, SYS_renameat, SYS_renameat2, SYS_link, SYS_symlink,
			SYS_chmod, SYS_fchmod, SYS_fchmodat, SYS_utimensat, SYS_sendto, SYS_sendmsg, SYS_recvfrom, SYS_recvmsg,
			/* threads and signals */
			SYS_clone3, SYS_exit, SYS_set_tid_address, SYS_set_robust_list, SYS_rseq, SYS_futex, SYS_sigaltstack, SYS_rt_sigaction,
			SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_rt_sigpending, SYS_kill, SYS_tkill,
			SYS_tgkill, SYS_restart_syscall,
			/* waiting */
			SYS_poll, SYS_ppoll, SYS_select, SYS_pselect6, SYS_epoll_wait, SYS_epoll_pwait, SYS_nanosleep, SYS_clock_nanosleep,
			SYS_sched_yield, SYS_pause,
			/* facts */
			SYS_getpid, SYS_gettid, SYS_getppid, SYS_getpgid, SYS_getpgrp, SYS_getsid, SYS_getuid, SYS_geteuid, SYS_getgid,
			SYS_getegid, SYS_getresuid, SYS_getresgid, SYS_getgroups, SYS_capget, SYS_getrlimit, SYS_getrusage, SYS_times,
			SYS_getpriority, SYS_getcpu, SYS_sched_getaffinity, SYS_sched_getscheduler, SYS_sched_getparam,
			SYS_sched_get_priority_max, SYS_sched_get_priority_min, SYS_get_mempolicy, SYS_get_robust_list, SYS_uname, SYS_sysinfo,
			SYS_getrandom, SYS_time, SYS_gettimeofday, SYS_clock_gettime, SYS_clock_getres, SYS_getitimer);
	}
}

/* Replaces the number of a call at its beginning, or the result at its end. */
static void refuse_call(pid_t thread, bool begins, uint64_t result)
{
	struct user_regs_struct r;
	check(ptrace(PTRACE_GETREGS, thread, NULL, &r) == 0, "registers");
	if (begins)
		r.orig_rax = (unsigned long long)-1;
	else
		r.rax = result;
	check(ptrace(PTRACE_SETREGS, thread, NULL, &r) == 0, "registers");
}

static unsigned programs; /* that it has executed */

/* Records what a call of this thread leaves in the kernel. Returns whether the program is to be frozen now. */
static bool record_call(struct frozen_thread *t, uint64_t number, const uint64_t *a)
{
	switch (number) {
	case SYS_set_tid_address:
		t->tid_address = a[0];
		break;
	case SYS_set_robust_list:
		t->robust_list = a[0];
		t->robust_size = a[1];
		break;
	case SYS_rseq:
		t->rseq = a[0];
		t->rseq_size = a[1];
		t->rseq_signature = a[3];
		break;
	case SYS_rt_sigaction:
		if (a[1]) {
			read_memory(a[1], &frozen.action[a[0] - 1], sizeof *frozen.action);
			frozen.has_action |= 1ull << (a[0] - 1);
		}
		break;
	case SYS_sigaltstack:
		if (a[0])
			read_memory(a[0], t->signal_stack, sizeof t->signal_stack);
		break;
	case SYS_execve:
		if (++programs > 1)
			refuse("it has become another program");
		break;
	default:
		if (!is_restored(number, a)) {
			static char why[96];
			snprintf(why, sizeof why, "system call %lu (0x%lx, 0x%lx) can leave state in the kernel that is not restored", number, a[0], a[1]);
			refuse(why);
		}
	}
	return !point && number == SYS_close && a[0] == READY_FD;
}

static uint32_t find_thread(pid_t id)
{
	for (uint32_t i = 0; i < frozen.threads; i++)
		if (thread_id[i] == id)
			return i;
	if (frozen.threads == FROZEN_THREADS)
		refuse("too many threads");
	thread_id[frozen.threads] = id;
	return frozen.threads++;
}

static uint64_t entered[FROZEN_THREADS][7]; /* number and arguments of the call that each thread makes */

static void remove_thread(pid_t id)
{
	uint32_t i = find_thread(id), last = --frozen.threads;
	frozen.thread[i] = frozen.thread[last];
	frozen.thread[last] = (struct frozen_thread){0};
	memcpy(entered[i], entered[last], sizeof *entered);
	thread_id[i] = thread_id[last];
}

/* The C library starts threads with clone3. */
static void record_new_thread(pid_t parent)
{
	unsigned long id;
	uint64_t clone_args[3]; /* flags, pidfd, child_tid */
	const uint64_t *call = entered[find_thread(parent)];
	check(ptrace(PTRACE_GETEVENTMSG, parent, NULL, &id) == 0, "new thread");
	if (call[0] != SYS_clone3)
		refuse("it has started a process");
	read_memory(call[1], clone_args, sizeof clone_args);
	frozen.thread[find_thread((pid_t)id)].tid_address = clone_args[2];
}

/* Whether the call uses the file that is the point. */
static bool uses_point(uint64_t number, const uint64_t *a)
{
	char path[PATH_BYTES] = "";
	if (!point || !a[1] || (number != SYS_openat && number != SYS_statx && number != SYS_newfstatat))
		return false;
	for (size_t i = 0; i < sizeof path - 1; i++) {
		read_memory(a[1] + i, path + i, 1);
		if (!path[i])
			break;
	}
	return strcmp(path, point) == 0;
}

/*
 * The result of brk, which makes the program map its memory instead: memory from brk cannot be restored, because the kernel
 * accepts no start of it from an unprivileged process. This address is above all others, so the first call after the thaw fails
 * as well; then the C library knows the real one.
 */
static const uint64_t NO_BREAK = 0x7ffffffff000;

/* Handles a stop at the beginning or the end of a system call. Returns whether the program is to be frozen now. */
static bool handle_call(pid_t thread)
{
	struct __ptrace_syscall_info call;
	uint32_t i = find_thread(thread);
	check(ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof call, &call) > 0, "system call");
	if (call.op == PTRACE_SYSCALL_INFO_ENTRY) {
		entered[i][0] = call.entry.nr;
		memcpy(entered[i] + 1, call.entry.args, sizeof call.entry.args);
		if (refusal(entered[i][0], entered[i] + 1))
			refuse_call(thread, true, 0);
		return uses_point(entered[i][0], entered[i] + 1);
	}
	int error = refusal(entered[i][0], entered[i] + 1);
	if (entered[i][0] == SYS_brk || error)
		refuse_call(thread, false, error ? -(uint64_t)error : NO_BREAK);
	return !call.exit.is_error && record_call(&frozen.thread[i], entered[i][0], entered[i] + 1);
}

/* Handles a stop of a thread and lets it continue, unless the program is to be frozen now. Returns whether it is. */
static bool handle_stop(pid_t thread, int status)
{
	int signal = 0, event = status >> 16;
	if (!WIFSTOPPED(status)) {
		if (thread == child)
			refuse("it did not wait for its step");
		remove_thread(thread);
		return false;
	}
	if (event == PTRACE_EVENT_CLONE) {
		record_new_thread(thread);
	} else if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
		if (handle_call(thread))
			return true;
	} else if (event == 0) {
		signal = WSTOPSIG(status); /* the JVM uses SIGSEGV */
	}
	check(ptrace(PTRACE_SYSCALL, thread, NULL, signal) == 0, "continue");
	return false;
}

/* Lets the program run to the system call at which it is frozen. Returns the thread that has made it. */
static pid_t trace_to_point(void)
{
	int status;
	pid_t thread = child;
	check(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status), "start");
	check(ptrace(PTRACE_SEIZE, child, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL) == 0,
	      "trace");
	find_thread(child);
	kill(child, SIGCONT);
	do {
		thread = waitpid(-1, &status, __WALL);
		check(thread > 0, "wait");
	} while (!handle_stop(thread, status));
	return thread;
}

/* Stops all other threads, after a second in which they finish what they do. */
static void stop_others(pid_t last)
{
	int status;
	for (int ms = 0; frozen.threads > 1 && ms < QUIET_MS; ms++) {
		for (pid_t thread; (thread = waitpid(-1, &status, __WALL | WNOHANG)) > 0;)
			handle_stop(thread, status);
		usleep(1000);
	}
	for (uint32_t i = 0; i < frozen.threads; i++)
		if (thread_id[i] != last)
			check(ptrace(PTRACE_INTERRUPT, thread_id[i], NULL, NULL) == 0 && waitpid(thread_id[i], &status, __WALL) > 0, "stop");
}

static void save_thread(struct frozen_thread *t, pid_t id)
{
	struct user_regs_struct r;
	struct user_fpregs_struct fp;
	char path[64];
	_Static_assert(sizeof fp == sizeof t->fp, "the layout of fxsave");
	for (uint32_t shared = 0; shared <= PTRACE_PEEKSIGINFO_SHARED; shared++) {
		struct __ptrace_peeksiginfo_args pending = {.flags = shared, .nr = 1};
		siginfo_t unused;
		if (ptrace(PTRACE_PEEKSIGINFO, id, &pending, &unused) != 0)
			refuse("a signal is pending");
	}
	check(ptrace(PTRACE_GETREGS, id, NULL, &r) == 0, "registers");
	check(ptrace(PTRACE_GETFPREGS, id, NULL, &fp) == 0, "floating-point registers");
	check(ptrace(PTRACE_GETSIGMASK, id, sizeof t->signal_mask, &t->signal_mask) == 0, "signal mask");
	memcpy(t->fp, &fp, sizeof fp);
	t->fs_base = r.fs_base;
	if (r.gs_base)
		refuse("it uses a register that is not restored");
	t->rax = r.rax, t->rbx = r.rbx, t->rbp = r.rbp, t->rdx = r.rdx, t->rsi = r.rsi, t->rdi = r.rdi;
	t->r8 = r.r8, t->r9 = r.r9, t->r10 = r.r10, t->r12 = r.r12, t->r13 = r.r13, t->r14 = r.r14, t->r15 = r.r15;
	t->rsp = r.rsp, t->rip = r.rip;
	if ((int64_t)r.orig_rax < 0)
		refuse("a thread does not wait");
	switch (-(int64_t)r.rax) {
	case ERESTARTSYS:
	case ERESTARTNOINTR:
	case ERESTARTNOHAND:
	case ERESTART_RESTARTBLOCK:
	case ENOSYS:
		t->rip -= SYSCALL_LENGTH;
		t->rax = r.orig_rax;
	}
	snprintf(path, sizeof path, "/proc/%d/task/%d/comm", child, id);
	FILE *name = fopen(path, "re");
	check(name && fscanf(name, "%15[^\n]", t->name) == 1, path);
	fclose(name);
}

void trace(const char *source)
{
	point = source;
	pid_t last = trace_to_point();
	frozen.monotonic_ns = now_ns(CLOCK_MONOTONIC);
	frozen.real_ns = now_ns(CLOCK_REALTIME);
	stop_others(last);
	for (uint32_t i = 0; i < frozen.threads; i++)
		save_thread(&frozen.thread[i], thread_id[i]);
	frozen.last = find_thread(last);
}
