/* Reads "sleep" or "kill": a vforked child, on its parent's memory and stack, sleeps forever or kills its parent with SIGKILL. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
	char way[8];
	if (scanf("%7s", way) != 1)
		return 8;
	if (vfork() == 0) {
		while (!strcmp(way, "sleep"))
			pause();
		kill(getppid(), SIGKILL);
		for (;;)
			pause();
	}
	return 0;
}
