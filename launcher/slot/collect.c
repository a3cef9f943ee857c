/*
 * Sends the files and directories that a step left in /box: as compiled files for later steps, or as the feedback of a checker.
 * slot.c calls this after the end of all processes of the step, so nothing changes meanwhile. A payload has written the files, so
 * their names, types, modes and sizes are hostile. Links are not followed.
 *
 * If there is anything but regular files and directories with plain permissions, or if there is too much, nothing is sent, because a
 * later step would lack what cannot be sent. Each file is sent with its mode, because the later step runs as another user than the one
 * who wrote the file: it may then do with the file what a step in the same /box may do.
 */
#define _GNU_SOURCE
#include "slot/collect.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The files of a compiled program have up to COLLECT_BYTES together: a million initialized numbers in a source take 4 MiB. The feedback
 * of a checker is stored between two passes, so it may have less. The message of a checker is cut to MESSAGE_BYTES: its length can
 * depend on what a contestant has written, which must not decide whether the result of the checker can be read.
 */
enum { COLLECT_BYTES = 16 * 1024 * 1024, FEEDBACK_BYTES = 4 * 1024 * 1024, MESSAGE_BYTES = 64 * 1024 };
static const char message_name[] = "feedback/judgemessage.txt";

struct collected {
	bool is_feedback; /* the files are the feedback of a checker */
	unsigned count;
	size_t used;
	char name[FILES_MAX][FILE_PATH_MAX + 1];
	size_t size[FILES_MAX];
	unsigned mode[FILES_MAX];
	uint8_t data[COLLECT_BYTES];
};

static int read_file(int fd, bool is_message, struct collected *c)
{
	struct stat st;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 0)
		return -1;
	if (is_message && st.st_size > MESSAGE_BYTES)
		st.st_size = MESSAGE_BYTES;
	if ((uint64_t)st.st_size > (c->is_feedback ? FEEDBACK_BYTES : COLLECT_BYTES) - c->used)
		return -1;
	size_t size = (size_t)st.st_size;
	for (size_t done = 0; done < size;) {
		ssize_t n = read(fd, c->data + c->used + done, size - done);
		if (n <= 0)
			return -1;
		done += (size_t)n;
	}
	c->size[c->count] = size;
	c->mode[c->count++] = st.st_mode & 0777;
	c->used += size;
	return 0;
}

static int collect_directory(int fd, const char *path, struct collected *c);

/* Collects the entry `name` of the directory `dir`, which has the path `path` for the client. Returns -1 if it cannot be sent. */
static int collect_entry(int dir, const char *name, const char *path, struct collected *c)
{
	struct stat st;
	if (!file_path_valid((struct bytes){(const uint8_t *)path, strlen(path)}))
		return -1;
	/* Without O_NONBLOCK, the open of a FIFO that has no writer would block. */
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0 || (st.st_mode & 07000) || c->count == FILES_MAX) {
		close(fd);
		return -1;
	}
	strcpy(c->name[c->count], path);
	if (S_ISDIR(st.st_mode)) {
		c->size[c->count] = 0;
		c->mode[c->count++] = MODE_DIRECTORY | (st.st_mode & 0777);
		return collect_directory(fd, path, c);
	}
	int done = read_file(fd, c->is_feedback && !strcmp(path, message_name), c);
	close(fd);
	return done;
}

/* Collects a directory, and closes `fd`. The depth of a valid path bounds the recursion. Returns -1 if an entry cannot be sent. */
static int collect_directory(int fd, const char *path, struct collected *c)
{
	DIR *list = fdopendir(fd);
	if (!list) {
		close(fd);
		return -1;
	}
	int done = 0;
	for (struct dirent *entry; done == 0 && (entry = readdir(list));) {
		char below[FILE_PATH_MAX + 1];
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		int size = snprintf(below, sizeof below, "%s%s%s", path, *path ? "/" : "", entry->d_name);
		done = size < (int)sizeof below ? collect_entry(dirfd(list), entry->d_name, below, c) : -1;
	}
	closedir(list);
	return done;
}

static int collect_below(int work, const char *path, struct collected *c)
{
	int box = openat(work, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (box < 0 || !*path)
		return box < 0 ? -1 : collect_directory(box, "", c);
	int fd = openat(box, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	close(box);
	return fd < 0 ? -1 : collect_directory(fd, path, c);
}

void send_files(struct queue *out, int work, const char *path)
{
	struct area area = {0};
	if (area_grow(&area, sizeof(struct collected)) < 0)
		return;
	struct collected *c = (struct collected *)area.data;
	c->is_feedback = *path != 0;
	if (collect_below(work, path, c) == 0) {
		size_t at = 0;
		for (unsigned i = 0; i < c->count; i++) {
			queue_frame(out, FRAME_FILE);
			queue_text(out, KEY_LEFT_NAME, c->name[i]);
			queue_bytes(out, KEY_LEFT_DATA, c->data + at, c->size[i]);
			queue_int(out, KEY_LEFT_MODE, c->mode[i]);
			queue_frame_end(out);
			at += c->size[i];
		}
	}
	area_free(&area);
}
