#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "tar.h"

enum { DEEPEST = 200 }; /* directories, each of which keeps a descriptor and a buffer */

unsigned tar_checksum(const struct tar_header *header)
{
	const unsigned char *bytes = (const unsigned char *)header;
	unsigned sum = 0;
	for (size_t i = 0; i < BLOCK; i++)
		sum += i >= offsetof(struct tar_header, checksum) && i < offsetof(struct tar_header, type) ? ' ' : bytes[i];
	return sum;
}

void tar_put_padding(uint64_t bytes)
{
	static const char zeros[BLOCK];
	put_data(zeros, (size_t)(-bytes % BLOCK));
}

static void put_header(struct tar_header *header)
{
	char checksum[8];
	memcpy(header->magic, "ustar\0" "00", 8);
	snprintf(checksum, sizeof checksum, "%06o", tar_checksum(header));
	memcpy(header->checksum, checksum, 7);
	header->checksum[7] = ' ';
	put_data(header, BLOCK);
}

static void put_octal(char *field, size_t size, uint64_t value)
{
	char text[24];
	snprintf(text, sizeof text, "%0*llo", (int)size - 1, (unsigned long long)value);
	memcpy(field, text, size);
}

/* Puts the name into the header. Returns false if it needs a pax header. */
static bool set_name(struct tar_header *header, const char *name)
{
	size_t length = strlen(name);
	if (length <= sizeof header->name) {
		memcpy(header->name, name, length);
		return true;
	}
	for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
		size_t prefix = (size_t)(slash - name), rest = length - prefix - 1;
		if (prefix <= sizeof header->prefix && rest <= sizeof header->name && rest > 0) {
			memcpy(header->prefix, name, prefix);
			memcpy(header->name, slash + 1, rest);
			return true;
		}
	}
	memcpy(header->name, name, sizeof header->name);
	return false;
}

/* Records of a pax header. */
struct records {
	char text[3 * PATH_BYTES];
	size_t used;
};

/* Appends "LENGTH key=value\n", whose length includes its own digits. */
static void add_record(struct records *records, const char *key, const char *value)
{
	size_t rest = strlen(key) + strlen(value) + 3, digits = 1;
	for (size_t power = 10; rest + digits >= power; power *= 10)
		digits++;
	int wrote = snprintf(records->text + records->used, sizeof records->text - records->used, "%zu %s=%s\n", rest + digits, key, value);
	records->used += (size_t)wrote;
}

static void add_number(struct records *records, const char *key, uint64_t value)
{
	char text[24];
	snprintf(text, sizeof text, "%llu", (unsigned long long)value);
	add_record(records, key, text);
}

/* A time in seconds with nine digits after the point. The kernel counts nanoseconds upwards, also before 1970. */
static void add_time(struct records *records, const char *key, struct timespec time)
{
	char text[40];
	long long seconds = time.tv_sec;
	long nanoseconds = time.tv_nsec;
	bool is_negative = seconds < 0;
	if (is_negative && nanoseconds > 0) {
		seconds++;
		nanoseconds = 1000000000 - nanoseconds;
	}
	snprintf(text, sizeof text, "%s%llu.%09ld", is_negative ? "-" : "", is_negative ? -(unsigned long long)seconds : (unsigned long long)seconds, nanoseconds);
	add_record(records, key, text);
}

void tar_put_entry(const struct tar_entry *entry)
{
	static struct records records;
	struct tar_header header;
	uint64_t size = entry->size;
	records.used = 0;
	memset(&header, 0, sizeof header);
	if (!set_name(&header, entry->name) && !entry->is_sparse)
		add_record(&records, "path", entry->name);
	size_t length = strlen(entry->target);
	if (length > sizeof header.target) {
		add_record(&records, "linkpath", entry->target);
		length = sizeof header.target;
	}
	memcpy(header.target, entry->target, length);
	if (size >> 33)
		add_number(&records, "size", size);
	if (entry->is_exact)
		add_time(&records, "mtime", entry->changed);
	if (entry->is_sparse) {
		add_record(&records, "GNU.sparse.major", "1");
		add_record(&records, "GNU.sparse.minor", "0");
		add_record(&records, "GNU.sparse.name", entry->name);
		add_number(&records, "GNU.sparse.realsize", entry->real_size);
	}
	if (records.used > 0) {
		struct tar_header pax;
		memset(&pax, 0, sizeof pax);
		memcpy(pax.name, "pax", 3);
		put_octal(pax.mode, sizeof pax.mode, 0644);
		put_octal(pax.uid, sizeof pax.uid, 0);
		put_octal(pax.gid, sizeof pax.gid, 0);
		put_octal(pax.size, sizeof pax.size, records.used);
		put_octal(pax.mtime, sizeof pax.mtime, 0);
		pax.type = 'x';
		put_header(&pax);
		put_data(records.text, records.used);
		tar_put_padding(records.used);
	}
	uint64_t seconds = entry->changed.tv_sec < 0 ? 0 : (uint64_t)entry->changed.tv_sec;
	put_octal(header.mode, sizeof header.mode, entry->mode & (entry->is_exact ? 07777 : 0777));
	put_octal(header.uid, sizeof header.uid, 0);
	put_octal(header.gid, sizeof header.gid, 0);
	put_octal(header.size, sizeof header.size, size >> 33 ? 0 : size);
	put_octal(header.mtime, sizeof header.mtime, seconds >> 33 ? 0 : seconds);
	header.type = entry->type;
	put_header(&header);
}

void tar_put_end(void)
{
	static const char zeros[2 * BLOCK];
	put_data(zeros, sizeof zeros);
	end_data();
}

static void put_entry(const char *name, const struct stat *info, char type, const char *target)
{
	tar_put_entry(&(struct tar_entry){
		.name = name, .type = type, .mode = info->st_mode, .target = target, .size = type == '0' ? (uint64_t)info->st_size : 0, .changed = info->st_mtim,
	});
}

/* Puts a file. Returns false, after an answer, if it cannot be read. */
static bool put_file(int dir, const char *entry, const char *name)
{
	static char bytes[DATA_BYTES];
	struct stat info;
	int fd = openat(dir, entry, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || failed(errno, name); /* removed since the directory was read */
	if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
		close(fd);
		return refused("changed", name);
	}
	put_entry(name, &info, '0', "");
	uint64_t left = (uint64_t)info.st_size;
	bool good = true;
	while (good && left > 0) {
		ssize_t got = read(fd, bytes, left < sizeof bytes ? (size_t)left : sizeof bytes);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			good = got < 0 ? failed(errno, name) : refused("changed", name);
		} else {
			put_data(bytes, (size_t)got);
			left -= (size_t)got;
		}
	}
	if (good)
		tar_put_padding((uint64_t)info.st_size);
	close(fd);
	return good;
}

static bool put_directory(int dir, char *name, size_t length, dev_t file_system, int depth);

/* Puts what an entry of a directory is. `name` is its name in the archive, with `length` bytes, in a buffer of PATH_BYTES. */
static bool put_any(int dir, const char *entry, char *name, size_t length, dev_t file_system, int depth)
{
	struct stat info;
	if (fstatat(dir, entry, &info, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT || failed(errno, name);
	if (S_ISREG(info.st_mode))
		return put_file(dir, entry, name);
	if (S_ISLNK(info.st_mode)) {
		char target[PATH_BYTES];
		ssize_t got = readlinkat(dir, entry, target, sizeof target - 1);
		if (got < 0)
			return errno == ENOENT || failed(errno, name);
		target[got] = 0;
		put_entry(name, &info, '2', target);
		return true;
	}
	if (!S_ISDIR(info.st_mode) || info.st_dev != file_system)
		return true;
	if (depth == DEEPEST || length + 2 > PATH_BYTES)
		return refused("tooDeep", name);
	int inner = openat(dir, entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (inner < 0)
		return errno == ENOENT || failed(errno, name);
	strcpy(name + length, "/");
	put_entry(name, &info, '5', "");
	return put_directory(inner, name, length + 1, file_system, depth + 1);
}

/* Puts the entries of a directory, and closes its descriptor. */
static bool put_directory(int dir, char *name, size_t length, dev_t file_system, int depth)
{
	DIR *directory = fdopendir(dir);
	if (!directory) {
		close(dir);
		return failed(ENOMEM, name);
	}
	bool good = true;
	for (struct dirent *entry; good && (entry = readdir(directory));) {
		size_t size = strlen(entry->d_name);
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (length + size >= PATH_BYTES) {
			good = refused("tooDeep", name);
			break;
		}
		memcpy(name + length, entry->d_name, size + 1);
		good = put_any(dir, entry->d_name, name, length + size, file_system, depth);
		name[length] = 0;
	}
	closedir(directory);
	return good;
}

bool serve_archive(struct frame *request)
{
	char path[PATH_BYTES], name[PATH_BYTES];
	struct stat info;
	take_text(request, path, sizeof path);
	if (stat(path, &info) != 0)
		return failed(errno, path);
	bool good;
	if (S_ISDIR(info.st_mode)) {
		int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0)
			return failed(errno, path);
		begin(GO);
		end();
		*name = 0;
		good = put_directory(dir, name, 0, info.st_dev, 0);
	} else if (S_ISREG(info.st_mode)) {
		char real[PATH_BYTES];
		if (!realpath(path, real))
			return failed(errno, path);
		const char *base = strrchr(path, '/');
		strcpy(name, base ? base + 1 : path);
		if (access(real, R_OK) != 0)
			return failed(errno, path);
		begin(GO);
		end();
		good = put_file(AT_FDCWD, real, name);
	} else {
		return refused("notRegular", path);
	}
	if (!good)
		return false;
	tar_put_end();
	begin(END);
	end();
	return true;
}
