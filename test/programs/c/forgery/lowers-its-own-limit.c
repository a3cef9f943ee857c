/*
  * Reads "WAY LIMIT": tries to lower that limit of itself or of a child and exceeds it, so that the kernel would send a genuine
  * signal for a limit that the program chose.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int lower(const char *way, int resource, pid_t of)
{
	struct rlimit limit = {1, 1};
	if (!strcmp(way, "setrlimit"))
		return (int)syscall(SYS_setrlimit, resource, &limit);
	return (int)syscall(SYS_prlimit64, of, resource, &limit, NULL);
}

static void run_into(int resource)
{
	if (resource == RLIMIT_FSIZE) {
		int fd = open("small", O_WRONLY | O_CREAT, 0600);
		for (int i = 0; i < 3; i++)
			if (write(fd, "ab", 2) < 0)
				_exit(1);
		return;
	}
	while (clock() < CLOCKS_PER_SEC * 13 / 10)
		;
}

int main(void)
{
	char way[16], name[16];
	if (scanf("%15s %15s", way, name) != 2)
		return 8;
	int resource = !strcmp(name, "fsize") ? RLIMIT_FSIZE : RLIMIT_CPU;
	bool on_child = !strcmp(way, "of-a-child");
	pid_t child = on_child ? fork() : 0;
	if (on_child && child == 0) {
		usleep(100000);
		run_into(resource);
		_exit(0);
	}
	puts(lower(way, resource, child) ? strerrorname_np(errno) : "lowered");
	fflush(stdout);
	if (on_child)
		waitpid(child, NULL, 0);
	else
		run_into(resource);
	return 1;
}
