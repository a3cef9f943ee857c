/*
 * Over 300 lines: one program.
 *
 * Runs an interpreter until it waits for its step (launcher/PROTOCOL.md), and writes its state for thaw.c:
 *
 *   freeze SNAPSHOT STACK_BYTES INTERPRETER OPTIONS PROGRAM [ARGUMENT...]
 *
 * OPTIONS, with blanks between them, let it wait; they follow PROGRAM, which is argv[0]. The interpreter gets this
 * environment, and the step's descriptors, directory and stack limit. Its state is taken at the end of the system call
 * that closes READY_FD, the last of the code that waits. Its other threads must then wait in system calls, which they
 * repeat; its other descriptors must be of files.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frozen.h"

enum { PAGE = 4096, ARGUMENTS = 64, ZERO_RUN = 8, NOBODY = 65534 };
/* Interrupted system calls, as the kernel marks them for itself. */
enum { ERESTARTSYS = 512, ERESTARTNOINTR = 513, ERESTARTNOHAND = 514, ERESTART_RESTARTBLOCK = 516 };
enum { SYSCALL_LENGTH = 2, QUIET_MS = 1000, COPIED_BYTES = 8 << 20 };

extern char **environ;
static struct frozen frozen;
static pid_t child, thread_id[FROZEN_THREADS];
static int out, memory;
static uint64_t out_end, text_end;

static _Noreturn void refuse(const char *why)
{
	kill(child, SIGKILL);
	errx(1, "cannot freeze: %s", why);
}

static void check(bool done, const char *step)
{
	if (!done) {
		int reason = errno;
		if (child > 0)
			kill(child, SIGKILL);
		errno = reason;
		err(1, "%s", step);
	}
}

static uint32_t add_text(const char *s)
{
	size_t size = strlen(s) + 1;
	uint32_t at = (uint32_t)text_end;
	if (text_end + size > sizeof frozen.text)
		refuse("too much text");
	memcpy(frozen.text + text_end, s, size);
	text_end += size;
	return at;
}

static uint32_t add_list(char *const *list, uint32_t *count)
{
	uint32_t at = (uint32_t)text_end;
	for (*count = 0; list[*count]; ++*count)
		add_text(list[*count]);
	return at;
}

/* Appends to the snapshot and returns its place. */
static uint64_t add_bytes(const void *data, size_t size)
{
	uint64_t at = out_end;
	check(pwrite(out, data, size, (off_t)at) == (ssize_t)size, "write the snapshot");
	out_end += (size + PAGE - 1) / PAGE * PAGE;
	return at;
}

static void peek(uint64_t from, void *to, size_t size)
{
	check(pread(memory, to, size, (off_t)from) == (ssize_t)size, "read the program's memory");
}

/* --- the interpreter's own start ------------------------------------------------------------------ */

static _Noreturn void become(const char *interpreter, char **argv, struct rlimit stack, const int ends[5])
{
	for (int i = 0; i < 5; i++)
		check(dup2(ends[i], 100 + i) >= 0, "descriptors");
	for (int i = 0; i < 5; i++)
		check(dup2(100 + i, i) >= 0, "descriptors");
	check(close_range(5, ~0u, 0) == 0, "descriptors");
	check(setrlimit(RLIMIT_STACK, &stack) == 0, "stack limit");
	check(chdir("/box") == 0, "/box");
	check(setgid(NOBODY) == 0 && setuid(NOBODY) == 0, "user");
	raise(SIGSTOP);
	execve(interpreter, argv, environ);
	err(1, "%s", interpreter);
}

/*
 * Memory from brk is not kept: the kernel accepts no start of it from an unprivileged process. A program that gets none
 * maps its memory. This address is above all others, so later calls fail as well, once; then the C library knows the
 * real one.
 */
static void refuse_brk(pid_t thread)
{
	struct user_regs_struct r;
	check(ptrace(PTRACE_GETREGS, thread, NULL, &r) == 0, "registers");
	r.rax = 0x7ffffffff000;
	check(ptrace(PTRACE_SETREGS, thread, NULL, &r) == 0, "registers");
}

/* @param t of the thread that has made the call. @return whether the program is to be frozen. */
static bool note_call(struct frozen_thread *t, uint64_t number, const uint64_t *a)
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
			peek(a[1], &frozen.action[a[0] - 1], sizeof *frozen.action);
			frozen.has_action |= 1ull << (a[0] - 1);
		}
		break;
	case SYS_sigaltstack:
		if (a[0])
			peek(a[0], t->signal_stack, sizeof t->signal_stack);
		break;
	case SYS_fork:
	case SYS_vfork:
	case SYS_timer_create:
	case SYS_setitimer:
		refuse("it has state in the kernel that is not restored");
	default:
		break;
	}
	return number == SYS_close && a[0] == READY_FD;
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

static void forget_thread(pid_t id)
{
	uint32_t i = find_thread(id), last = --frozen.threads;
	frozen.thread[i] = frozen.thread[last];
	frozen.thread[last] = (struct frozen_thread){0};
	memcpy(entered[i], entered[last], sizeof *entered);
	thread_id[i] = thread_id[last];
}

/* The C library calls clone3. */
static void note_new_thread(pid_t parent)
{
	unsigned long id;
	uint64_t clone_args[3]; /* flags, pidfd, child_tid */
	const uint64_t *call = entered[find_thread(parent)];
	check(ptrace(PTRACE_GETEVENTMSG, parent, NULL, &id) == 0, "new thread");
	if (call[0] != SYS_clone3)
		refuse("it has started a process");
	peek(call[1], clone_args, sizeof clone_args);
	frozen.thread[find_thread((pid_t)id)].tid_address = clone_args[2];
}

/* A stop at the beginning or the end of a system call. @return whether the program is to be frozen. */
static bool handle_call(pid_t thread)
{
	struct __ptrace_syscall_info call;
	uint32_t i = find_thread(thread);
	check(ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof call, &call) > 0, "system call");
	if (call.op == PTRACE_SYSCALL_INFO_ENTRY) {
		entered[i][0] = call.entry.nr;
		memcpy(entered[i] + 1, call.entry.args, sizeof call.entry.args);
		return false;
	}
	if (entered[i][0] == SYS_brk)
		refuse_brk(thread);
	return !call.exit.is_error && note_call(&frozen.thread[i], entered[i][0], entered[i] + 1);
}

/* Handles a stop of a thread and lets it continue. @return whether the program is to be frozen; then it does not continue. */
static bool handle_stop(pid_t thread, int status)
{
	int signal = 0, event = status >> 16;
	if (!WIFSTOPPED(status)) {
		if (thread == child)
			refuse("it did not wait for its step");
		forget_thread(thread);
		return false;
	}
	if (event == PTRACE_EVENT_CLONE) {
		note_new_thread(thread);
	} else if (event == PTRACE_EVENT_EXEC) {
		char name[32];
		snprintf(name, sizeof name, "/proc/%d/mem", child);
		memory = open(name, O_RDONLY | O_CLOEXEC);
		check(memory >= 0, name);
	} else if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
		if (handle_call(thread))
			return true;
	} else if (event == 0) {
		signal = WSTOPSIG(status); /* the JVM uses SIGSEGV */
	}
	check(ptrace(PTRACE_SYSCALL, thread, NULL, signal) == 0, "continue");
	return false;
}

/* Follows the program's system calls to the one at which it is frozen. @return its thread. */
static pid_t follow(void)
{
	int status;
	pid_t thread = child;
	check(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status), "start");
	check(ptrace(PTRACE_SEIZE, child, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) == 0,
	      "trace");
	find_thread(child);
	kill(child, SIGCONT);
	do {
		thread = waitpid(-1, &status, __WALL);
		check(thread > 0, "wait");
	} while (!handle_stop(thread, status));
	return thread;
}

/* The others finish what they do, and are then stopped. */
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

/* --- its state ------------------------------------------------------------------------------------- */

static void save_thread(struct frozen_thread *t, pid_t id)
{
	struct user_regs_struct r;
	struct user_fpregs_struct fp;
	char path[64];
	_Static_assert(sizeof fp == sizeof t->fp, "the layout of fxsave");
	check(ptrace(PTRACE_GETREGS, id, NULL, &r) == 0, "registers");
	check(ptrace(PTRACE_GETFPREGS, id, NULL, &fp) == 0, "floating-point registers");
	check(ptrace(PTRACE_GETSIGMASK, id, sizeof t->signal_mask, &t->signal_mask) == 0, "signal mask");
	memcpy(t->fp, &fp, sizeof fp);
	t->fs_base = r.fs_base;
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
		t->rip -= SYSCALL_LENGTH;
		t->rax = r.orig_rax;
	}
	snprintf(path, sizeof path, "/proc/%d/task/%d/comm", child, id);
	FILE *name = fopen(path, "re");
	check(name && fscanf(name, "%15[^\n]", t->name) == 1, path);
	fclose(name);
}

/* Files that the program has open; not those of the step. */
static void save_files(void)
{
	char path[64], target[4096], line[64];
	for (uint32_t fd = READY_FD + 1; fd < 1024; fd++) {
		struct stat st;
		snprintf(path, sizeof path, "/proc/%d/fd/%u", child, fd);
		ssize_t size = readlink(path, target, sizeof target - 1);
		if (size < 0)
			continue;
		target[size] = 0;
		if (stat(path, &st) < 0 || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) || frozen.files == FROZEN_FILES)
			refuse(target);
		snprintf(path, sizeof path, "/proc/%d/fdinfo/%u", child, fd);
		FILE *info = fopen(path, "re");
		check(info, path);
		while (fgets(line, sizeof line, info)) {
			sscanf(line, "pos: %lu", &frozen.file[frozen.files].offset);
			sscanf(line, "flags: %o", &frozen.file[frozen.files].flags);
		}
		fclose(info);
		frozen.file[frozen.files].fd = fd;
		frozen.file[frozen.files++].path = add_text(target);
	}
}

static struct frozen_map *add_map(enum frozen_kind kind, uint64_t start, uint64_t size, uint32_t prot)
{
	if (frozen.maps == FROZEN_MAPS)
		refuse("too many mappings");
	struct frozen_map *m = &frozen.map[frozen.maps++];
	*m = (struct frozen_map){.start = start, .size = size, .kind = kind, .prot = prot};
	return m;
}

static bool zero(const char *page)
{
	static const char zeroes[PAGE];
	return memcmp(page, zeroes, PAGE) == 0;
}

/* Runs of zeroes are not stored, unless they are so short that a mapping costs more. */
static void save_pages(const char *data, uint64_t start, uint64_t size, uint32_t prot)
{
	for (uint64_t from = 0, to; from < size; from = to) {
		uint64_t zeroes = 0;
		while (from + zeroes < size && zero(data + from + zeroes))
			zeroes += PAGE;
		if (zeroes >= ZERO_RUN * PAGE || from + zeroes == size) {
			add_map(ZEROES, start + from, zeroes, prot);
			to = from + zeroes;
			continue;
		}
		for (to = from + zeroes, zeroes = 0; to + zeroes < size && zeroes < ZERO_RUN * PAGE;) {
			if (zero(data + to + zeroes)) {
				zeroes += PAGE;
			} else {
				to += zeroes + PAGE;
				zeroes = 0;
			}
		}
		add_map(FROM_SNAPSHOT, start + from, to - from, prot)->offset = add_bytes(data + from, to - from);
	}
}

/* Whether the memory is still that of the file. */
static bool same_as_file(const char *path, uint64_t offset, const char *data, uint64_t size)
{
	char *file = calloc(1, size);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	check(file && fd >= 0 && pread(fd, file, size, (off_t)offset) >= 0, path);
	bool same = memcmp(file, data, size) == 0;
	close(fd);
	free(file);
	return same;
}

static void save_mapping(uint64_t start, uint64_t end, const char *modes, uint64_t offset, const char *path)
{
	uint64_t size = end - start;
	uint32_t prot = (modes[0] == 'r' ? PROT_READ : 0) | (modes[1] == 'w' ? PROT_WRITE : 0) | (modes[2] == 'x' ? PROT_EXEC : 0);
	if (!strcmp(path, "[vsyscall]"))
		return;
	if (!strncmp(path, "[v", 2)) {
		if (frozen.specials == FROZEN_SPECIALS)
			refuse("too many mappings of the kernel");
		frozen.special[frozen.specials].offset = start; /* until the vDSO is known */
		frozen.special[frozen.specials++].size = size;
	}
	char *data = calloc(1, size);
	check(data, "memory");
	if (!strcmp(path, "[vdso]")) {
		peek(start, data, size);
		frozen.vdso = start;
		frozen.vdso_size = size;
		frozen.vdso_offset = add_bytes(data, size);
	} else if (!strncmp(path, "[v", 2)) {
		;
	} else if (!prot) {
		add_map(ZEROES, start, size, prot);
	} else {
		peek(start, data, size);
		if (modes[3] == 's' && (prot & PROT_WRITE))
			refuse("it shares memory");
		if (!strcmp(path, "[stack]")) {
			struct frozen_map *m = add_map(STACK, end - frozen.stack_limit, frozen.stack_limit, prot);
			uint64_t used = frozen.thread[0].rsp - 128 - start; /* with the red zone */
			m->filled = size - used;
			m->offset = add_bytes(data + used, m->filled);
		} else if (path[0] == '/' && same_as_file(path, offset, data, size)) {
			struct frozen_map *m = add_map(FROM_FILE, start, size, prot);
			m->offset = offset;
			m->path = add_text(path);
		} else {
			save_pages(data, start, size, prot);
		}
	}
	free(data);
}

static void save_memory(void)
{
	char name[32], line[4352], modes[8], path[4096];
	uint64_t start, end, offset;
	snprintf(name, sizeof name, "/proc/%d/maps", child);
	FILE *maps = fopen(name, "re");
	check(maps, name);
	while (fgets(line, sizeof line, maps)) {
		path[0] = 0;
		check(sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095[^\n]", &start, &end, modes, &offset, path) >= 4, name);
		save_mapping(start, end, modes, offset, path);
	}
	fclose(maps);
	for (uint32_t i = 0; i < frozen.specials; i++)
		frozen.special[i].offset -= frozen.vdso;
}

int main(int argc, char **argv)
{
	if (argc < 6)
		errx(2, "usage: freeze SNAPSHOT STACK_BYTES INTERPRETER OPTIONS PROGRAM [ARGUMENT...]");
	const char *interpreter = argv[3];
	struct rlimit stack = {strtoull(argv[2], NULL, 10), strtoull(argv[2], NULL, 10)};
	char *waiting[ARGUMENTS] = {argv[5]};
	int count = 1;
	for (char *option = strtok(argv[4], " "); option && count < ARGUMENTS / 2; option = strtok(NULL, " "))
		waiting[count++] = option;
	for (int i = 6; i < argc && count < ARGUMENTS - 1; i++)
		waiting[count++] = argv[i];

	frozen.magic = FROZEN_MAGIC;
	read_processor(frozen.processor);
	frozen.stack_limit = stack.rlim_cur;
	frozen.arg = add_list(argv + 5, &frozen.args);
	frozen.waiting_arg = add_list(waiting, &frozen.waiting_args);
	frozen.env = add_list(environ, &frozen.envs);

	out = open(argv[1], O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0444);
	check(out >= 0, argv[1]);
	out_end = (sizeof frozen + PAGE - 1) / PAGE * PAGE;

	/* The kinds of the step's descriptors: the interpreter may look at them. */
	int output[2], errors[2], ends[5] = {memfd_create("stdin", 0), 0, 0, eventfd(1, 0), eventfd(0, 0)};
	check(pipe(output) == 0 && pipe(errors) == 0, "pipes");
	ends[1] = output[1];
	ends[2] = errors[1];
	for (int fd = 0; fd < 3; fd++) {
		struct stat st;
		check(fstat(ends[fd], &st) == 0, "descriptors");
		frozen.standard[fd] = st.st_mode & S_IFMT;
	}
	child = fork();
	check(child >= 0, "fork");
	if (child == 0)
		become(interpreter, waiting, stack, ends);
	pid_t last = follow();
	stop_others(last);
	for (uint32_t i = 0; i < frozen.threads; i++)
		save_thread(&frozen.thread[i], thread_id[i]);
	frozen.last = find_thread(last);
	save_files();
	save_memory();
	frozen.copied = out_end < COPIED_BYTES;
	check(pwrite(out, &frozen, sizeof frozen, 0) == sizeof frozen && fsync(out) == 0, "write the snapshot");
	kill(child, SIGKILL);
	return 0;
}
