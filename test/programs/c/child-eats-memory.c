#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void eat(void)
{
	for (;;) {
		char *p = malloc(1 << 20);
		if (p)
			memset(p, 1, 1 << 20);
	}
}

int main(void)
{
	int status;
	pid_t child = fork();
	if (child == 0)
		eat();
	waitpid(child, &status, 0);
	return WIFSIGNALED(status) ? 0 : 1;
}
