/* A grandchild and a thread continue to write after main has returned. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static void *write_on(void *text)
{
	for (;;)
		if (write(1, text, 1) < 0)
			_exit(3);
}

int main(void)
{
	pthread_t thread;
	int ready[2];
	char byte;
	if (pipe(ready))
		return 8;
	if (fork() == 0) {
		if (fork() > 0)
			_exit(0);
		setsid();
		write(ready[1], "x", 1);
		write_on("g");
	}
	read(ready[0], &byte, 1);
	wait(NULL); /* waits for the first child; only the grandchild is left */
	pthread_create(&thread, NULL, write_on, "t");
	return 0;
}
