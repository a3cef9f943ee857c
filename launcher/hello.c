/* What the benchmarks run: the smallest program that is still an ordinary one. */
#include <stdio.h>

int main(void)
{
	puts("hello");
	return 0;
}
