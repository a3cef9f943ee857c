/* The first thread ends at once; another one stays past the deadline. */
#include <pthread.h>
#include <unistd.h>

static void *stay(void *unused)
{
	for (;;)
		pause();
	return unused;
}

int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, stay, NULL);
	pthread_exit(NULL);
}
