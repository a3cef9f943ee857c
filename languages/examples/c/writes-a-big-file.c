#include <fcntl.h>
#include <unistd.h>

int main(void)
{
	static char block[65536];
	int fd = open("big", O_WRONLY | O_CREAT, 0600);
	for (;;)
		if (write(fd, block, sizeof block) < 0)
			return 1;
}
