/*
  * Preloaded into user-mode Linux, which has a buffer of 2,696 bytes for the processor's extended state. On a processor with a
  * larger state (AMX: 11,008 bytes) the host refuses to set a part of it, and user-mode Linux panics at its first process. This
  * wrapper merges the part into the whole state of the process.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { LARGEST = 65536 };

long ptrace(enum __ptrace_request request, ...)
{
	static long (*real)(enum __ptrace_request, ...);
	static char whole[LARGEST];
	va_list list;
	va_start(list, request);
	pid_t pid = va_arg(list, pid_t);
	void *address = va_arg(list, void *), *data = va_arg(list, void *);
	va_end(list);
	if (!real)
		real = (long (*)(enum __ptrace_request, ...))dlsym(RTLD_NEXT, "ptrace");
	if (request != PTRACE_SETREGSET || (unsigned long)address != NT_X86_XSTATE)
		return real(request, pid, address, data);
	const struct iovec *given = data;
	struct iovec all = {whole, sizeof whole};
	if (real(PTRACE_GETREGSET, pid, address, &all) < 0 || given->iov_len > all.iov_len)
		return real(request, pid, address, data);
	memcpy(whole, given->iov_base, given->iov_len);
	return real(request, pid, address, &all);
}
