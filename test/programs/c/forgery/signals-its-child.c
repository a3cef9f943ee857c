/* Reads "SIGNAL CODE": a child dies of the signal, then the program exits with the code. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	int sig, code, status;
	if (scanf("%d %d", &sig, &code) != 2)
		return 8;
	pid_t child = fork();
	if (child == 0)
		for (;;)
			pause();
	kill(child, sig);
	waitpid(child, &status, 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == sig ? code : 7;
}
