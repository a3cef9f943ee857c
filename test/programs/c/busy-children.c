#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Each child stays far below its own limits. */
static void spin(void)
{
	while (clock() < CLOCKS_PER_SEC / 20)
		;
	_exit(0);
}

int main(void)
{
	for (;;) {
		pid_t child = fork();
		if (child < 0)
			return 1;
		if (child == 0)
			spin();
		waitpid(child, NULL, 0);
	}
}
