/* Stops itself and a child, without end. */
#include <signal.h>
#include <unistd.h>

int main(void)
{
	fork();
	for (;;)
		raise(SIGSTOP);
}
