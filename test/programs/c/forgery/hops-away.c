/* Reads "stay" or "go". Chains of processes, each of which starts the next in a new session and exits. Main stays or exits with 0. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
	char way[8];
	if (scanf("%7s", way) != 1)
		return 8;
	for (int chains = 0; chains < 3; chains++)
		if (fork() == 0)
			for (;;) {
				pid_t next = fork();
				if (next > 0)
					_exit(0);
				setsid();
			}
	while (!strcmp(way, "stay"))
		pause();
	usleep(100000);
	return 0;
}
