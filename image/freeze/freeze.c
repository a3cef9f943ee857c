/*
 * Runs a program to a point after its own start, and writes a snapshot of it for thaw.c. image/build --freeze runs it as root
 * in the image, once for each program. README.md explains the whole.
 *
 *   freeze SNAPSHOT STACK_BYTES POINT INTERPRETER OPTIONS PROGRAM [ARGUMENT...]
 *
 * POINT is the file whose first use ends the start. Or it is "waiting": then the start ends with the system call that closes
 * READY_FD, the last one of the code that waits for a step (launcher/PROTOCOL.md). OPTIONS, with blanks between them, let the
 * program wait; they follow PROGRAM, which is argv[0]. The program gets this environment, and descriptors, a directory and a
 * stack limit like a step's.
 *
 * At the point, its other threads must wait in system calls, which they repeat after the thaw, and its other descriptors must be of
 * files, pipes within itself, eventfd or epoll.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "freeze.h"

#define UNUSUAL_PID "32000"
/* USER has no name, like the users of boxes, because a JVM stores the name. */
enum { ARGUMENTS = 64, USER = 2000000000, COPIED_BYTES = 8 << 20, DESCRIPTORS = 5 };

extern char **environ;
struct frozen frozen;
pid_t child;
int snapshot;
int64_t started_ns[2];
static uint64_t snapshot_end, text_end;

_Noreturn void refuse(const char *why)
{
	kill(child, SIGKILL);
	errx(1, "cannot freeze: %s", why);
}

void check(bool done, const char *step)
{
	if (!done) {
		int reason = errno;
		if (child > 0)
			kill(child, SIGKILL);
		errno = reason;
		err(1, "%s", step);
	}
}

uint32_t add_text(const char *s)
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

uint64_t add_bytes(const void *data, size_t size)
{
	uint64_t at = snapshot_end;
	check(pwrite(snapshot, data, size, (off_t)at) == (ssize_t)size, "write the snapshot");
	snapshot_end += (size + PAGE - 1) / PAGE * PAGE;
	return at;
}

void read_memory(uint64_t from, void *to, size_t size)
{
	static int memory = -1;
	if (memory < 0) {
		char name[32];
		snprintf(name, sizeof name, "/proc/%d/mem", child);
		memory = open(name, O_RDONLY | O_CLOEXEC);
		check(memory >= 0, name);
	}
	check(pread(memory, to, size, (off_t)from) == (ssize_t)size, "read the program's memory");
}

/* Runs in the child: becomes the program, in the state of a step, when it is traced. */
static _Noreturn void exec_program(const char *interpreter, char **argv, struct rlimit stack, const int *ends, int count)
{
	for (int i = 0; i < count; i++)
		check(dup2(ends[i], 100 + i) >= 0, "descriptors");
	for (int i = 0; i < count; i++)
		check(dup2(100 + i, i) >= 0, "descriptors");
	check(close_range((unsigned)count, ~0u, 0) == 0, "descriptors");
	check(setrlimit(RLIMIT_STACK, &stack) == 0, "stack limit");
	check(chdir("/box") == 0, "/box");
	check(setgid(USER) == 0 && setuid(USER) == 0, "user");
	/* A set-up under nohup ignores SIGHUP, a program of a box does not. */
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	raise(SIGSTOP);
	execve(interpreter, argv, environ);
	err(1, "%s", interpreter);
}

int64_t now_ns(clockid_t clock)
{
	struct timespec t;
	check(clock_gettime(clock, &t) == 0, "clock");
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

int main(int argc, char **argv)
{
	if (argc < 7)
		errx(2, "usage: freeze SNAPSHOT STACK_BYTES POINT INTERPRETER OPTIONS PROGRAM [ARGUMENT...]");
	const char *source = strcmp(argv[3], "waiting") ? argv[3] : NULL, *interpreter = argv[4];
	struct rlimit stack = {strtoull(argv[2], NULL, 10), strtoull(argv[2], NULL, 10)};
	char *waiting[ARGUMENTS] = {argv[6]};
	int count = 1;
	for (char *option = strtok(argv[5], " "); option && count < ARGUMENTS / 2; option = strtok(NULL, " "))
		waiting[count++] = option;
	for (int i = 7; i < argc && count < ARGUMENTS - 1; i++)
		waiting[count++] = argv[i];

	frozen.magic = FROZEN_MAGIC;
	read_processor(frozen.processor);
	frozen.stack_limit = stack.rlim_cur;
	frozen.arg = add_list(argv + 6, &frozen.args);
	if (!source)
		frozen.waiting_arg = add_list(waiting, &frozen.waiting_args);
	frozen.env = add_list(environ, &frozen.envs);

	snapshot = open(argv[1], O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0444);
	check(snapshot >= 0, argv[1]);
	snapshot_end = (sizeof frozen + PAGE - 1) / PAGE * PAGE;

	/* These descriptors are of the same kinds as a step's, because the interpreter may examine them. */
	int output[2], errors[2], ends[DESCRIPTORS] = {memfd_create("stdin", 0), 0, 0, eventfd(1, 0), eventfd(0, 0)};
	int descriptors = source ? GO_FD : DESCRIPTORS;
	check(pipe(output) == 0 && pipe(errors) == 0, "pipes");
	ends[1] = output[1];
	ends[2] = errors[1];
	for (int fd = 0; fd < 3; fd++) {
		struct stat st;
		check(fstat(ends[fd], &st) == 0, "descriptors");
		frozen.standard[fd] = st.st_mode & S_IFMT;
	}
	/* No process of a box has this number, so OpenSSL notices by its pid that its generator needs a new seed. */
	int number = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
	check(number >= 0 && write(number, UNUSUAL_PID, strlen(UNUSUAL_PID)) > 0 && close(number) == 0, "process number");
	for (clockid_t clock = CLOCK_REALTIME; clock <= CLOCK_MONOTONIC; clock++)
		started_ns[clock] = now_ns(clock);
	child = fork();
	check(child >= 0, "fork");
	if (child == 0)
		exec_program(interpreter, waiting, stack, ends, descriptors);
	trace(source);
	save_files((uint32_t)descriptors);
	save_memory();
	save_times();
	frozen.copied = snapshot_end < COPIED_BYTES;
	check(pwrite(snapshot, &frozen, sizeof frozen, 0) == sizeof frozen && fsync(snapshot) == 0, "write the snapshot");
	kill(child, SIGKILL);
	while (waitpid(-1, NULL, __WALL) > 0)
		;
	use_huge_pages();
	return 0;
}
