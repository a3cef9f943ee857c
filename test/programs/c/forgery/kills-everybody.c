/* Sends signals to init, to every process and to a range of pids. None may reach a process outside of the box. */
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
