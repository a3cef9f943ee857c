/* A child eats memory and is killed for it; the parent would exit 0. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	if (fork() == 0)
		for (;;)
			memset(malloc(1 << 20), 1, 1 << 20);
	wait(NULL);
	sleep(3); /* for whoever ends the rest of the box */
	return 0;
}
