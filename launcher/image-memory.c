#define _GNU_SOURCE
#include "image-memory.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPEN_DIRECTORIES = 64, HUGE_PAGE = 2 << 20 };

/* nftw() passes nothing of its caller to the functions. */
static uint64_t total;
static struct failure *failed;

static int add_size(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)path, (void)at;
	if (type == FTW_F && S_ISREG(st->st_mode))
		total += (uint64_t)st->st_size;
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
		return fail_with(failed, err, "image", "map %.80s", path);
	/* Not needed for the promise: interpreters start faster from huge pages, and the kernel may have dropped those of set-up. */
	if (size >= HUGE_PAGE)
		madvise(file, size, MADV_HUGEPAGE);
	/* A slot needs no copy of the mapping: the lock belongs to this process. */
	if (madvise(file, size, MADV_DONTFORK) < 0 || mlock(file, size) < 0)
		return fail(failed, "image", "lock %.80s", path);
	return 0;
}

int image_lock(const char *image, uint64_t most, uint64_t *bytes, struct failure *f)
{
	total = 0;
	failed = f;
	if (nftw(image, add_size, OPEN_DIRECTORIES, FTW_PHYS) < 0)
		return fail(f, "image", "read %.80s", image);
	*bytes = total;
	if (total > most)
		return fail_with(f, EFBIG, "image", "%llu MiB in memory, of at most %llu", (unsigned long long)total >> 20,
			(unsigned long long)most >> 20);
	if (nftw(image, lock_file, OPEN_DIRECTORIES, FTW_PHYS) == 0)
		return 0;
	fail(f, "image", "read %.80s", image); /* unless lock_file() has recorded another failure */
	munlockall();
	return -1;
}
