/* Each process uses only a few milliseconds of CPU time, but there is always a next one. */
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
	for (;;) {
		if (fork() == 0) {
			while (clock() < CLOCKS_PER_SEC / 500)
				;
			_exit(0);
		}
		wait(NULL);
	}
}
