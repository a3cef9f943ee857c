/* Writes 8 MiB to each stream, more than is kept, and exits with 0. */
#include <string.h>
#include <unistd.h>

int main(void)
{
	static char block[65536];
	memset(block, 'x', sizeof block);
	for (int i = 0; i < 128; i++)
		if (write(1, block, sizeof block) < 0 || write(2, block, sizeof block) < 0)
			return 2;
	return 0;
}
