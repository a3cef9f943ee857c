/*
 * Preloaded into the runtimes of some packs. Boxes refuse calls for which these runtimes have no other way, or whose failure they
 * print; here, permitted calls or nothing take their place. It grants nothing: the filter (launcher/seccomp.def) stays the same.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/uio.h>
#include <unistd.h>

/* Returns the first part that is not empty. One is enough, because callers must expect that a read returns less. */
static const struct iovec *first(const struct iovec *parts, int count)
{
	while (count-- > 1 && parts->iov_len == 0)
		parts++;
	return parts;
}

ssize_t readv(int fd, const struct iovec *parts, int count)
{
	const struct iovec *part = first(parts, count);
	return read(fd, part->iov_base, part->iov_len);
}

ssize_t preadv(int fd, const struct iovec *parts, int count, off_t offset)
{
	const struct iovec *part = first(parts, count);
	return pread(fd, part->iov_base, part->iov_len, offset);
}

ssize_t preadv64(int fd, const struct iovec *parts, int count, off64_t offset)
{
	return preadv(fd, parts, count, offset);
}

/* Reports success without a lock, because the files of a box belong to one run. */
int flock(int fd, int operation)
{
	(void)fd, (void)operation;
	return 0;
}

/* Reports success without a change, because priorities belong to the host. */
int pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *param)
{
	(void)thread, (void)policy, (void)param;
	return 0;
}

/* With these two, threads that ask for a priority or processors of their own have those of their parent. */
int pthread_attr_setinheritsched(pthread_attr_t *attributes, int inherit)
{
	(void)attributes, (void)inherit;
	return 0;
}

int pthread_attr_setaffinity_np(pthread_attr_t *attributes, size_t size, const cpu_set_t *processors)
{
	(void)attributes, (void)size, (void)processors;
	return 0;
}
