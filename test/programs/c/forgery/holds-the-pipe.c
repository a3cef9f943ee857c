/* A grandchild keeps the output pipe open and writes nothing. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	int ready[2];
	char byte;
	if (pipe(ready))
		return 8;
	if (fork() == 0) {
		setsid();
		if (fork() == 0) {
			write(ready[1], "x", 1);
			for (;;)
				pause();
		}
		_exit(0);
	}
	read(ready[0], &byte, 1);
	wait(NULL); /* waits for the first child; only the daemon is left */
	puts("last word");
	return 0;
}
