#include <pthread.h>
#include <unistd.h>

static void *wait_long(void *unused)
{
	sleep(600);
	return unused;
}

int main(void)
{
	pthread_t thread;
	while (pthread_create(&thread, NULL, wait_long, NULL) == 0)
		;
	return 1;
}
