/* A child is killed for its memory; the parent would exit with 0. */
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
	sleep(3); /* until the kernel or the supervisor kills the rest of the box */
	return 0;
}
