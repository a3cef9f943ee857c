/* Locks the files of the image in memory (image-memory.h has the reason). main.c calls image_keep() before it listens, check.c image_lock() as a test. */
#define _GNU_SOURCE
#include "image-memory.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "descriptors.h"

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
	if (mlock(file, size) < 0)
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

/* What the keeper of the image tells the launcher once. */
struct report {
	bool locked;
	struct failure failure;
};

/* Gives up everything but reading from one descriptor, and does that for ever. The kernel ends the process with the launcher. */
static _Noreturn void keep(int endless)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct none[2] = {{0}};
	uint64_t value;
	if (close_all_but((int[]){endless}, 1) == 0 && syscall(__NR_capset, &header, none) == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 &&
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) == 0)
		for (;;)
			syscall(__NR_read, endless, &value, sizeof value);
	_exit(1);
}

static _Noreturn void become_keeper(const char *image, uint64_t most, int to_launcher, pid_t launcher)
{
	struct report report = {0};
	uint64_t bytes;
	prctl(PR_SET_NAME, "assay-image");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	int endless = eventfd(0, EFD_CLOEXEC); /* nobody else has it, so a read never ends */
	if (endless < 0)
		fail(&report.failure, "image", "descriptor");
	else
		report.locked = image_lock(image, most, &bytes, &report.failure) == 0;
	if (getppid() != launcher || write(to_launcher, &report, sizeof report) != sizeof report || !report.locked)
		_exit(1);
	keep(endless);
}

pid_t image_keep(const char *image, uint64_t most, struct failure *f)
{
	struct report report = {0};
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return fail(f, "image", "pipe");
	pid_t self = getpid(), keeper = fork();
	if (keeper == 0)
		become_keeper(image, most, ends[1], self);
	close(ends[1]);
	if (keeper < 0) {
		fail(f, "image", "process");
	} else {
		ssize_t n;
		while ((n = read(ends[0], &report, sizeof report)) < 0 && errno == EINTR)
			continue;
		if (n != sizeof report)
			fail_with(f, ECHILD, "image", "the process that keeps it has ended");
		else if (!report.locked)
			*f = report.failure;
	}
	close(ends[0]);
	return report.locked ? keeper : -1;
}
