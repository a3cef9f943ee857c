/* Whether a program waits for the input that the slot passes to it, by its system calls. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "supervise-parts.h"

enum { TASKS_READ = 64 };

/* System calls in which a program waits for input. Others, such as a sleep, are its own decision. */
static bool is_wait_for_input(const char *call)
{
	static const long any[] = {
#ifdef __NR_poll
		__NR_poll, __NR_select, __NR_epoll_wait,
#endif
		__NR_ppoll, __NR_pselect6, __NR_epoll_pwait,
	};
	long number;
	unsigned long first;
	if (sscanf(call, "%ld 0x%lx", &number, &first) != 2)
		return false;
	for (size_t i = 0; i < sizeof any / sizeof *any; i++)
		if (number == any[i])
			return true;
	return (number == __NR_read || number == __NR_readv || number == __NR_splice) && first == 0;
}

bool waits_for_input(const struct watch *w)
{
	const struct launcher *l = w->slot->launcher;
	pid_t task[TASKS_READ];
	int left = 0;
	if (w->box->in_fd < 0 || ioctl(w->box->in_fd, FIONREAD, &left) < 0 || left > 0)
		return false;
	int tasks = leaf_tasks(&l->groups, w->box->leaf, task, TASKS_READ);
	bool waits = false;
	for (int i = 0; i < tasks && i < TASKS_READ; i++) {
		char name[32], call[128] = "";
		snprintf(name, sizeof name, "%d/syscall", task[i]);
		int fd = open_proc(l, name);
		ssize_t n = fd < 0 ? -1 : read(fd, call, sizeof call - 1);
		close_fd(&fd);
		if (n > 0 && !strncmp(call, "running", 7))
			return false;
		waits = waits || (n > 0 && is_wait_for_input(call));
	}
	return waits;
}
