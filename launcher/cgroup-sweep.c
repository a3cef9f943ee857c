/* Kills and removes leftovers of a slot or an earlier launcher. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cgroup-parts.h"

/* Whether `pid` is a complete line of the list: the end of the buffer can cut off the last line. */
static bool lists_pid(const char *list, pid_t pid)
{
	char line[16];
	size_t length = (size_t)snprintf(line, sizeof line, "%d\n", pid);
	for (const char *p = list; *p; p += strcspn(p, "\n"), p += *p == '\n')
		if (!strncmp(p, line, length))
			return true;
	return false;
}

/*
 * Members of a leaf are payloads or parked processes; no other process can enter it. Without cgroup.kill (v1, and v2
 * before Linux 5.14) they are known by pid only, and while a box forks, a pid can be reused at once. Therefore a pidfd
 * pins the process first, and it is killed only if it is a member after that.
 */
static void kill_members(int leaf)
{
	char text[4096], again[4096];
	if (write_file(leaf, "cgroup.kill", "1") == 0 || read_file(leaf, "cgroup.procs", text, sizeof text) <= 0)
		return;
	for (char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n') {
		pid_t pid = (pid_t)strtol(p, NULL, 10);
		int fd = pid > 0 ? (int)syscall(__NR_pidfd_open, pid, 0) : -1;
		if (fd < 0)
			continue;
		if (read_file(leaf, "cgroup.procs", again, sizeof again) > 0 && lists_pid(again, pid))
			syscall(__NR_pidfd_send_signal, fd, SIGKILL, NULL, 0);
		close(fd);
	}
}

/* One round: removes empty leaves, kills the members of the others. */
static int sweep_once(const struct groups *g, const char *prefix)
{
	int left = 0;
	/* The v2 leaf first: cgroup.kill ends all members. */
	for (int t = TREE_COUNT - 1; t >= 0; t--) {
		if (g->home[t] < 0)
			continue;
		int copy = openat(g->home[t], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		DIR *dir = copy < 0 ? NULL : fdopendir(copy);
		struct dirent *entry;
		if (!dir)
			left++; /* cannot be read, so it may not be empty */
		while (dir && (entry = readdir(dir))) {
			if (entry->d_type != DT_DIR || entry->d_name[0] == '.' || strncmp(entry->d_name, prefix, strlen(prefix)))
				continue;
			if (unlinkat(g->home[t], entry->d_name, AT_REMOVEDIR) == 0 || errno == ENOENT)
				continue;
			int leaf = openat(g->home[t], entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			if (leaf >= 0) {
				kill_members(leaf);
				close(leaf);
			}
			left++;
		}
		if (dir)
			closedir(dir);
		else if (copy >= 0)
			close(copy);
	}
	return left;
}

int groups_sweep(const struct groups *g, const char *prefix, int timeout_ms)
{
	int left;
	while ((left = sweep_once(g, prefix)) > 0 && timeout_ms > 0) {
		usleep(2000);
		timeout_ms -= 2;
	}
	return left;
}
