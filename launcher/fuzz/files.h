#ifndef ASSAY_FUZZ_FILES_H
#define ASSAY_FUZZ_FILES_H

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target.h"

/*
 * Files that contain an input. The launcher opens them by their usual names below the directory "files" of the fuzzer's
 * working directory. Each is a link to a memfd, because a file on a disk takes a hundred times as long as reading it.
 */
static inline int files_directory(void)
{
	if (mkdir("files", 0700) < 0 && access("files", X_OK) < 0)
		abort();
	return open("files", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Makes an empty file with this name, in a directory that exists. Returns a descriptor for files_set(). */
static inline int files_add(int directory, const char *name)
{
	char link[32];
	int fd = memfd_create("input", MFD_CLOEXEC);
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	unlinkat(directory, name, 0);
	EXPECT(fd >= 0 && symlinkat(link, directory, name) == 0);
	return fd;
}

static inline void files_set(int fd, const void *data, size_t size)
{
	EXPECT(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
}

/*
 * Returns the input up to its next NUL as a separate allocation, so that the sanitizer detects a read beyond its end. Advances past
 * the NUL.
 */
static inline char *files_next(const uint8_t **data, size_t *size)
{
	size_t length = strnlen((const char *)*data, *size), used = length < *size ? length + 1 : length;
	char *text = malloc(length + 1);
	EXPECT(text);
	if (length)
		memcpy(text, *data, length);
	text[length] = 0;
	*data += used;
	*size -= used;
	return text;
}

#endif
