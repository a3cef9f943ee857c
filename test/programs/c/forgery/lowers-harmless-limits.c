/* Reads every limit and lowers some, as language runtimes do. This is allowed and changes no counter. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

int main(void)
{
	struct rlimit limit;
	for (int r = 0; r < RLIM_NLIMITS; r++)
		if (getrlimit(r, &limit))
			return 2;
	if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){8, 8}) || setrlimit(RLIMIT_AS, &(struct rlimit){64 << 20, 64 << 20}) ||
	    setrlimit(RLIMIT_STACK, &(struct rlimit){1 << 20, 1 << 20}) || setrlimit(RLIMIT_NPROC, &(struct rlimit){1, 1}))
		return 3;
	if (malloc(128 << 20) || fork() >= 0)
		return 4;
	return 5;
}
