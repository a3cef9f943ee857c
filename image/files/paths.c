#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "files.h"

#define TEMPORARY ".assay-"

void make_etag(const struct stat *info, char etag[ETAG_BYTES])
{
	uint64_t changed = (uint64_t)info->st_mtim.tv_sec * 1000000000 + (uint64_t)info->st_mtim.tv_nsec;
	snprintf(etag, ETAG_BYTES, "%llx-%llx-%llx", (unsigned long long)info->st_ino, (unsigned long long)info->st_size,
		 (unsigned long long)changed);
}

void put_info(const struct stat *info, const char *name, int dir, const char *entry)
{
	char target[PATH_BYTES] = "", etag[ETAG_BYTES];
	unsigned type = S_ISREG(info->st_mode) ? 0 : S_ISDIR(info->st_mode) ? 1 : S_ISLNK(info->st_mode) ? 2 : 3;
	if (type == 2) {
		ssize_t length = readlinkat(dir, entry, target, sizeof target - 1);
		target[length > 0 ? length : 0] = 0;
	}
	make_etag(info, etag);
	begin(INFO);
	put_u8(type);
	put_u32(info->st_mode & 07777);
	put_u64(type == 0 ? (uint64_t)info->st_size : 0);
	put_u64((uint64_t)((int64_t)info->st_mtim.tv_sec * 1000 + info->st_mtim.tv_nsec / 1000000));
	put_text(etag);
	put_text(name);
	put_text(target);
	end();
}

int make_directories(const char *path)
{
	char part[PATH_BYTES];
	size_t length = strlen(path);
	if (length >= sizeof part)
		return ENAMETOOLONG;
	memcpy(part, path, length + 1);
	/* From the end, because the directories above usually exist, and may be ones in which nothing can be made. */
	size_t end_of[PATH_BYTES / 2];
	size_t missing = 0;
	while (length > 0) {
		while (length > 1 && part[length - 1] == '/')
			length--;
		part[length] = 0;
		if (mkdir(part, 0755) == 0)
			break;
		struct stat info;
		if (stat(part, &info) == 0) {
			if (!S_ISDIR(info.st_mode))
				return missing == 0 ? EEXIST : ENOTDIR;
			break;
		}
		if (errno != ENOENT)
			return errno;
		if (missing == PATH_BYTES / 2)
			return ENAMETOOLONG;
		end_of[missing++] = length;
		while (length > 0 && part[length - 1] != '/')
			length--;
		if (length == 0)
			break;
	}
	while (missing > 0) {
		length = end_of[--missing];
		memcpy(part, path, length);
		part[length] = 0;
		if (mkdir(part, 0755) != 0 && errno != EEXIST)
			return errno;
	}
	return 0;
}

int open_parent(const char *path, char name[NAME_BYTES])
{
	char parent[PATH_BYTES];
	size_t length = strlen(path);
	while (length > 0 && path[length - 1] == '/')
		length--;
	size_t from = length;
	while (from > 0 && path[from - 1] != '/')
		from--;
	if (length - from >= NAME_BYTES) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(name, path + from, length - from);
	name[length - from] = 0;
	if (*name == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
		errno = EISDIR;
		return -1;
	}
	memcpy(parent, path, from);
	parent[from] = 0;
	return open(from == 0 ? "." : parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void temporary_name(char name[NAME_BYTES])
{
	uint64_t number = 0;
	(void)!getrandom(&number, sizeof number, 0);
	snprintf(name, NAME_BYTES, TEMPORARY "%016llx", (unsigned long long)number);
}

bool is_temporary(const char *name)
{
	size_t prefix = strlen(TEMPORARY);
	return strncmp(name, TEMPORARY, prefix) == 0 && strlen(name) == prefix + 16 &&
	       strspn(name + prefix, "0123456789abcdef") == 16;
}

int open_temporary(int dir, char name[NAME_BYTES])
{
	*name = 0;
#ifndef ASSAY_WITHOUT_TMPFILE /* a test defines it */
	int fd = openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	/* Overlay file systems have had such files since Linux 6.1. */
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd;
#endif
	temporary_name(name);
	return openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

int link_temporary(int dir, int fd, const char *temporary, const char *name)
{
	char path[64];
	if (*temporary)
		return linkat(dir, temporary, dir, name, 0) == 0 ? 0 : errno;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, path, dir, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

int name_temporary(int dir, int fd, char name[NAME_BYTES])
{
	if (*name)
		return 0;
	char chosen[NAME_BYTES];
	temporary_name(chosen);
	int err = link_temporary(dir, fd, "", chosen);
	if (err == 0)
		memcpy(name, chosen, NAME_BYTES);
	return err;
}

int write_all(int fd, const void *bytes, size_t length)
{
	const uint8_t *at = bytes;
	while (length > 0) {
		ssize_t wrote = write(fd, at, length);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return wrote < 0 ? errno : EIO;
		at += wrote;
		length -= (size_t)wrote;
	}
	return 0;
}
