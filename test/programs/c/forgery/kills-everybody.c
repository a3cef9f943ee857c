/* Signals whatever it can name: init, every process, a range of pids. None of it is ours to lose. */
#include <errno.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

int main(void)
{
	if (kill(1, SIGKILL) == 0 || errno != EPERM || kill(1, SIGSTOP) == 0)
		return 2;
	if (kill(-1, SIGKILL) == 0 || (errno != ESRCH && errno != EPERM))
		return 3;
	for (pid_t pid = 1; pid < 40000; pid++)
		if (pid != getpid())
			kill(pid, SIGKILL);
	return 0;
}
