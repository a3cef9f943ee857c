/*
 * Ends long system calls of killed processes. One read of 128 MiB, the longest that seccomp.def allows, from
 * /proc/PID/pagemap takes 0.05 to 0.1 s in which the kernel does not look at signals, and on a preemptible kernel 60
 * processes can be in such reads when they are killed. A read takes the lock of the process's address space again for
 * each 2 MiB of addresses, and fails with EINTR if it has to wait then and was killed. It has to wait if another task
 * waits to write, so helpers write to /proc/PID/clear_refs, which takes that lock. "5" resets the peak of resident
 * memory and nothing else. Each helper is a process, because it can wait long and must be killable.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "seccomp.h"
#include "supervise-parts.h"

enum { RETRY_USEC = 1000 };

static void use_all_cpus(void)
{
	cpu_set_t all;
	CPU_ZERO(&all);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		CPU_SET(cpu, &all);
	keyed(sched_setaffinity, 0, sizeof all, &all);
}

static void take_lock_of(int proc, pid_t process, pid_t slot)
{
	char name[32];
	snprintf(name, sizeof name, "%d/clear_refs", process);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return;
	while (getppid() == slot) {
		int fd = openat(proc, name, O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, "5", 1) < 0)
			return; /* the process has ended */
		close(fd);
		usleep(RETRY_USEC);
	}
}

static void start_helper(struct watch *w, pid_t process)
{
	for (int i = 0; i < w->helpers; i++)
		if (w->helped[i] == process)
			return;
	if (w->helpers == HELPERS_MAX)
		return;
	int proc = w->slot->launcher->proc;
	pid_t slot = getpid(), helper = fork();
	if (helper == 0) { /* without the slot's state: private.h */
		take_lock_of(proc, process, slot);
		_exit(0);
	}
	if (helper > 0) {
		w->helped[w->helpers] = process;
		w->helper[w->helpers++] = helper;
	}
}

void hurry_end(struct watch *w)
{
	enum { PF_EXITING = 4, DYING_MAX = 1024 };
	const struct launcher *l = w->slot->launcher;
	pid_t task[DYING_MAX];
	int tasks = leaf_tasks(&l->groups, w->box->leaf, task, DYING_MAX), exiting = 0;
	for (int i = 0; i < tasks && i < DYING_MAX; i++) {
		unsigned flags = PF_EXITING;
		if (task_flags(l->proc, task[i], &flags) < 0)
			continue;
		if (flags & PF_EXITING) {
			task[exiting++] = task[i];
			continue;
		}
		use_all_cpus(); /* otherwise the helpers begin behind the calls that they are to end */
		start_helper(w, task[i]);
	}
	/* Not those in a call: without preemption, the helpers need a CPU that such calls do not hold. */
	cpus_spread(l->cpus, w->slot->number, task, exiting);
	w->hurried_ns = now_ns();
}

void end_helpers(struct watch *w)
{
	for (int i = 0; i < w->helpers; i++)
		kill(w->helper[i], SIGKILL);
	for (int i = 0; i < w->helpers; i++)
		waitpid(w->helper[i], NULL, 0);
	w->helpers = 0;
}
