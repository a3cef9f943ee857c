#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "tar.h"
#include "unpack.h"

/* Reads exactly `size` bytes. Returns false if there are fewer. */
bool take_bytes(struct unpacking *unpacking, void *bytes, size_t size)
{
	char *at = bytes;
	while (size > 0) {
		size_t got = read_content(&unpacking->content, at, size);
		if (got == 0)
			return false;
		at += got;
		size -= got;
	}
	return true;
}

bool skip_bytes(struct unpacking *unpacking, uint64_t size)
{
	char rest[4096];
	while (size > 0) {
		size_t some = size < sizeof rest ? (size_t)size : sizeof rest;
		if (!take_bytes(unpacking, rest, some))
			return false;
		size -= some;
	}
	return true;
}

/* A number in octal digits, or, if its first bit is set, in binary. Returns false if it is none, or larger than 2^53. */
bool parse_number(const char *field, size_t size, uint64_t *value)
{
	*value = 0;
	size_t i = 0;
	if ((unsigned char)field[0] == 0x80) {
		for (i = 1; i < size; i++) {
			if (*value >> 48)
				return false;
			*value = *value << 8 | (unsigned char)field[i];
		}
		return *value >> 53 == 0;
	}
	while (i < size && field[i] == ' ')
		i++;
	for (; i < size && field[i] >= '0' && field[i] <= '7'; i++)
		*value = *value << 3 | (uint64_t)(field[i] - '0'); /* at most 12 digits */
	return i == size || field[i] == 0 || field[i] == ' ';
}

/* Reads a header's content as text. */
bool take_header_text(struct unpacking *unpacking, uint64_t size, char *text, size_t most)
{
	if (size >= most || !take_bytes(unpacking, text, (size_t)size) || !skip_bytes(unpacking, -size % BLOCK))
		return false;
	text[size] = 0;
	return true;
}

static bool copy_path(char path[PATH_BYTES], const char *text, size_t length)
{
	if (length >= PATH_BYTES || memchr(text, 0, length))
		return false;
	memcpy(path, text, length);
	path[length] = 0;
	return true;
}

/* Reads a number of decimal digits. Returns false if it is none, or larger than 2^53. */
static bool parse_decimal(const char *text, size_t length, uint64_t *value)
{
	*value = 0;
	if (length == 0 || length > 16)
		return false;
	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		*value = *value * 10 + (uint64_t)(text[i] - '0');
	}
	return *value >> 53 == 0;
}

/* Reads a time as add_time() of archive.c writes it: seconds, with nine digits after the point. */
static bool parse_time(const char *text, size_t length, struct timespec *time)
{
	bool is_negative = length > 0 && *text == '-';
	char *end;
	text += is_negative;
	length -= is_negative;
	if (length < 11 || length > 30 || text[length - 10] != '.' || text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	long long seconds = strtoll(text, &end, 10);
	uint64_t nanoseconds;
	if (errno != 0 || end != text + length - 10 || !parse_decimal(text + length - 9, 9, &nanoseconds))
		return false;
	time->tv_sec = is_negative ? -seconds : seconds;
	time->tv_nsec = (long)nanoseconds;
	if (is_negative && nanoseconds > 0) {
		time->tv_sec--;
		time->tv_nsec = 1000000000 - (long)nanoseconds;
	}
	return true;
}

static bool is_key(const char *key, size_t length, const char *name)
{
	return strlen(name) == length && memcmp(key, name, length) == 0;
}

/* Takes a record that only archives of save.c have. */
static bool take_exact(struct unpacking *unpacking, const char *key, size_t key_length, const char *value, size_t length)
{
	if (is_key(key, key_length, "mtime"))
		return parse_time(value, length, &unpacking->changed);
	if (is_key(key, key_length, "GNU.sparse.major"))
		return length == 1 && *value == '1';
	if (is_key(key, key_length, "GNU.sparse.minor"))
		return length == 1 && *value == '0';
	if (is_key(key, key_length, "GNU.sparse.name")) {
		unpacking->has_name = copy_path(unpacking->name, value, length);
		return unpacking->has_name;
	}
	if (is_key(key, key_length, "GNU.sparse.realsize")) {
		unpacking->is_sparse = parse_decimal(value, length, &unpacking->real_size);
		return unpacking->is_sparse;
	}
	return false;
}

/* Reads the records "LENGTH key=value\n" of a pax header. */
bool take_pax(struct unpacking *unpacking, uint64_t size)
{
	static char records[PAX_BYTES];
	if (!take_header_text(unpacking, size, records, sizeof records))
		return false;
	for (char *at = records, *past = records + size; at < past;) {
		char *end_of_length;
		if (*at < '1' || *at > '9')
			return false;
		unsigned long length = strtoul(at, &end_of_length, 10);
		if (*end_of_length != ' ' || length > (unsigned long)(past - at) || length < (unsigned long)(end_of_length - at) + 3 ||
		    at[length - 1] != '\n')
			return false;
		char *key = end_of_length + 1, *end_of_record = at + length - 1;
		char *equals = memchr(key, '=', (size_t)(end_of_record - key));
		if (!equals)
			return false;
		size_t key_length = (size_t)(equals - key), value_length = (size_t)(end_of_record - equals - 1);
		if (key_length == 4 && memcmp(key, "path", 4) == 0) {
			if (!copy_path(unpacking->name, equals + 1, value_length))
				return false;
			unpacking->has_name = true;
		} else if (key_length == 8 && memcmp(key, "linkpath", 8) == 0) {
			if (!copy_path(unpacking->target, equals + 1, value_length))
				return false;
			unpacking->has_target = true;
		} else if (key_length == 4 && memcmp(key, "size", 4) == 0) {
			char *end_of_size;
			errno = 0;
			if (value_length == 0 || equals[1] < '0' || equals[1] > '9')
				return false;
			unpacking->size = strtoull(equals + 1, &end_of_size, 10);
			if (end_of_size != end_of_record || errno != 0 || unpacking->size >> 53)
				return false;
			unpacking->has_size = true;
		} else if (unpacking->is_exact) {
			if (!take_exact(unpacking, key, key_length, equals + 1, value_length))
				return false;
		} else if (key_length > 10 && memcmp(key, "GNU.sparse", 10) == 0) {
			return false; /* the content would not be that of the file */
		}
		at += length;
	}
	return true;
}

/*
 * Opens the directory of an entry, from the root on, and makes what is missing. No component may be a link, so that nothing is
 * written outside of the root. Copies the last component, which is empty for the root itself. Returns a descriptor, or -1 with errno;
 * EBADMSG if the name leads out of the root.
 */
int open_entry_parent(struct unpacking *unpacking, const char *path, char name[NAME_BYTES])
{
	int dir = fcntl(unpacking->root, F_DUPFD_CLOEXEC, 0);
	*name = 0;
	if (*path == '/') {
		close(dir);
		errno = EBADMSG;
		return -1;
	}
	for (const char *at = path; dir >= 0; ) {
		size_t length = strcspn(at, "/");
		int err = length >= NAME_BYTES ? ENAMETOOLONG : length == 2 && memcmp(at, "..", 2) == 0 ? EBADMSG : 0;
		if (err != 0) {
			close(dir);
			errno = err;
			return -1;
		}
		if (length > 0 && !(length == 1 && *at == '.')) {
			if (*name) {
				if (mkdirat(dir, name, 0755) != 0 && errno != EEXIST)
					err = errno;
				int inner = err == 0 ? openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
				if (err == 0 && inner < 0)
					err = errno;
				close(dir);
				dir = inner;
				errno = err;
			}
			memcpy(name, at, length);
			name[length] = 0;
		}
		if (at[length] == 0)
			break;
		at += length + 1;
	}
	return dir;
}

/* Makes room for an entry that is no directory. Returns 0 or an errno. */
static int remove_old(int dir, const char *name)
{
	return unlinkat(dir, name, 0) == 0 || errno == ENOENT ? 0 : errno;
}

static bool unpack_file(struct unpacking *unpacking, int dir, const char *name, const struct tar_header *header, uint64_t size)
{
	uint64_t mode, seconds;
	if (!parse_number(header->mode, sizeof header->mode, &mode))
		return refused("badArchive", unpacking->name);
	if (!parse_number(header->mtime, sizeof header->mtime, &seconds))
		seconds = 0; /* before 1970 */
	int err = remove_old(dir, name);
	if (err != 0)
		return failed(err, unpacking->name);
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return failed(errno, unpacking->name);
	bool good = true;
	for (uint64_t left = size; good && left > 0;) {
		const void *bytes;
		size_t some = take_content(&unpacking->content, &bytes, left < SIZE_MAX ? (size_t)left : SIZE_MAX);
		if (some == 0) {
			good = refused("badArchive", unpacking->name);
		} else if ((err = write_all(fd, bytes, some)) != 0) {
			good = failed(err, unpacking->name);
		}
		left -= some;
	}
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = (time_t)seconds}};
	if (good && (fchmod(fd, (mode_t)mode & 0777) != 0 || futimens(fd, times) != 0))
		good = failed(errno, unpacking->name);
	close(fd);
	if (!good)
		return false;
	unpacking->files++;
	unpacking->bytes += size;
	return skip_bytes(unpacking, -size % BLOCK) || refused("badArchive", unpacking->name);
}

static bool unpack_directory(struct unpacking *unpacking, int dir, const char *name, const struct tar_header *header)
{
	uint64_t mode;
	if (!parse_number(header->mode, sizeof header->mode, &mode))
		return refused("badArchive", unpacking->name);
	if (*name == 0)
		return true; /* the root, which keeps its permissions */
	if (mkdirat(dir, name, 0700) != 0 && errno != EEXIST)
		return failed(errno, unpacking->name);
	int inner = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (inner < 0)
		return failed(errno, unpacking->name);
	/* The owner keeps his rights, because entries of the directory follow. */
	bool good = fchmod(inner, ((mode_t)mode & 0777) | 0700) == 0 || failed(errno, unpacking->name);
	close(inner);
	return good;
}

/* A second name of a file that was unpacked before. */
static bool unpack_hard_link(struct unpacking *unpacking, int dir, const char *name)
{
	char of[NAME_BYTES];
	int from = open_entry_parent(unpacking, unpacking->target, of);
	if (from < 0)
		return errno == EBADMSG ? refused("badArchive", unpacking->name) : failed(errno, unpacking->name);
	bool good = *of != 0 || refused("badArchive", unpacking->name);
	struct stat info;
	if (good && (fstatat(from, of, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode)))
		good = refused("badArchive", unpacking->name);
	int err = good ? remove_old(dir, name) : 0;
	if (good && err == 0 && linkat(from, of, dir, name, 0) != 0)
		err = errno;
	close(from);
	if (good && err != 0)
		good = failed(err, unpacking->name);
	unpacking->files += good;
	return good;
}

static bool unpack_symbolic_link(struct unpacking *unpacking, int dir, const char *name)
{
	int err = remove_old(dir, name);
	if (err == 0 && symlinkat(unpacking->target, dir, name) != 0)
		err = errno;
	unpacking->files += err == 0;
	return err == 0 || failed(err, unpacking->name);
}

static bool unpack_entry(struct unpacking *unpacking, const struct tar_header *header, uint64_t size)
{
	char name[NAME_BYTES];
	char type = header->type;
	size_t length = strlen(unpacking->name);
	/* Before POSIX, a directory was a file whose name ends with a slash. */
	if ((type == 0 || type == '0') && length > 0 && unpacking->name[length - 1] == '/')
		type = '5';
	bool is_file = type == 0 || type == '0' || type == '7';
	if (!is_file && !(type >= '1' && type <= '2') && type != '5')
		return refused("badArchive", unpacking->name);
	int dir = open_entry_parent(unpacking, unpacking->name, name);
	if (dir < 0)
		return errno == EBADMSG ? refused("badArchive", unpacking->name) : failed(errno, unpacking->name);
	bool good;
	if (type == '5')
		good = unpack_directory(unpacking, dir, name, header);
	else if (*name == 0)
		good = refused("badArchive", unpacking->name);
	else if (is_file)
		good = unpack_file(unpacking, dir, name, header, size);
	else if (type == '1')
		good = unpack_hard_link(unpacking, dir, name);
	else
		good = unpack_symbolic_link(unpacking, dir, name);
	close(dir);
	/* Such entries have no content, although some programs write a size. */
	return good;
}

/* Reads the next header. Returns 1, 0 at the end of the archive, or -1 if this is no archive. */
int next_header(struct unpacking *unpacking, struct tar_header *header)
{
	static const struct tar_header zeros;
	uint64_t sum;
	size_t got = read_content(&unpacking->content, header, BLOCK);
	if (got == 0)
		return 0;
	if (got < BLOCK && !take_bytes(unpacking, (char *)header + got, BLOCK - got))
		return -1;
	if (memcmp(header, &zeros, BLOCK) == 0)
		return 0;
	return parse_number(header->checksum, sizeof header->checksum, &sum) && sum == tar_checksum(header) ? 1 : -1;
}

/* The name in a header without a header before it. */
void take_name(struct unpacking *unpacking, const struct tar_header *header)
{
	size_t prefix = memcmp(header->magic, "ustar\0", 6) == 0 ? strnlen(header->prefix, sizeof header->prefix) : 0;
	size_t length = strnlen(header->name, sizeof header->name);
	memcpy(unpacking->name, header->prefix, prefix);
	if (prefix > 0)
		unpacking->name[prefix++] = '/';
	memcpy(unpacking->name + prefix, header->name, length);
	unpacking->name[prefix + length] = 0;
}

static bool unpack_all(struct unpacking *unpacking)
{
	struct tar_header header;
	int next;
	while ((next = next_header(unpacking, &header)) > 0) {
		uint64_t size;
		if (!parse_number(header.size, sizeof header.size, &size))
			return refused("badArchive", "");
		bool good = true;
		switch (header.type) {
		case 'x':
			good = take_pax(unpacking, size);
			break;
		case 'g': /* about all entries: comments, as of git archive */
			good = skip_bytes(unpacking, size) && skip_bytes(unpacking, -size % BLOCK);
			break;
		case 'L': /* a long name, as GNU tar writes it */
			good = take_header_text(unpacking, size, unpacking->name, PATH_BYTES);
			unpacking->has_name = true;
			break;
		case 'K': /* a long target of a link */
			good = take_header_text(unpacking, size, unpacking->target, PATH_BYTES);
			unpacking->has_target = true;
			break;
		default:
			if (!unpacking->has_name)
				take_name(unpacking, &header);
			if (!unpacking->has_target) {
				size_t length = strnlen(header.target, sizeof header.target);
				memcpy(unpacking->target, header.target, length);
				unpacking->target[length] = 0;
			}
			if (!unpack_entry(unpacking, &header, unpacking->has_size ? unpacking->size : size))
				return false;
			unpacking->has_name = unpacking->has_target = unpacking->has_size = false;
		}
		if (!good)
			return refused("badArchive", "");
	}
	return next == 0 || refused("badArchive", "");
}

bool serve_unpack(struct frame *request)
{
	static struct unpacking unpacking;
	char path[PATH_BYTES];
	take_text(request, path, sizeof path);
	int err = make_directories(path);
	if (err != 0)
		return failed(err == EEXIST ? ENOTDIR : err, path);
	unpacking = (struct unpacking){.root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)};
	if (unpacking.root < 0)
		return failed(errno, path);
	begin_content(&unpacking.content);
	bool good = unpack_all(&unpacking);
	close(unpacking.root);
	/* What follows the end of the archive is padding. */
	drain_content(&unpacking.content);
	if (unpacking.content.aborted) {
		begin(END);
		end();
	} else if (good) {
		begin(COUNTS);
		put_u64(unpacking.files);
		put_u64(unpacking.bytes);
		end();
	}
	return good;
}
