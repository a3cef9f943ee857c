#include <unistd.h>

int main(void)
{
	while (fork() >= 0)
		;
	return 1;
}
