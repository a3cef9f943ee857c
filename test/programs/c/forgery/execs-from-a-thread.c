/* The first thread ends; then another thread execs, and the new program exits with 9. The run lasts until then. */
#include <pthread.h>
#include <unistd.h>

static void *later(void *unused)
{
	(void)unused;
	usleep(200000);
	execl("./main", "again", "again", (char *)NULL);
	_exit(7);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	(void)argv;
	if (argc > 1) {
		usleep(200000);
		return 9;
	}
	pthread_create(&thread, NULL, later, NULL);
	pthread_exit(NULL);
}
