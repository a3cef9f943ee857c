#ifndef ASSAY_TAR_H
#define ASSAY_TAR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* A header of the format ustar (POSIX.1-1988). Numbers are octal digits. */
struct tar_header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, target[100];
	char magic[8]; /* "ustar", a zero byte, "00" */
	char user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct tar_header) == 512, "the size of a block");

enum { BLOCK = 512 };

unsigned tar_checksum(const struct tar_header *header);

/* --- archive.c: writing ------------------------------------------------------------------------------- */

struct tar_entry {
	const char *name, *target; /* each less than PATH_BYTES; the target is that of a link, and otherwise empty */
	char type;
	mode_t mode;
	uint64_t size;           /* bytes of content that follow, without padding */
	struct timespec changed;
	bool is_exact;           /* with all bits of the mode, and with nanoseconds */
	bool is_sparse;          /* the content begins with a map (GNU sparse format 1.0) */
	uint64_t real_size;      /* of a sparse file */
};

/* Puts the header of one entry, with a pax header before it where ustar has no room. */
void tar_put_entry(const struct tar_entry *entry);
/* Fills the last block of this many bytes. */
void tar_put_padding(uint64_t bytes);
/* Ends the archive. */
void tar_put_end(void);

#endif
