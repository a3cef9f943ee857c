/* sync would wait, unkillable, for every disk of the host. Exits with 0 if it is refused. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	if (syscall(SYS_sync) == 0)
		return 2;
	return syncfs(open("/", O_RDONLY)) == 0 ? 3 : 0;
}
