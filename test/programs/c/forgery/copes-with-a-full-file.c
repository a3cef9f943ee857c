/* Reads an exit code, ignores SIGXFSZ, reaches the file-size limit, and exits with the code. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	static char block[65536];
	int code;
	if (scanf("%d", &code) != 1)
		return 8;
	signal(SIGXFSZ, SIG_IGN);
	int fd = open("big", O_WRONLY | O_CREAT, 0600);
	while (write(fd, block, sizeof block) > 0)
		;
	return errno == EFBIG ? code : 7;
}
