/* The program that the benchmarks run: small but ordinary. */
#include <stdio.h>

int main(void)
{
	puts("hello");
	return 0;
}
