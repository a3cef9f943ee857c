/*
 * Over 300 lines: one program.
 *
 * Runs an interpreter until it waits for its step (launcher/PROTOCOL.md), and writes its state for thaw.c:
 *
 *   freeze SNAPSHOT STACK_BYTES INTERPRETER OPTIONS PROGRAM [ARGUMENT...]
 *
 * OPTIONS, with blanks between them, let it wait; they follow PROGRAM, which is argv[0]. The interpreter gets this
 * environment, and the step's descriptors, directory and stack limit. Its state is taken at the end of the system call
 * that closes READY_FD, the last of the code that waits. It may have one thread and no other descriptors.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frozen.h"

enum { PAGE = 4096, ARGUMENTS = 64, ZERO_RUN = 8, NOBODY = 65534 };

extern char **environ;
static struct frozen frozen;
static pid_t child;
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
	check(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0, "trace");
	execve(interpreter, argv, environ);
	err(1, "%s", interpreter);
}

/*
 * Memory from brk is not kept: the kernel accepts no start of it from an unprivileged process. A program that gets none
 * maps its memory. This address is above all others, so later calls fail as well, once; then the C library knows the
 * real one.
 */
static void refuse_brk(struct user_regs_struct *r)
{
	r->rax = 0x7ffffffff000;
	check(ptrace(PTRACE_SETREGS, child, NULL, r) == 0, "registers");
}

static void note_call(const struct user_regs_struct *r)
{
	switch (r->orig_rax) {
	case SYS_set_tid_address:
		frozen.tid_address = r->rdi;
		break;
	case SYS_set_robust_list:
		frozen.robust_list = r->rdi;
		frozen.robust_size = r->rsi;
		break;
	case SYS_rseq:
		frozen.rseq = r->rdi;
		frozen.rseq_size = r->rsi;
		frozen.rseq_signature = r->r10;
		break;
	case SYS_rt_sigaction:
		if (r->rsi) {
			peek(r->rsi, &frozen.action[r->rdi - 1], sizeof *frozen.action);
			frozen.has_action |= 1ull << (r->rdi - 1);
		}
		break;
	case SYS_sigaltstack:
	case SYS_clone:
	case SYS_clone3:
	case SYS_fork:
	case SYS_vfork:
	case SYS_timer_create:
	case SYS_setitimer:
	case SYS_prctl:
		refuse("it has state in the kernel that is not restored");
	default:
		break;
	}
}

/* Follows the program's system calls to the one at which it is frozen, and returns its registers. */
static struct user_regs_struct follow(void)
{
	struct user_regs_struct r;
	int status;
	check(waitpid(child, &status, 0) == child && WIFSTOPPED(status), "start");
	char name[32];
	snprintf(name, sizeof name, "/proc/%d/mem", child);
	memory = open(name, O_RDONLY | O_CLOEXEC);
	check(memory >= 0, name);
	check(ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) == 0, "options");
	for (bool entered = false;; entered = !entered) {
		check(ptrace(PTRACE_SYSCALL, child, NULL, NULL) == 0, "continue");
		check(waitpid(child, &status, 0) == child, "wait");
		if (!WIFSTOPPED(status) || WSTOPSIG(status) != (SIGTRAP | 0x80))
			refuse("it did not wait for its step");
		check(ptrace(PTRACE_GETREGS, child, NULL, &r) == 0, "registers");
		if (!entered || (int64_t)r.rax < 0)
			continue;
		if (r.orig_rax == SYS_brk)
			refuse_brk(&r);
		else
			note_call(&r);
		if (r.orig_rax == SYS_close && r.rdi == READY_FD)
			return r;
	}
}

/* --- its state ------------------------------------------------------------------------------------- */

static void save_registers(const struct user_regs_struct *r)
{
	struct user_fpregs_struct fp;
	_Static_assert(sizeof fp == sizeof frozen.fp, "the layout of fxsave");
	check(ptrace(PTRACE_GETFPREGS, child, NULL, &fp) == 0, "floating-point registers");
	check(ptrace(PTRACE_GETSIGMASK, child, sizeof frozen.signal_mask, &frozen.signal_mask) == 0, "signal mask");
	memcpy(frozen.fp, &fp, sizeof fp);
	frozen.fs_base = r->fs_base;
	frozen.rbx = r->rbx, frozen.rbp = r->rbp, frozen.rsp = r->rsp, frozen.rip = r->rip;
	frozen.r8 = r->r8, frozen.r9 = r->r9, frozen.r10 = r->r10;
	frozen.r12 = r->r12, frozen.r13 = r->r13, frozen.r14 = r->r14, frozen.r15 = r->r15;
	frozen.rdx = r->rdx, frozen.rsi = r->rsi, frozen.rdi = r->rdi;
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
			uint64_t used = frozen.rsp - 128 - start; /* with the red zone */
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
	child = fork();
	check(child >= 0, "fork");
	if (child == 0)
		become(interpreter, waiting, stack, ends);
	char name[32];
	snprintf(name, sizeof name, "/proc/%d/mem", child);
	struct user_regs_struct r;
	memory = open(name, O_RDONLY | O_CLOEXEC);
	check(memory >= 0, name);
	r = follow();
	save_registers(&r);
	save_memory();
	check(pwrite(out, &frozen, sizeof frozen, 0) == sizeof frozen && fsync(out) == 0, "write the snapshot");
	kill(child, SIGKILL);
	return 0;
}
