/*
  * Makes each system call by number and prints "ENTRY NUMBER RESULT". RESULT is the name of the errno, "allowed", or "ended" for calls
  * that end, replace or stop the process. Each call is made by its own child with arguments that have no effect: the first is -1, the
  * others are 0.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLS = 520, NOT_BACK = -1000 };

static long native(long number)
{
	errno = 0;
	return syscall(number, -1L, 0L, 0L, 0L, 0L, 0L) < 0 ? -errno : 0;
}

#ifdef __x86_64__
static long x32(long number)
{
	return native(0x40000000L + number);
}

static long i386(long number)
{
	__asm__ volatile("int $0x80" : "+a"(number) : "b"(-1L), "c"(0L), "d"(0L), "S"(0L), "D"(0L) : "memory");
	return number;
}
#endif

static void try(const char *entry, long (*call)(long), volatile long *result)
{
	for (long number = 0; number < CALLS; number++) {
#ifdef SYS_vfork
		if (call == native && number == SYS_vfork)
			continue; /* its child would overwrite the stack frame of the parent */
#endif
		*result = NOT_BACK;
		pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (child == 0) {
			pid_t self = getpid();
			long got = call(number);
			if (getpid() == self) /* not a child created by the call */
				*result = got;
			_exit(0);
		}
		int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
		poll(&(struct pollfd){.fd = pidfd, .events = POLLIN}, 1, 100);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		close(pidfd);
		printf("%s %ld %s\n", entry, number,
		       *result == NOT_BACK ? "ended" : *result < 0 ? strerrorname_np((int)-*result) : "allowed");
		fflush(stdout);
	}
}

int main(void)
{
	volatile long *result = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	fflush(stdout);
	try("native", native, result);
#ifdef __x86_64__
	try("x32", x32, result);
	long number = SYS_getpid;
	__asm__ volatile("int $0x80" : "+a"(number) : : "memory");
	if (number == getpid()) /* User-mode Linux, where this is the native entry */
		return 0;
	try("i386", i386, result);
#endif
	return 0;
}
