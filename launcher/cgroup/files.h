#ifndef ASSAY_CGROUP_FILES_H
#define ASSAY_CGROUP_FILES_H

#include <sys/types.h>

/* The files of groups, for cgroup.c and sandboxes.c only. */

/* Reads one small file, and terminates it by a NUL. Returns how many bytes were read, or -1 with errno if it cannot be opened. */
ssize_t group_file_read(int dir, const char *name, char *buffer, size_t size);
/* Returns -1 with errno on failure. */
int group_file_write(int dir, const char *name, const char *text);

#endif
