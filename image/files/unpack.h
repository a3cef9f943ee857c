#ifndef ASSAY_UNPACK_H
#define ASSAY_UNPACK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "files.h"
#include "tar.h"

/* Reading archives (unpack.c), whose content anyone can have chosen. */

enum { PAX_BYTES = 65536 }; /* the largest header that extends another one */

struct unpacking {
	struct content content;
	int root;
	uint64_t files, bytes;
	/* What headers before an entry say about it. */
	char name[PATH_BYTES], target[PATH_BYTES];
	bool has_name, has_target, has_size;
	uint64_t size;
	/* The archive is one of save.c. Then its pax headers have only what that writes, and the following as well. */
	bool is_exact, is_sparse;
	struct timespec changed;
	uint64_t real_size;
};

/* Reads exactly `size` bytes. Returns false if there are fewer. */
bool take_bytes(struct unpacking *unpacking, void *bytes, size_t size);
bool skip_bytes(struct unpacking *unpacking, uint64_t size);
/* Reads the next header. Returns 1, 0 at the end of the archive, or -1 if this is no archive. */
int next_header(struct unpacking *unpacking, struct tar_header *header);
/* Takes the name that a header has if none is before it. */
void take_name(struct unpacking *unpacking, const struct tar_header *header);
/* Reads the content of a pax header. Returns false if it is malformed. */
bool take_pax(struct unpacking *unpacking, uint64_t size);
/* A number in octal digits, or, if its first bit is set, in binary. Returns false if it is none, or larger than 2^53. */
bool parse_number(const char *field, size_t size, uint64_t *value);
/*
 * Opens the directory of an entry, from the root on, and makes what is missing. No component may be a link. Copies the last component, which is
 * empty for the root itself. Returns a descriptor, or -1 with errno; EBADMSG if the name leads out of the root.
 */
int open_entry_parent(struct unpacking *unpacking, const char *path, char name[NAME_BYTES]);

#endif
