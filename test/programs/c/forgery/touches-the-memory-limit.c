/* Uses as many bytes as standard input says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
	size_t size;
	if (scanf("%zu", &size) != 1)
		return 2;
	char *p = malloc(size);
	memset(p, 1, size);
	return p[size / 2] - 1;
}
