/* Saves the descriptors of a program, with what each needs to be opened again. Descriptors of other kinds are refused. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "freeze.h"

static struct frozen_file *find_file(uint32_t fd)
{
	for (uint32_t i = 0; i < frozen.files; i++)
		if (frozen.file[i].fd == fd)
			return &frozen.file[i];
	return NULL;
}

/* Records a line of the descriptor's /proc/PID/fdinfo. */
static void record_info(struct frozen_file *f, const char *line)
{
	sscanf(line, "flags: %o", &f->flags);
	if (f->kind == ORDINARY)
		sscanf(line, "pos: %lu", &f->value);
	if (f->kind == EVENT_COUNTER)
		sscanf(line, "eventfd-count: %lx", &f->value);
	struct frozen_watch w = {.poll_fd = f->fd};
	if (f->kind == POLL && sscanf(line, "tfd: %u events: %x data: %lx", &w.fd, &w.events, &w.data) == 3) {
		if (frozen.watches == FROZEN_WATCHES)
			refuse("it watches too many descriptors");
		frozen.watch[frozen.watches++] = w;
	}
}

/*
 * Joins this end of a pipe with the other end, if that is in the list already. Until then, `value` of the first end is the
 * number of the pipe.
 */
static bool save_pipe(const struct frozen_file *end, const char *path, uint64_t number)
{
	for (uint32_t i = 0; i < frozen.files; i++) {
		struct frozen_file *f = &frozen.file[i];
		if (f->kind != PIPE || f->other_fd || f->value != number)
			continue;
		/* pipe2 gives the end that is read the lower number. */
		int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		check(fd >= 0, path);
		f->other_fd = end->fd;
		f->other_flags = end->flags;
		ssize_t size = read(fd, f->content, sizeof f->content);
		f->filled = size > 0 ? (uint32_t)size : 0;
		if (size == sizeof f->content || (f->flags & O_ACCMODE) != O_RDONLY)
			refuse(path);
		close(fd);
		return true;
	}
	return false;
}

static void read_info(struct frozen_file *f)
{
	char path[64], line[256];
	snprintf(path, sizeof path, "/proc/%d/fdinfo/%u", child, f->fd);
	FILE *info = fopen(path, "re");
	check(info, path);
	while (fgets(line, sizeof line, info))
		record_info(f, line);
	fclose(info);
}

/*
 * Descriptors 0 to 2 come from the step; only FD_CLOEXEC is saved. O_NONBLOCK is not restored: it belongs to the open file,
 * which other programs use as well, and Node, which sets it for process.stdout, would set it only when a program uses that.
 */
static void save_standard_files(void)
{
	for (uint32_t fd = 0; fd < 3; fd++) {
		struct frozen_file f = {.fd = fd};
		read_info(&f);
		frozen.closed_on_exec[fd] = (f.flags & O_CLOEXEC) != 0;
	}
}

void save_files(uint32_t first_fd)
{
	char path[64], target[4096];
	save_standard_files();
	for (uint32_t fd = first_fd; fd < 1024; fd++) {
		struct stat st;
		uint64_t number;
		snprintf(path, sizeof path, "/proc/%d/fd/%u", child, fd);
		ssize_t size = readlink(path, target, sizeof target - 1);
		if (size < 0)
			continue;
		target[size] = 0;
		if (fd >= FROZEN_FDS || stat(path, &st) < 0 || frozen.files == FROZEN_FILES)
			refuse(target);
		struct frozen_file f = {.fd = fd};
		if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISCHR(st.st_mode))
			f.path = add_text(target);
		else if (!strcmp(target, "anon_inode:[eventfd]"))
			f.kind = EVENT_COUNTER;
		else if (!strcmp(target, "anon_inode:[eventpoll]"))
			f.kind = POLL;
		else if (sscanf(target, "pipe:[%lu]", &number) == 1)
			f.kind = PIPE;
		else
			refuse(target);
		read_info(&f);
		if (S_ISREG(st.st_mode) && (f.flags & O_ACCMODE) != O_RDONLY)
			refuse("it writes a file");
		if (f.kind == PIPE && save_pipe(&f, path, number))
			continue;
		if (f.kind == PIPE)
			f.value = number;
		frozen.file[frozen.files++] = f;
	}
	for (uint32_t i = 0; i < frozen.files; i++)
		if (frozen.file[i].kind == PIPE && !frozen.file[i].other_fd)
			refuse("it has a pipe to another process");
	for (uint32_t i = 0; i < frozen.watches; i++) {
		uint32_t fd = frozen.watch[i].fd;
		bool known = find_file(fd) != NULL;
		for (uint32_t k = 0; k < frozen.files; k++)
			known |= frozen.file[k].kind == PIPE && frozen.file[k].other_fd == fd;
		if (!known)
			refuse("it watches a descriptor of the step");
	}
}
