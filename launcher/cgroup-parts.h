#ifndef ASSAY_CGROUP_PARTS_H
#define ASSAY_CGROUP_PARTS_H

#include <sys/types.h>

#include "cgroup.h"

/* Shared by the cgroup*.c files only. */

struct fact_source {
	enum tree tree;
	const char *file; /* NULL: this backend does not have the fact */
	const char *key;  /* the word before the number; NULL: the file is the number */
};

struct backend {
	const char *name;
	bool uses[TREE_COUNT];
	bool keeps[TREE_COUNT]; /* a leaf may serve the next box */
	const char *controllers; /* controllers that v2 must delegate to the leaves */
	struct fact_source fact[FACT_COUNT];
};

enum { BACKEND_V2, BACKEND_HYBRID, BACKENDS };
extern const struct backend backends[BACKENDS];
extern const char *const tree_name[TREE_COUNT];

struct mounted {
	char at[TREE_COUNT][256];   /* mount point                       */
	char root[TREE_COUNT][256]; /* the mounted part of the tree */
	bool controllers;           /* the v2 tree has memory and pids */
};

void find_cgroup_mounts(struct mounted *m);
/* Mounts the v2 tree if none is mounted: without a path, for the life of this process. -1 with errno. */
int mount_unified(struct mounted *m);
/* The launcher's group in the tree, as a path below its mount point. -1 with errno. */
int own_path(enum tree tree, const struct mounted *m, char *path, size_t size);
/* NULL if no backend works with these mounts. */
const struct backend *choose_backend(const struct mounted *m);

/* Reads one small file, terminated by a NUL. Returns its length, or -1 with errno. */
ssize_t read_file(int dir, const char *name, char *buffer, size_t size);
int write_file(int dir, const char *name, const char *text);

#endif
