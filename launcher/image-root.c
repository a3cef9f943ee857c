/* Makes the image the root of the launcher (for prepare.c and check.c) and, with a layer in memory, of each slot (slot/resources.c). */
#define _GNU_SOURCE
#include "image-root.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

int image_make_devices(bool terminals, struct failure *f)
{
	enum { MEMORY = 1, TERMINAL = 5 };
	static const struct { const char *path; unsigned major, minor; } devices[] = {
		{"dev/null", MEMORY, 3}, {"dev/zero", MEMORY, 5}, {"dev/full", MEMORY, 7}, {"dev/random", MEMORY, 8}, {"dev/urandom", MEMORY, 9},
		{"dev/tty", TERMINAL, 0},
	};
	const size_t count = sizeof devices / sizeof *devices - !terminals;
	static const struct { const char *to, *path; } links[] = {
		{"/proc/self/fd", "dev/fd"}, {"/proc/self/fd/0", "dev/stdin"},
		{"/proc/self/fd/1", "dev/stdout"}, {"/proc/self/fd/2", "dev/stderr"},
	};
	if (mount("tmpfs", "dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755,size=64k,nr_inodes=32") < 0)
		return fail(f, "mount", "/dev");
	for (size_t i = 0; i < count; i++)
		if (mknod(devices[i].path, S_IFCHR | 0666, makedev(devices[i].major, devices[i].minor)) < 0 ||
		    chmod(devices[i].path, 0666) < 0)
			return fail(f, "device", "%s", devices[i].path);
	for (size_t i = 0; i < sizeof links / sizeof *links; i++)
		if (symlink(links[i].to, links[i].path) < 0)
			return fail(f, "device", "%s", links[i].path);
	if (mkdir("dev/shm", 0755) < 0)
		return fail(f, "device", "dev/shm");
	if (terminals && (mkdir("dev/pts", 0755) < 0 || symlink("pts/ptmx", "dev/ptmx") < 0))
		return fail(f, "device", "dev/pts");
	if (mount(NULL, "dev", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC, NULL) < 0)
		return fail(f, "mount", "/dev read-only");
	return 0;
}

int image_enter(const char *image, struct failure *f)
{
	static const char *const directories[] = {"box", "tmp", "proc", "dev"};
	struct stat st;

	if (unshare(CLONE_NEWNS) < 0)
		return fail(f, "namespaces", "mount namespace of the launcher");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return fail(f, "mount", "private");
	if (mount(image, image, NULL, MS_BIND, NULL) < 0)
		return fail(f, "mount", "image %s", image);
	if (mount(NULL, image, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) < 0)
		return fail(f, "mount", "image read-only");
	if (chdir(image) < 0)
		return fail(f, "chdir", "%s", image);
	if (lstat(".", &st) < 0 || st.st_uid != 0 || (st.st_mode & 022))
		return fail_with(f, EPERM, "image", "is writable by users other than root");
	for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
		if (lstat(directories[i], &st) < 0 || !S_ISDIR(st.st_mode))
			return fail_with(f, ENOTDIR, "image", "has no directory /%s", directories[i]);
	if (image_make_devices(false, f) < 0)
		return -1;
	/* pivot_root(".", ".") stacks the old root under the new one; the umount then detaches it. */
	if (syscall(__NR_pivot_root, ".", ".") < 0)
		return fail(f, "pivot", "image");
	if (umount2(".", MNT_DETACH) < 0)
		return fail(f, "mount", "detach the old root");
	if (chdir("/") < 0)
		return fail(f, "chdir", "/");
	return 0;
}

static int write_file(const char *path, const char *text, size_t size, struct failure *f)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || fchmod(fd, 0644) < 0 || write(fd, text, size) != (ssize_t)size || close(fd) < 0)
		return fail(f, "accounts", "%s", path);
	return 0;
}

/*
 * Writes the users of a slot. They all have the name "user", so that what a program prints does not depend on its lane. If a program
 * asks the C library for that name, the image's libnss_user finds the program's own user; if it reads the file itself, it finds the
 * first.
 */
static int write_accounts(const char *directory, const uid_t *users, int count, struct failure *f)
{
	enum { BYTES = 1024 };
	char users_text[BYTES] = "root:x:0:0:root:/:/usr/sbin/nologin\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n";
	char groups_text[BYTES] = "root:x:0:\nnogroup:x:65534:\n", path[64];
	size_t users_size = strlen(users_text), groups_size = strlen(groups_text);
	for (int i = 0; i < count; i++) {
		users_size += (size_t)snprintf(users_text + users_size, BYTES - users_size, "user:x:%u:%u::/box:/bin/sh\n", users[i], users[i]);
		groups_size += (size_t)snprintf(groups_text + groups_size, BYTES - groups_size, "user:x:%u:\n", users[i]);
		if (users_size >= BYTES || groups_size >= BYTES)
			return fail_with(f, ENOSPC, "accounts", "of %d users", count);
	}
	if (mkdir(directory, 0755) < 0 || chmod(directory, 0755) < 0)
		return fail(f, "accounts", "%s", directory);
	snprintf(path, sizeof path, "%s/passwd", directory);
	if (write_file(path, users_text, users_size, f) < 0)
		return -1;
	snprintf(path, sizeof path, "%s/group", directory);
	return write_file(path, groups_text, groups_size, f);
}

int image_overlay(const uid_t *users, int count, struct failure *f)
{
	/*
	 * The slot has a layer in memory for the two files. The layer is mounted once for a slot, because a mount for each box would
	 * make each run slower.
	 */
	if (mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0755,size=64k,nr_inodes=32") < 0)
		return fail(f, "mount", "accounts");
	if (write_accounts("/dev/shm/etc", users, count, f) < 0)
		return -1;
	/* This layer is the first of the overlay, because statfs answers for the first one, and must not show the host's disk. */
	bool overlaid = mount("image", "/tmp", "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV, "lowerdir=/dev/shm:/") == 0;
	if (chdir(overlaid ? "/tmp" : "/") < 0)
		return fail(f, "chdir", "own image");
	/* With a shared /dev, a box could observe that another box opens a device or locks one. */
	if (image_make_devices(false, f) < 0)
		return -1;
	if (!overlaid)
		return 1;
	if (syscall(__NR_pivot_root, ".", ".") < 0)
		return fail(f, "pivot", "own image");
	if (umount2(".", MNT_DETACH) < 0)
		return fail(f, "mount", "detach the shared image");
	if (chdir("/") < 0)
		return fail(f, "chdir", "/");
	return 0;
}
