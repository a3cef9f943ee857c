/* Reads "WAY SIGNAL" and sends itself that signal in that way; exits with 9 if the kernel refuses. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define IS(name) (!strcmp(way, name))

static void by_timer(clockid_t clock, int sig)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = sig};
	struct itimerspec soon = {.it_value.tv_nsec = 20000000};
	timer_t timer;
	if (timer_create(clock, &event, &timer) || timer_settime(timer, 0, &soon, NULL))
		_exit(9);
	for (volatile long i = 0; i < 1000000000; i++)
		;
}

static void by_readiness(int sig)
{
	int ends[2];
	if (pipe(ends) || fcntl(ends[0], F_SETOWN, getpid()) || fcntl(ends[0], F_SETSIG, sig) ||
	    fcntl(ends[0], F_SETFL, O_ASYNC) || write(ends[1], "x", 1) != 1)
		_exit(9);
	sleep(2);
}

int main(void)
{
	char way[16];
	int sig;
	if (scanf("%15s %d", way, &sig) != 2)
		return 8;
	if (IS("kill"))
		kill(getpid(), sig);
	else if (IS("group"))
		kill(0, sig);
	else if (IS("tgkill"))
		syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), sig);
	else if (IS("pthread_kill"))
		pthread_kill(pthread_self(), sig);
	else if (IS("sigqueue"))
		sigqueue(getpid(), sig, (union sigval){.sival_int = 1});
	else if (IS("pidfd"))
		syscall(SYS_pidfd_send_signal, syscall(SYS_pidfd_open, getpid(), 0), sig, NULL, 0);
	else if (IS("timer"))
		by_timer(CLOCK_MONOTONIC, sig);
	else if (IS("cpu-timer"))
		by_timer(CLOCK_PROCESS_CPUTIME_ID, sig);
	else if (IS("readiness"))
		by_readiness(sig);
	else if (IS("child-death")) {
		if (syscall(SYS_clone, (long)sig, 0, 0, 0, 0) == 0)
			_exit(0);
		sleep(2);
	}
	return 9;
}
