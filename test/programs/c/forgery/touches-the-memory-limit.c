/* Reaches the memory limit repeatedly with reclaimable memory: nothing is killed. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

int main(void)
{
	size_t size = 32 << 20;
	for (int i = 0; i < 24; i++) {
		char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return 2;
		memset(p, 1, size);
		if (madvise(p, size, MADV_FREE))
			return 3;
	}
	return 0;
}
