/* The program that the benchmarks run: small but ordinary. With an argument, it first sleeps for that many milliseconds. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc > 1)
		usleep((useconds_t)atoi(argv[1]) * 1000);
	puts("hello");
	return 0;
}
