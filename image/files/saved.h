#ifndef ASSAY_SAVED_H
#define ASSAY_SAVED_H

#include <stdbool.h>

/*
 * The directories that a snapshot contains: all that programs of a sandbox can write, except for /dev/shm, which is memory of processes. Everything
 * else belongs to root, so it is the same in each sandbox of an image. launcher/sandbox/root.c makes these directories.
 */
struct saved_directory {
	const char *name; /* from the root on */
	bool is_own;      /* it belongs to the user, who can change its mode and its time */
};

static const struct saved_directory saved_directories[] = {{"home/user", true}, {"tmp", false}};

enum {
	SAVED_DIRECTORIES = sizeof saved_directories / sizeof *saved_directories,
	SAVED_DEEPEST = 200, /* directories in each other, each of which keeps a descriptor */
};

#endif
