/* The kernel sends SIGXCPU to real-time tasks for other limits. No process in a box can become a real-time task. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	struct { uint32_t size, policy; uint64_t flags; int32_t nice; uint32_t priority; uint64_t runtime, deadline, period; }
		deadline = {48, 6, 4, 0, 0, 1000000, 10000000, 10000000};
	struct sched_param fifo = {.sched_priority = 1};
	setrlimit(RLIMIT_RTTIME, &(struct rlimit){1, 1});
	puts(sched_setscheduler(0, SCHED_FIFO, &fifo) ? strerrorname_np(errno) : "real-time");
	puts(syscall(SYS_sched_setattr, 0, &deadline, 0) ? strerrorname_np(errno) : "deadline");
	fflush(stdout);
	for (volatile long i = 0; i < 100000000; i++)
		;
	return 1;
}
