/* Locks the files of the image in memory (image-memory.h has the reason). main.c calls this before it listens, check.c as a test. */
#define _GNU_SOURCE
#include "image-memory.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPEN_DIRECTORIES = 64, HUGE_PAGE = 2 << 20 };

/* Variables of image_lock() for the functions that nftw() calls, because nftw() passes them no argument of its caller. */
static uint64_t total_bytes;
static struct failure *failure;

static int add_size(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)path, (void)at;
	if (type == FTW_F && S_ISREG(st->st_mode))
		total_bytes += (uint64_t)st->st_size;
	return 0;
}

static int lock_file(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)at;
	if (type != FTW_F || !S_ISREG(st->st_mode) || st->st_size == 0)
		return 0;
	size_t size = (size_t)st->st_size;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	void *file = fd < 0 ? MAP_FAILED : mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	int err = errno;
	if (fd >= 0)
		close(fd);
	if (file == MAP_FAILED)
		return fail_with(failure, err, "image", "map %.80s", path);
	/* Interpreters start faster from huge pages. The kernel may have dropped the huge pages into which set-up read the file. */
	if (size >= HUGE_PAGE)
		madvise(file, size, MADV_HUGEPAGE);
	/* A slot needs no copy of the mapping, because the lock belongs to this process. */
	if (madvise(file, size, MADV_DONTFORK) < 0 || mlock(file, size) < 0)
		return fail(failure, "image", "lock %.80s", path);
	return 0;
}

int image_lock(const char *image, uint64_t most, uint64_t *bytes, struct failure *f)
{
	total_bytes = 0;
	failure = f;
	if (nftw(image, add_size, OPEN_DIRECTORIES, FTW_PHYS) < 0)
		return fail(f, "image", "read %.80s", image);
	*bytes = total_bytes;
	if (total_bytes > most)
		return fail_with(f, EFBIG, "image", "%llu MiB in memory, of at most %llu", (unsigned long long)total_bytes >> 20,
			(unsigned long long)most >> 20);
	if (nftw(image, lock_file, OPEN_DIRECTORIES, FTW_PHYS) == 0)
		return 0;
	fail(f, "image", "read %.80s", image); /* unless lock_file() has recorded another failure */
	munlockall();
	return -1;
}
