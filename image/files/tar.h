#ifndef ASSAY_TAR_H
#define ASSAY_TAR_H

/* A header of the format ustar (POSIX.1-1988). Numbers are octal digits. */
struct tar_header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, target[100];
	char magic[8]; /* "ustar", a zero byte, "00" */
	char user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct tar_header) == 512, "the size of a block");

enum { BLOCK = 512 };

unsigned tar_checksum(const struct tar_header *header);

#endif
