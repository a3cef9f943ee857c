/*
 * Takes the place of an interpreter in the image. If command and environment are those of a frozen step, this program continues
 * the interpreter from SNAPSHOT, which freeze.c has written after the interpreter's own start. Otherwise, and if the processor,
 * the kernel, a limit or an occupied address prevents it, it executes INTERPRETER. It is static and has no C library, whose own
 * start takes longer than this program. README.md explains what is restored.
 *
 * Processes share no memory by this but pages of files, which are mapped privately.
 */
#include <asm/prctl.h>
#include <asm/stat.h>
#include <asm/unistd.h>
#include <linux/auxvec.h>
#include <linux/eventpoll.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/fs.h>
#include <linux/prctl.h>
#include <linux/resource.h>
#include <linux/sched.h>
#include <linux/signal.h>
#include <linux/stat.h>
#include <linux/time.h>
#include <stdbool.h>
#include <stddef.h>

#include "frozen.h"

enum { RED_ZONE = 128, RETRY_FD = 9 };

static struct frozen frozen;

static long call(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long result;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}
#define CALL_6(name, a, b, c, d, e, f, ...) call(__NR_##name, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define CALL(...) CALL_6(__VA_ARGS__, 0, 0, 0, 0, 0, 0)

static bool same(const void *a, const void *b, uint64_t size)
{
	const char *x = a, *y = b;
	for (uint64_t i = 0; i < size; i++)
		if (x[i] != y[i])
			return false;
	return true;
}

/* Whether the list has exactly the strings of the text, each of which ends with a zero. */
static bool same_strings(char **list, uint32_t count, const char *text)
{
	for (uint32_t i = 0; i < count; i++) {
		const char *s = list[i];
		if (!s)
			return false;
		do {
			if (*s != *text++)
				return false;
		} while (*s++);
	}
	return list[count] == NULL;
}

static bool same_machine(void)
{
	uint32_t processor[8];
	struct rlimit64 stack, files;
	read_processor(processor);
	return same(processor, frozen.processor, sizeof processor) &&
	       CALL(prlimit64, 0, RLIMIT_STACK, NULL, &stack) == 0 && stack.rlim_cur == frozen.stack_limit &&
	       /* Files get their numbers by way of higher ones. */
	       CALL(prlimit64, 0, RLIMIT_NOFILE, NULL, &files) == 0 && (frozen.files == 0 || files.rlim_cur > FROZEN_FDS + 1);
}

/* Whether this is the directory of every step, in which interpreters were frozen: they have examined it. */
static bool same_directory(void)
{
	static const char box[] = "/box";
	char directory[sizeof box];
	return CALL(getcwd, directory, sizeof directory) == sizeof box && same(directory, box, sizeof box);
}

/*
 * Whether descriptors, signals and directory are as at the start of a step. A program of the step may start an interpreter with
 * others, which that would examine.
 */
static bool same_surroundings(void)
{
	uint64_t mask;
	struct frozen_action action;
	for (int fd = 0; fd < 3; fd++) {
		struct stat st;
		if (CALL(fstat, fd, &st) < 0 || (st.st_mode & S_IFMT) != frozen.standard[fd])
			return false;
	}
	for (int i = 0; i < FROZEN_SIGNALS; i++)
		if ((frozen.has_action >> i & 1) &&
		    (CALL(rt_sigaction, i + 1, NULL, &action, sizeof action.mask) < 0 || action.handler != (uint64_t)SIG_DFL))
			return false;
	return same_directory() && CALL(lseek, 0, 0, SEEK_CUR) == 0 && CALL(rt_sigprocmask, SIG_BLOCK, NULL, &mask, sizeof mask) == 0 && mask == 0;
}

static bool advise(uint64_t start, uint64_t size, uint32_t advice)
{
	static const struct {
		uint32_t advice;
		int call;
	} calls[] = {
		{WIPED_ON_FORK, MADV_WIPEONFORK}, {ABSENT_IN_CHILD, MADV_DONTFORK}, {NOT_DUMPED, MADV_DONTDUMP},
		{HUGE_PAGES, MADV_HUGEPAGE}, {SMALL_PAGES, MADV_NOHUGEPAGE},
		{READ_AT_RANDOM, MADV_RANDOM}, {READ_IN_SEQUENCE, MADV_SEQUENTIAL},
	};
	for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
		if ((advice & calls[i].advice) && CALL(madvise, start, size, calls[i].call) < 0)
			return false;
	return true;
}

/* Gives adjoining mappings their advice in one call, because most are parts of one mapping of the program. */
static bool advise_all(void)
{
	for (uint32_t i = 0, next; i < frozen.maps; i = next) {
		const struct frozen_map *m = &frozen.map[i];
		uint64_t end = m->start + m->size;
		for (next = i + 1; next < frozen.maps && frozen.map[next].start == end && frozen.map[next].advice == m->advice; next++)
			end += frozen.map[next].size;
		if (m->advice && !advise(m->start, end - m->start, m->advice))
			return false;
	}
	return true;
}

static bool map(int snapshot, const struct frozen_map *m, bool waits)
{
	int flags = MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd = -1;
	switch (m->kind) {
	case FROM_SNAPSHOT:
		fd = snapshot;
		/* One call that copies all pages takes less time than a fault for each page. The copies count as the program's memory. */
		flags |= frozen.copied && (m->prot & PROT_WRITE) ? MAP_POPULATE : 0;
		break;
	case FROM_FILE:
		fd = (int)CALL(openat, AT_FDCWD, frozen.text + m->path, O_RDONLY);
		/* Most of these pages are not used, but a program that waits has the time. */
		flags |= waits ? MAP_POPULATE : 0;
		break;
	default:
		flags |= MAP_ANONYMOUS | MAP_NORESERVE;
	}
	bool done = CALL(mmap, m->start, m->size, m->prot, flags, fd, m->kind == FROM_SNAPSHOT || m->kind == FROM_FILE ? m->offset : 0) ==
		    (long)m->start;
	if (m->kind == FROM_FILE)
		CALL(close, fd);
	return done && (m->kind != STACK || CALL(pread64, snapshot, m->start + m->size - m->filled, m->filled, m->offset) ==
						    (long)m->filled);
}

static bool map_all(int snapshot, bool waits)
{
	for (uint32_t i = 0; i < frozen.maps; i++)
		if (!map(snapshot, &frozen.map[i], waits))
			return false;
	return advise_all();
}

static bool same_vdso(int snapshot, uint64_t vdso)
{
	static char copy[VDSO_BYTES];
	return vdso && CALL(pread64, snapshot, copy, frozen.vdso_size, frozen.vdso_offset) == (long)frozen.vdso_size &&
	       same(copy, (const void *)vdso, frozen.vdso_size);
}

/* Moves vDSO and vvar to where the program expects them. */
static bool move_vdso(uint64_t vdso)
{
	for (uint32_t i = 0; i < frozen.kernel_mappings; i++) {
		uint64_t offset = frozen.kernel_mapping[i].offset, size = frozen.kernel_mapping[i].size;
		/* mremap would replace a mapping at the new address. */
		if (CALL(mmap, frozen.vdso + offset, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) !=
			    (long)(frozen.vdso + offset) ||
		    CALL(mremap, vdso + offset, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, frozen.vdso + offset) < 0)
			return false;
	}
	return true;
}

/* Reports that the runtime waits, and waits for its step (launcher/PROTOCOL.md). */
static bool wait_for_step(void)
{
	uint64_t value = 1;
	return CALL(write, READY_FD, &value, sizeof value) == sizeof value && CALL(read, GO_FD, &value, sizeof value) == sizeof value &&
	       CALL(close, GO_FD) == 0 && CALL(close, READY_FD) == 0;
}

static void restore_signals(void)
{
	for (int i = 0; i < FROZEN_SIGNALS; i++)
		if (frozen.has_action >> i & 1)
			CALL(rt_sigaction, i + 1, &frozen.action[i], NULL, sizeof frozen.action[i].mask);
}

static bool move_fd(int fd, uint32_t wanted, uint32_t flags)
{
	return fd == (int)wanted || (fd >= 0 && CALL(dup3, fd, wanted, flags & O_CLOEXEC) >= 0 && CALL(close, fd) == 0);
}

/* Makes a pipe. Its ends are moved by way of higher numbers, because one of them may have the number that the other needs. */
static bool open_pipe(const struct frozen_file *f)
{
	int ends[2];
	return CALL(pipe2, ends, 0) == 0 && CALL(fcntl, ends[0], F_SETFL, f->flags & O_NONBLOCK) == 0 &&
	       CALL(fcntl, ends[1], F_SETFL, f->other_flags & O_NONBLOCK) == 0 &&
	       move_fd((int)CALL(fcntl, ends[0], F_DUPFD, FROZEN_FDS), f->fd, f->flags) &&
	       move_fd((int)CALL(fcntl, ends[1], F_DUPFD, FROZEN_FDS), f->other_fd, f->other_flags) &&
	       (ends[0] == (int)f->fd || ends[0] == (int)f->other_fd || CALL(close, ends[0]) == 0) &&
	       (ends[1] == (int)f->fd || ends[1] == (int)f->other_fd || CALL(close, ends[1]) == 0) &&
	       CALL(write, f->other_fd, f->content, f->filled) == (long)f->filled;
}

static bool open_file(const struct frozen_file *f)
{
	switch (f->kind) {
	case EVENT_COUNTER:
		return move_fd((int)CALL(eventfd2, f->value, f->flags & (O_CLOEXEC | O_NONBLOCK)), f->fd, f->flags);
	case POLL:
		return move_fd((int)CALL(epoll_create1, f->flags & O_CLOEXEC), f->fd, f->flags);
	case PIPE:
		return open_pipe(f);
	default:
		return move_fd((int)CALL(openat, AT_FDCWD, frozen.text + f->path, f->flags), f->fd, f->flags) &&
		       (f->value == 0 || CALL(lseek, f->fd, f->value, SEEK_SET) >= 0);
	}
}

static bool open_files(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (frozen.closed_on_exec[fd] && CALL(fcntl, fd, F_SETFD, FD_CLOEXEC) < 0)
			return false;
	for (uint32_t i = 0; i < frozen.files; i++)
		if (!open_file(&frozen.file[i]))
			return false;
	for (uint32_t i = 0; i < frozen.watches; i++) {
		const struct frozen_watch *w = &frozen.watch[i];
		struct epoll_event event = {.events = w->events, .data = w->data};
		if (CALL(epoll_ctl, w->poll_fd, EPOLL_CTL_ADD, w->fd, &event) < 0)
			return false;
	}
	return true;
}

static int64_t now_ns(int clock)
{
	struct __kernel_timespec t;
	CALL(clock_gettime, clock, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Moves the times that the program has stored, so that it is as old as it was at the freeze. */
static void move_times(void)
{
	int64_t later_ns = now_ns(CLOCK_MONOTONIC) - frozen.monotonic_ns;
	double later_us = (double)(now_ns(CLOCK_REALTIME) - frozen.real_ns) / 1e3;
	for (uint32_t i = 0; i < frozen.times; i++) {
		void *at = (void *)frozen.time[i].address;
		if (frozen.time[i].clock == MONOTONIC_NS)
			*(int64_t *)at += later_ns;
		else
			*(double *)at += frozen.time[i].clock == REAL_US_DOUBLE ? later_us : (double)later_ns;
	}
}

#define LOAD(r) "mov %c[" #r "](%%rcx), %%" #r "\n\t"
#define AT(r) [r] "i"(offsetof(struct frozen_thread, r))
static _Noreturn void resume(const struct frozen_thread *t)
{
	__asm__ volatile("fxrstor64 %c[fp](%%rcx)\n\t"
			 LOAD(rax) LOAD(rbx) LOAD(rbp) LOAD(rdx) LOAD(rsi) LOAD(rdi) LOAD(r8) LOAD(r9) LOAD(r10) LOAD(r12) LOAD(r13)
			 LOAD(r14) LOAD(r15) LOAD(rsp)
			 "mov %c[rip](%%rcx), %%rcx\n\t"
			 "jmp *%%rcx"
			 : : "c"(t), AT(fp), AT(rax), AT(rbx), AT(rbp), AT(rdx), AT(rsi), AT(rdi), AT(r8), AT(r9), AT(r10), AT(r12), AT(r13),
			     AT(r14), AT(r15), AT(rsp), AT(rip));
	__builtin_unreachable();
}

/* Runs in each thread: sets what only the thread itself can set, and continues the program. */
__attribute__((used)) static _Noreturn void continue_thread(const struct frozen_thread *t)
{
	CALL(set_robust_list, t->robust_list, t->robust_size);
	CALL(rseq, t->rseq, t->rseq_size, 0, t->rseq_signature);
	if (t->signal_stack[2])
		CALL(sigaltstack, t->signal_stack, NULL);
	resume(t);
}

/* Sets what a thread shows to others: its name and its signal mask. Threads that it starts inherit both. */
static void take_name_and_mask(const struct frozen_thread *t)
{
	CALL(prctl, PR_SET_NAME, t->name);
	CALL(rt_sigprocmask, SIG_SETMASK, &t->signal_mask, NULL, sizeof t->signal_mask);
}

/*
 * Starts a thread. The kernel writes its number where the C library expects it. The thread has its name and mask from the
 * start: on a busy machine, it may first run after the program has read its name, or after a signal that it would block.
 */
static bool start_thread(struct frozen_thread *t)
{
	const long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
			   CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
	take_name_and_mask(t);
	/* Until it resumes, the thread uses the unused part of its stack. */
	long stack = ((long)t->rsp - RED_ZONE) & -16;
	register long tid_address __asm__("r10") = (long)t->tid_address, tls __asm__("r8") = (long)t->fs_base;
	long result;
	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "mov %%rbx, %%rdi\n\t"
			 "call continue_thread\n"
			 "1:"
			 : "=a"(result)
			 : "a"(__NR_clone), "D"(flags), "S"(stack), "d"(tid_address), "r"(tid_address), "r"(tls), "b"(t)
			 : "rcx", "r11", "memory");
	return result > 0;
}

/* Finds a value that the kernel passes to a new program; 0 if it passes none. */
static uint64_t auxiliary(char **envp, uint64_t type)
{
	while (*envp)
		envp++;
	unsigned long *aux = (unsigned long *)(envp + 1);
	while (aux[0] != AT_NULL && aux[0] != type)
		aux += 2;
	return aux[0] == AT_NULL ? 0 : aux[1];
}

/* Gives the program new AT_RANDOM bytes. The C library has used the old ones already, but a program may read them as well. */
static bool renew_random_bytes(char **envp)
{
	const uint64_t *mine = (const uint64_t *)auxiliary(envp, AT_RANDOM);
	uint64_t *its = (uint64_t *)frozen.random;
	if (mine) {
		its[0] = mine[0];
		its[1] = mine[1];
	}
	return mine;
}

/*
 * Whether this program was executed again. The kernel places stack and vDSO of each process at random, and in one of 150
 * processes they lie where a JVM has memory. This program then executes itself once more; the open snapshot shows that it did.
 */
static bool is_retry(void)
{
	uint64_t magic = 0;
	bool open = CALL(pread64, RETRY_FD, &magic, sizeof magic, 0) == sizeof magic && magic == FROZEN_MAGIC;
	return open && CALL(close, RETRY_FD) == 0;
}

/* Continues the program. Returns only if it cannot; the exec of the interpreter then undoes everything that was done. */
static void thaw(char **argv, char **envp)
{
	bool retry = is_retry();
	int snapshot = (int)CALL(openat, AT_FDCWD, SNAPSHOT, O_RDONLY | O_CLOEXEC);
	if (snapshot < 0 || CALL(pread64, snapshot, &frozen, sizeof frozen, 0) != sizeof frozen || frozen.magic != FROZEN_MAGIC)
		return;
	bool waits = same_strings(argv, frozen.waiting_args, frozen.text + frozen.waiting_arg);
	if ((!waits && !same_strings(argv, frozen.args, frozen.text + frozen.arg)) ||
	    !same_strings(envp, frozen.envs, frozen.text + frozen.env) || !same_machine() || !same_surroundings() ||
	    !same_vdso(snapshot, auxiliary(envp, AT_SYSINFO_EHDR)))
		return;
	if (!map_all(snapshot, waits) || !move_vdso(auxiliary(envp, AT_SYSINFO_EHDR))) {
		if (!retry && CALL(dup3, snapshot, RETRY_FD, 0) == RETRY_FD)
			CALL(execve, frozen.text + frozen.arg, argv, envp);
		return;
	}
	CALL(close, snapshot);
	restore_signals();
	if (!renew_random_bytes(envp) || !open_files())
		CALL(exit_group, 125);
	for (uint32_t i = 1; i < frozen.threads; i++)
		if (i != frozen.last && !start_thread(&frozen.thread[i]))
			CALL(exit_group, 125);
	take_name_and_mask(&frozen.thread[0]);
	if (waits && !wait_for_step())
		CALL(exit_group, 125);
	move_times();
	if (frozen.last > 0 && !start_thread(&frozen.thread[frozen.last]))
		CALL(exit_group, 125);
	struct frozen_thread *first = &frozen.thread[0];
	take_name_and_mask(first);
	*(int *)first->tid_address = (int)CALL(set_tid_address, first->tid_address);
	CALL(arch_prctl, ARCH_SET_FS, first->fs_base);
	continue_thread(first);
}

__attribute__((used)) _Noreturn static void start(char **stack)
{
	char **argv = stack + 1, **envp = argv + (long)stack[0] + 1;
	thaw(argv, envp);
	CALL(execve, INTERPRETER, argv, envp);
	for (;;)
		CALL(exit_group, 127);
}

__asm__(".globl _start\n_start:\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall start\n");
