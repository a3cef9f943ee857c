#ifndef ASSAY_CGROUP_PARTS_H
#define ASSAY_CGROUP_PARTS_H

#include <sys/types.h>

#include "cgroup.h"

/* What the cgroup-*.c files share, and no other file needs. */

struct place {
	enum tree tree;
	const char *file; /* NULL: this backend has no such fact */
	const char *key;  /* the word before the number; NULL: the file is the number */
};

struct backend {
	const char *name;
	bool uses[TREE_COUNT];
	const char *controllers; /* what v2 must delegate to the leaves */
	struct place fact[FACT_COUNT];
};

enum { BACKEND_V2, BACKEND_HYBRID, BACKENDS };
extern const struct backend backends[BACKENDS];
extern const char *const tree_name[TREE_COUNT];

struct mounted {
	char at[TREE_COUNT][256];   /* mount point                       */
	char root[TREE_COUNT][256]; /* what of the tree is mounted there */
	bool controllers;           /* the v2 tree has memory and pids   */
};

void find_mounts(struct mounted *m);
/* Mounts the v2 tree where none is mounted: at no path, for as long as this process lives. -1 with errno. */
int mount_unified(struct mounted *m);
/* Our own group in the tree, as a path below its mount point. -1 with errno. */
int own_path(enum tree tree, const struct mounted *m, char *path, size_t size);
/* NULL: no backend works with these mounts. */
const struct backend *choose_backend(const struct mounted *m);

/* One whole small file, ended by a NUL; its length, or -1 with errno. */
ssize_t slurp(int dir, const char *name, char *buffer, size_t size);
int put(int dir, const char *name, const char *text);

#endif
