#define _GNU_SOURCE
#include "group.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../launcher/clock.h"

enum { KILL_MS = 10000, POLL_MS = 5 };

/* Writes to a file of the group. Returns -1 with errno if it has no such file. */
static int set(int group, const char *file, const char *value)
{
	int fd = openat(group, file, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t written = write(fd, value, strlen(value));
	close(fd);
	return written < 0 ? -1 : 0;
}

/* Sends SIGKILL to each member, if `kills`. Returns how many there are. */
static int members(int group, bool kills)
{
	int fd = openat(group, "cgroup.procs", O_RDONLY | O_CLOEXEC), found = 0;
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	int pid;
	if (!file) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while (fscanf(file, "%d", &pid) == 1) {
		found++;
		if (kills && pid > 0) /* 0 is a process of another pid namespace; for kill(), it would mean our own process group */
			kill(pid, SIGKILL);
	}
	fclose(file);
	return found;
}

bool group_kill(const char *directory)
{
	int group = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (group < 0)
		return errno == ENOENT;
	/*
	 * A process that forks all the time could escape from a loop over the members. It cannot escape from cgroup.kill, which
	 * version 2 has, and on version 1 it cannot fork while pids.max is 0.
	 */
	bool whole = set(group, "cgroup.kill", "1") == 0;
	if (!whole)
		set(group, "pids.max", "0");
	int left;
	uint64_t end = now_ns() + (uint64_t)KILL_MS * 1000000;
	while ((left = members(group, !whole)) > 0 && now_ns() < end)
		poll(NULL, 0, POLL_MS);
	if (!whole)
		set(group, "pids.max", "max");
	close(group);
	return left == 0;
}
