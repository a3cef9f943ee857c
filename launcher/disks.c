/* Disks of sandboxes (disks.h). prepare.c opens what they need, and sandbox/holder.c makes and ends them. */
#define _GNU_SOURCE
#include "disks.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "descriptors.h"

enum {
	TEMPLATE_BYTES_MAX = 64 << 20, /* of its data: a file without holes is no template */
	COPY_BYTES = 64 * 1024,
	BLOCK_BYTES = 4096,
	DEVICE_TRIES = 100, DEVICE_PAUSE_US = 5000, /* other programs of the machine can take a free device at the same moment */
	CLEARED_PAUSE_US = 2000, CLEARED_TIMEOUT_MS = 60000, /* the processes of a sandbox whose holder was killed can take long to end */
	PROOF_TIMEOUT_MS = 10000,
	TEMPLATE = 1, /* disk_template in setup/disks.sh */
};

static const uint64_t SMALLEST_BYTES = 1ull << 30;
/* What stays free for others, who would otherwise suffer: the database, logs and snapshots can be in the same file system. */
static const uint64_t MARGIN_BYTES = 1ull << 30;

/* Whether the file system of the directory reserves blocks for good. Others, such as btrfs, need new blocks for each write. */
static int reserves_blocks(int directory, struct failure *f)
{
	enum { EXT4 = 0xef53, XFS = 0x58465342 };
	struct statfs fs;
	if (fstatfs(directory, &fs) < 0)
		return fail(f, "disks", "file system");
	return fs.f_type == EXT4 || fs.f_type == XFS ? 0 : fail_with(f, ENOTSUP, "disks", "the directory must be on ext4 or XFS");
}

static int open_parts(struct disks *d, const char *directory, struct failure *f)
{
	struct stat st;
	d->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->directory < 0 || fstat(d->directory, &st) < 0)
		return fail(f, "disks", "%s", directory);
	/* Whoever can write there decides what the kernel mounts. */
	if (st.st_uid != 0 || (st.st_mode & 077))
		return fail_with(f, EPERM, "disks", "others than root can read %s", directory);
	if (reserves_blocks(d->directory, f) < 0)
		return -1;
	if ((d->control = open("/dev/loop-control", O_RDWR | O_CLOEXEC)) < 0)
		return fail(f, "disks", "/dev/loop-control");
	if ((d->devices = open("/dev", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		return fail(f, "disks", "/dev");
	return (d->blocks = open("/sys/block", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0 ? fail(f, "disks", "/sys/block") : 0;
}

int disks_open(struct disks *d, const char *directory, uint64_t most, struct failure *f)
{
	struct disk proof;
	*d = disks_none();
	int done = open_parts(d, directory, f);
	if (done == 0 && most >= SMALLEST_BYTES) {
		done = disk_make(d, SMALLEST_BYTES, &proof, f);
		if (done == 0 && !disk_await_ended(&proof, PROOF_TIMEOUT_MS))
			done = fail_with(f, ETIMEDOUT, "disk", "clear /dev/loop%d", proof.loop);
	}
	if (done < 0)
		disks_close(d);
	return done;
}

void disks_close(struct disks *d)
{
	close_fd(&d->directory);
	close_fd(&d->control);
	close_fd(&d->devices);
	close_fd(&d->blocks);
}

/* Copies the data of the template, without its holes, to the same offsets of the file. */
static int copy_data(int from, int to)
{
	static char chunk[COPY_BYTES];
	off_t at = 0, copied = 0;
	while ((at = lseek(from, at, SEEK_DATA)) >= 0) {
		off_t end = lseek(from, at, SEEK_HOLE);
		if (end < 0)
			return -1;
		while (at < end) {
			size_t wanted = end - at < COPY_BYTES ? (size_t)(end - at) : COPY_BYTES;
			ssize_t n = pread(from, chunk, wanted, at);
			if (n < 0)
				return -1;
			if (n == 0 || pwrite(to, chunk, (size_t)n, at) != n) {
				errno = EIO;
				return -1;
			}
			at += n;
			if ((copied += n) > TEMPLATE_BYTES_MAX) {
				errno = EFBIG;
				return -1;
			}
		}
	}
	return errno == ENXIO ? 0 : -1; /* there is no more data */
}

/* Makes the file. Returns its descriptor, or -1 with the failure. */
static int make_file(const struct disks *d, uint64_t bytes, struct failure *f)
{
	char name[48];
	struct stat st;
	struct statfs fs;
	snprintf(name, sizeof name, "%llu-%d.ext4", (unsigned long long)bytes, TEMPLATE);
	int template = openat(d->directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (template < 0)
		return fail(f, "disk", "no template for %llu bytes", (unsigned long long)bytes);
	int file = -1;
	/* fallocate() would also take the blocks that are reserved for root, so it is asked only if others may take as many. */
	if (fstat(template, &st) < 0 || (uint64_t)st.st_size != bytes)
		fail_with(f, EINVAL, "disk", "%s has another size", name);
	else if (fstatfs(d->directory, &fs) < 0 || (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize < bytes + MARGIN_BYTES)
		fail_with(f, ENOSPC, "disk", "the machine has not %llu bytes and 1 GiB more", (unsigned long long)bytes);
	else if ((file = openat(d->directory, ".", O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600)) < 0)
		fail(f, "disk", "make a file");
	else if (fallocate(file, 0, 0, (off_t)bytes) < 0)
		fail(f, "disk", "reserve %llu bytes", (unsigned long long)bytes);
	else if (copy_data(template, file) < 0)
		fail(f, "disk", "copy %s", name);
	close(template);
	if (f->step && file >= 0)
		close_fd(&file);
	return file;
}

/*
 * Gives the file a loop device, which is cleared when nobody uses it any more. It reads and writes the file directly: otherwise the machine would keep its
 * pages a second time, charged to nobody. Returns a descriptor of the device, or -1 with the failure.
 */
static int attach_device(const struct disks *d, int file, int *number, struct failure *f)
{
	for (int tries = 0; tries < DEVICE_TRIES; tries++) {
		char name[16];
		struct loop_config config = {.fd = (uint32_t)file, .block_size = BLOCK_BYTES, .info = {.lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO}};
		struct loop_info64 is;
		*number = ioctl(d->control, LOOP_CTL_GET_FREE);
		if (*number < 0)
			return fail(f, "disk", "free loop device");
		snprintf(name, sizeof name, "loop%d", *number);
		int device = openat(d->devices, name, O_RDWR | O_CLOEXEC);
		if (device < 0 && errno != EBUSY && errno != ENXIO && errno != ENOENT)
			return fail(f, "disk", "/dev/%s", name);
		if (device < 0) {
			usleep(DEVICE_PAUSE_US);
			continue;
		}
		if (ioctl(device, LOOP_CONFIGURE, &config) == 0) {
			if (ioctl(device, LOOP_GET_STATUS64, &is) == 0 && (is.lo_flags & LO_FLAGS_AUTOCLEAR) && (is.lo_flags & LO_FLAGS_DIRECT_IO))
				return device;
			fail_with(f, ENOTSUP, "disk", "the file system of the disks does not do direct input and output");
			ioctl(device, LOOP_CLR_FD);
			close(device);
			return -1;
		}
		int err = errno;
		close(device);
		if (err != EBUSY)
			return fail_with(f, err, "disk", "configure /dev/%s", name);
		usleep(DEVICE_PAUSE_US);
	}
	return fail_with(f, EBUSY, "disk", "free loop device");
}

/*
 * Makes a mount of the file system that is attached nowhere. Its options say what a file system needs that ends with its sandbox: nothing is initialized for
 * later, a rename and an fsync write data and do not wait until the disk of the machine has flushed its own caches, which would delay everybody's commits,
 * reading changes nothing, and the first error makes it read-only. A directory is bounded, because the kernel looks for a name in all of it, in one go.
 */
static int make_mount(const struct disks *d, int number, struct failure *f)
{
	enum { SET_FLAG = 0, SET_STRING = 1, CREATE = 6, CLOSE_ON_EXEC = 1, NO_SET_UID = 2, NO_DEVICES = 4, NO_ACCESS_TIMES = 16 };
	static const char *const flags[] = {"noinit_itable", "nobarrier", "noauto_da_alloc", "nodiscard"};
	char source[16];
	int configured = (int)syscall(__NR_fsopen, "ext4", CLOSE_ON_EXEC), mounted = -1;
	if (configured < 0)
		return fail(f, "disk", "ext4");
	snprintf(source, sizeof source, "loop%d", number);
	bool done = fchdir(d->devices) == 0 && syscall(__NR_fsconfig, configured, SET_STRING, "source", source, 0) == 0 &&
		    syscall(__NR_fsconfig, configured, SET_STRING, "errors", "remount-ro", 0) == 0 &&
		    syscall(__NR_fsconfig, configured, SET_STRING, "max_dir_size_kb", "4096", 0) == 0;
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
		done = done && syscall(__NR_fsconfig, configured, SET_FLAG, flags[i], NULL, 0) == 0;
	if (done && syscall(__NR_fsconfig, configured, CREATE, NULL, NULL, 0) == 0)
		mounted = (int)syscall(__NR_fsmount, configured, CLOSE_ON_EXEC, NO_SET_UID | NO_DEVICES | NO_ACCESS_TIMES);
	int err = errno;
	close(configured);
	if (chdir("/") < 0)
		_exit(1);
	return mounted < 0 ? fail_with(f, err, "disk", "mount") : mounted;
}

/* What the ender of a disk has of it. */
struct ending {
	int blocks; /* the directory /sys/block */
	int root;   /* the root directory of the file system */
	int file;
	int end;    /* at its end of file, the disk ends */
	int loop;
	off_t bytes;
};

/* Whether the device still has this file. Files of others have other inode numbers, as long as this one is open. */
static bool has_device(const struct ending *e)
{
	char path[48], text[512] = "", number[32];
	struct stat st;
	snprintf(path, sizeof path, "loop%d/loop/backing_file", e->loop);
	int fd = openat(e->blocks, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	if (n <= 0 || fstat(e->file, &st) < 0)
		return false;
	snprintf(number, sizeof number, "/#%llu (deleted)", (unsigned long long)st.st_ino); /* the name of a file without one */
	return strstr(text, number) != NULL;
}

static bool await_cleared(const struct ending *e)
{
	uint64_t deadline = now_ns() + CLEARED_TIMEOUT_MS * 1000000ull;
	bool held;
	while ((held = has_device(e)) && now_ns() < deadline)
		usleep(CLEARED_PAUSE_US);
	return !held;
}

/*
 * The ender of a disk (disks.h). A program that writes here and there leaves the file in pieces, each of which the kernel would free on its own, and discard on
 * its own where the file system of the machine is mounted with `discard`: 30 s for each GiB in pieces of 4 KiB. When the whole file is blocks without
 * content again, as at its start, these are few pieces. A file system that cannot do that frees them as it can.
 */
static _Noreturn void end_disk(struct ending e)
{
	enum { DO_NOT_FLUSH = 2 };
	const uint32_t how = DO_NOT_FLUSH;
	char unused;
	while (read(e.end, &unused, 1) < 0 && errno == EINTR)
		;
	ioctl(e.root, _IOR('X', 125, uint32_t) /* EXT4_IOC_SHUTDOWN */, &how); /* if it fails, the end only takes longer */
	close(e.root);
	bool cleared = await_cleared(&e);
	if (cleared)
		fallocate(e.file, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, 0, e.bytes);
	close(e.file);
	_exit(!cleared);
}

static int start_ender(const struct disks *d, struct disk *disk, int file, uint64_t bytes, struct failure *f)
{
	int ends[2];
	int root = openat(disk->mount, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return fail(f, "disk", "root");
	if (pipe2(ends, O_CLOEXEC) < 0) {
		fail(f, "disk", "pipe");
		close(root);
		return -1;
	}
	const struct ending e = {.blocks = d->blocks, .root = root, .file = file, .end = ends[0], .loop = disk->loop, .bytes = (off_t)bytes};
	pid_t ender = fork();
	if (ender == 0) { /* `disk` is in memory that only the holder has */
		if (close_all_but((int[]){e.blocks, e.root, e.file, e.end}, 4) < 0)
			_exit(1); /* with the connection of the holder, it would outlive its client; the teardown then reports the disk */
		end_disk(e);
	}
	int err = errno;
	close(root);
	close(ends[0]);
	if (ender < 0) {
		close(ends[1]);
		return fail_with(f, err, "disk", "fork");
	}
	disk->ender = ender;
	disk->end = ends[1];
	return 0;
}

int disk_make(const struct disks *d, uint64_t bytes, struct disk *disk, struct failure *f)
{
	*disk = disk_none();
	int file = make_file(d, bytes, f);
	if (file < 0)
		return -1;
	int device = attach_device(d, file, &disk->loop, f);
	disk->mount = device < 0 ? -1 : make_mount(d, disk->loop, f);
	if (device >= 0)
		close(device); /* the mount keeps the device; without one, this clears it */
	int started = disk->mount < 0 ? -1 : start_ender(d, disk, file, bytes, f);
	close(file); /* the ender and the device have it */
	if (started < 0)
		close_fd(&disk->mount);
	return started;
}

void disk_end(struct disk *disk)
{
	close_fd(&disk->end);
}

bool disk_await_ended(struct disk *disk, int timeout_ms)
{
	uint64_t deadline = now_ns() + (uint64_t)timeout_ms * 1000000u;
	int status = 0;
	pid_t ended;
	disk_end(disk);
	close_fd(&disk->mount);
	while ((ended = waitpid(disk->ender, &status, WNOHANG)) == 0 && now_ns() < deadline)
		usleep(CLEARED_PAUSE_US);
	if (ended != 0)
		disk->ender = -1;
	return ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
