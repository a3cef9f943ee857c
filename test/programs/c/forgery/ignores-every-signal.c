/* Blocks and ignores all possible signals, then computes, together with a child. */
#include <signal.h>
#include <unistd.h>

int main(void)
{
	sigset_t all;
	for (int sig = 1; sig < 65; sig++)
		signal(sig, SIG_IGN);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	fork();
	for (volatile unsigned i = 0;; i++)
		;
}
