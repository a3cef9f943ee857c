/* Reads a signal, which a grandchild requests as its parent-death signal. Prints "refused" or "taken". */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	int sig, ready[2];
	char byte;
	if (scanf("%d", &sig) != 1 || pipe(ready))
		return 8;
	if (fork() == 0) {
		if (fork() == 0) {
			int refused = prctl(PR_SET_PDEATHSIG, sig);
			puts(refused ? "refused" : "taken");
			fflush(stdout);
			if (refused)
				_exit(0);
			close(ready[1]);
			pause();
		}
		close(ready[1]);
		read(ready[0], &byte, 1);
		_exit(0);
	}
	close(ready[1]);
	wait(NULL);
	usleep(50000);
	return 1;
}
