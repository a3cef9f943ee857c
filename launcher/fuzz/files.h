#ifndef ASSAY_FUZZ_FILES_H
#define ASSAY_FUZZ_FILES_H

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target.h"

/*
 * Files that hold an input. The launcher opens them by the names that it knows, below
 * the directory "files" of wherever the fuzzer runs; each is a link to memory, because
 * a file on a disk costs a hundred times what reading it does.
 */
static inline int files_directory(void)
{
	if (mkdir("files", 0700) < 0 && access("files", X_OK) < 0)
		abort();
	return open("files", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Its directory must be there. */
static inline int files_add(int directory, const char *name)
{
	char link[32];
	int fd = memfd_create("input", MFD_CLOEXEC);
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	unlinkat(directory, name, 0);
	PROMISE(fd >= 0 && symlinkat(link, directory, name) == 0);
	return fd;
}

static inline void files_set(int fd, const void *data, size_t size)
{
	PROMISE(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
}

/* The input up to its next NUL, as text of its own; the input begins behind it then. The sanitizer sees the first byte too many. */
static inline char *files_next(const uint8_t **data, size_t *size)
{
	size_t length = strnlen((const char *)*data, *size), used = length < *size ? length + 1 : length;
	char *text = malloc(length + 1);
	PROMISE(text);
	if (length)
		memcpy(text, *data, length);
	text[length] = 0;
	*data += used;
	*size -= used;
	return text;
}

#endif
