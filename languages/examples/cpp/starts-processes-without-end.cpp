#include <unistd.h>

int main()
{
	pid_t child;
	while ((child = fork()) > 0)
		;
	if (child == 0)
		sleep(600);
	return 1;
}
