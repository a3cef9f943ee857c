#include <pthread.h>

static void *spin(void *unused)
{
	(void)unused;
	for (volatile unsigned i = 0;; i++)
		;
}

int main(void)
{
	pthread_t thread;
	for (int i = 0; i < 3; i++)
		if (pthread_create(&thread, NULL, spin, NULL) != 0)
			return 1;
	spin(NULL);
}
