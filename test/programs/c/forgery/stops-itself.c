/* Stops itself and a child, and would stay stopped for ever. */
#include <signal.h>
#include <unistd.h>

int main(void)
{
	fork();
	for (;;)
		raise(SIGSTOP);
}
