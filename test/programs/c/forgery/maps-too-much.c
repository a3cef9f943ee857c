/* The address-space limit refuses memory; the program prints the kernel's OOM message and fails. */
#include <stdio.h>
#include <sys/mman.h>

int main(void)
{
	void *p = mmap(NULL, 1l << 40, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fputs("Out of memory: Killed process 1 (main)\n", stderr);
	return p == MAP_FAILED ? 137 : 2;
}
