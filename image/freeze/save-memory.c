/* Saves the memory of a program: each mapping with its source, protection and advice, and the pages that no file has. */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "freeze.h"

enum { ZERO_RUN = 8 };

/* The advice (enum frozen_advice) of the mapping that is being saved. */
static uint32_t advice;

static struct frozen_map *add_map(enum frozen_kind kind, uint64_t start, uint64_t size, uint32_t prot)
{
	if (frozen.maps == FROZEN_MAPS)
		refuse("too many mappings");
	struct frozen_map *m = &frozen.map[frozen.maps++];
	*m = (struct frozen_map){.start = start, .size = size, .kind = kind, .prot = prot, .advice = advice};
	return m;
}

/*
 * Reads the line of /proc/PID/smaps that has everything that the kernel knows of a mapping besides its address and its source.
 * A flag that thaw.c neither restores nor can do without prevents the freeze.
 */
static void read_flags(char *line)
{
	/* These follow from protection and source (rd to me, sh, ms, io, pf, dw), from history (sd), or from limits (gd, ac, nr, mt). */
	static const char plain[] = " rd wr ex mr mw me sh ms io pf dw sd gd ac nr mt de ";
	static const struct {
		char name[3];
		uint32_t advice;
	} restored[] = {
		{"wf", WIPED_ON_FORK}, {"dc", ABSENT_IN_CHILD}, {"dd", NOT_DUMPED},
		{"hg", HUGE_PAGES}, {"nh", SMALL_PAGES}, {"rr", READ_AT_RANDOM}, {"sr", READ_IN_SEQUENCE},
	};
	advice = 0;
	for (char *flag = strtok(line, " \n"); flag; flag = strtok(NULL, " \n")) {
		char word[8];
		bool known = snprintf(word, sizeof word, " %s ", flag) < (int)sizeof word && strstr(plain, word);
		for (size_t i = 0; i < sizeof restored / sizeof *restored; i++) {
			if (strcmp(flag, restored[i].name))
				continue;
			advice |= restored[i].advice;
			known = true;
		}
		if (!known)
			refuse("the kernel keeps a flag of its memory that is not restored");
	}
}

static bool zero(const char *page)
{
	static const char zeroes[PAGE];
	return memcmp(page, zeroes, PAGE) == 0;
}

/* Saves pages that no file has. Runs of zeroes are not stored, unless they are so short that a mapping costs more. */
static void save_pages(const char *data, uint64_t start, uint64_t size, uint32_t prot)
{
	for (uint64_t from = 0, to; from < size; from = to) {
		uint64_t zeroes = 0;
		while (from + zeroes < size && zero(data + from + zeroes))
			zeroes += PAGE;
		if (zeroes >= ZERO_RUN * PAGE || from + zeroes == size) {
			add_map(ZEROES, start + from, zeroes, prot);
			to = from + zeroes;
			continue;
		}
		for (to = from + zeroes, zeroes = 0; to + zeroes < size && zeroes < ZERO_RUN * PAGE;) {
			if (zero(data + to + zeroes)) {
				zeroes += PAGE;
			} else {
				to += zeroes + PAGE;
				zeroes = 0;
			}
		}
		add_map(FROM_SNAPSHOT, start + from, to - from, prot)->offset = add_bytes(data + from, to - from);
	}
}

/* Whether the memory is still that of the file. */
static bool same_as_file(const char *path, uint64_t offset, const char *data, uint64_t size)
{
	char *file = calloc(1, size);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	check(file && fd >= 0 && pread(fd, file, size, (off_t)offset) >= 0, path);
	bool same = memcmp(file, data, size) == 0;
	close(fd);
	free(file);
	return same;
}

static void save_mapping(uint64_t start, uint64_t end, const char *modes, uint64_t offset, const char *path)
{
	uint64_t size = end - start;
	uint32_t prot = (modes[0] == 'r' ? PROT_READ : 0) | (modes[1] == 'w' ? PROT_WRITE : 0) | (modes[2] == 'x' ? PROT_EXEC : 0);
	if (!strcmp(path, "[vsyscall]"))
		return;
	if (!strncmp(path, "[v", 2)) {
		if (frozen.kernel_mappings == FROZEN_KERNEL_MAPPINGS)
			refuse("too many mappings of the kernel");
		frozen.kernel_mapping[frozen.kernel_mappings].offset = start; /* until the vDSO is known */
		frozen.kernel_mapping[frozen.kernel_mappings++].size = size;
	}
	char *data = calloc(1, size);
	check(data, "memory");
	if (!strcmp(path, "[vdso]")) {
		read_memory(start, data, size);
		frozen.vdso = start;
		frozen.vdso_size = size;
		frozen.vdso_offset = add_bytes(data, size);
	} else if (!strncmp(path, "[v", 2)) {
		;
	} else if (!prot || (advice & WIPED_ON_FORK)) {
		/* A process that continues is as new as a child. What a parent must not share with its child is not in the snapshot. */
		add_map(ZEROES, start, size, prot);
	} else {
		read_memory(start, data, size);
		if (modes[3] == 's' && (prot & PROT_WRITE))
			refuse("it shares memory");
		if (!strcmp(path, "[stack]")) {
			struct frozen_map *m = add_map(STACK, end - frozen.stack_limit, frozen.stack_limit, prot);
			uint64_t used = frozen.thread[0].rsp - 128 - start; /* the 128 bytes of the red zone are in use */
			m->filled = size - used;
			m->offset = add_bytes(data + used, m->filled);
		} else if (path[0] == '/' && same_as_file(path, offset, data, size)) {
			struct frozen_map *m = add_map(FROM_FILE, start, size, prot);
			m->offset = offset;
			m->path = add_text(path);
		} else {
			save_pages(data, start, size, prot);
		}
	}
	free(data);
}

static uint64_t find_random(void)
{
	char name[32];
	uint64_t entry[2];
	snprintf(name, sizeof name, "/proc/%d/auxv", child);
	FILE *vector = fopen(name, "re");
	check(vector, name);
	do
		check(fread(entry, sizeof entry, 1, vector) == 1 && entry[0] != AT_NULL, name);
	while (entry[0] != AT_RANDOM);
	fclose(vector);
	return entry[1];
}

void save_memory(void)
{
	static const char flags[] = "VmFlags:";
	char name[32], line[4352], modes[8], path[4096];
	uint64_t start, end, offset;
	bool in_mapping = false;
	snprintf(name, sizeof name, "/proc/%d/smaps", child);
	FILE *maps = fopen(name, "re");
	check(maps, name);
	while (fgets(line, sizeof line, maps)) {
		if (!in_mapping) {
			path[0] = 0;
			check(sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095[^\n]", &start, &end, modes, &offset, path) >= 4, name);
			in_mapping = true;
		} else if (!strncmp(line, flags, strlen(flags))) {
			read_flags(line + strlen(flags));
			save_mapping(start, end, modes, offset, path);
			in_mapping = false;
		}
	}
	check(!in_mapping, name);
	fclose(maps);
	frozen.random = find_random();
	for (uint32_t i = 0; i < frozen.kernel_mappings; i++)
		frozen.kernel_mapping[i].offset -= frozen.vdso;
}

/* Makes the kernel read a file again, in huge pages where it can. */
static void read_again(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	check(fd >= 0 && fstat(fd, &st) == 0, path);
	/* Pages that are dirty or mapped by another program stay as they are. */
	fdatasync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	size_t size = (size_t)st.st_size;
	volatile char *file = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	check(file != MAP_FAILED, path);
	if (madvise((void *)file, size, MADV_HUGEPAGE) == 0)
		for (size_t at = 0; at < size; at += PAGE)
			(void)file[at];
	munmap((void *)file, size);
	close(fd);
}

/*
 * A process maps 2 MiB of a file with one entry instead of 512 if the kernel read them as a whole, which it does on request,
 * and with file systems that support it: ext4 since Linux 6.16, XFS. The end of the process is then faster as well. Smaller
 * files are read in pieces as large as they allow: with such a C library, a program starts and ends in 7 % less time.
 */
void use_huge_pages(void)
{
	const char *last = "";
	for (uint32_t i = 0; i < frozen.maps; i++) {
		const struct frozen_map *m = &frozen.map[i];
		const char *path = frozen.text + m->path;
		if (m->kind != FROM_FILE || !strcmp(path, last))
			continue;
		read_again(path);
		last = path;
	}
}
