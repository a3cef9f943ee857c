/* A classic daemon: two forks, a new session, no descriptors, a different name. */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
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
			signal(SIGHUP, SIG_IGN);
			signal(SIGTERM, SIG_IGN);
			prctl(PR_SET_NAME, "kworker/0:1");
			for (int fd = 0; fd < 3; fd++)
				close(fd);
			setsid();
			write(ready[1], "x", 1);
			close(ready[1]);
			for (;;)
				pause();
		}
		_exit(0);
	}
	close(ready[1]);
	read(ready[0], &byte, 1);
	wait(NULL); /* waits for the first child; only the daemon is left */
	return 0;
}
