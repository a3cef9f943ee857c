/* Reads an exit code, forks until the kernel refuses, ends its children, and exits with the code. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	int code;
	if (scanf("%d", &code) != 1)
		return 8;
	pid_t children[64], child;
	int count = 0;
	while (count < 64 && (child = fork()) > 0)
		children[count++] = child;
	if (child == 0)
		for (;;)
			pause();
	if (count == 64 || errno != EAGAIN)
		return 7;
	while (count > 0)
		kill(children[--count], SIGTERM);
	while (wait(NULL) > 0)
		;
	return code;
}
