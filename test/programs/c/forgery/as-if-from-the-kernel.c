/* Reads a signal and queues it to itself with the sender information of the kernel's own signals. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	int sig;
	siginfo_t info = {.si_code = SI_KERNEL};
	if (scanf("%d", &sig) != 1)
		return 8;
	info.si_signo = sig;
	syscall(SYS_rt_sigqueueinfo, getpid(), sig, &info);
	syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), sig, &info);
	return 9;
}
