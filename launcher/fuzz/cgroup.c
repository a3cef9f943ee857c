/*
 * Tests how the launcher reads the files of cgroups, and the two lists by which it finds its own cgroup. A number must be accepted
 * only if a second implementation finds the same number, a signal must go only to a listed process, and no path may leave the mount.
 *
 * Input: one byte that chooses what is tested, then the text to read, or for the two lists two texts, with a NUL between them.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <unistd.h>

static FILE *open_input(const char *path, const char *mode);
static long no_syscall(long number, ...);
#define fopen open_input
#define syscall no_syscall
#include "../cgroup/cgroup.c"
#undef fopen
#undef syscall

#include <ctype.h>
#include <stdarg.h>

#include "files.h"

static int directory, list;
static const char *mountinfo, *own_groups;
static pid_t opened;
static const char *members; /* content of cgroup.procs of a leaf */

static FILE *open_input(const char *path, const char *mode)
{
	const char *text = strstr(path, "mountinfo") ? mountinfo : own_groups;
	(void)mode;
	return fmemopen((void *)(uintptr_t)text, strlen(text), "r");
}

static bool has_line(const char *text, const char *line)
{
	for (const char *p = text, *end; (end = strchr(p, '\n')); p = end + 1)
		if ((size_t)(end - p) == strlen(line) && !memcmp(p, line, strlen(line)))
			return true;
	return false;
}

/* Replaces the calls of kill_members(): a pidfd is opened, and is signalled only if its pid is still in the list. */
static long no_syscall(long number, ...)
{
	char line[16];
	va_list arguments;
	va_start(arguments, number);
	int first = va_arg(arguments, int), second = va_arg(arguments, int);
	va_end(arguments);
	if (number == __NR_pidfd_open) {
		EXPECT(first > 0 && second == 0);
		opened = first;
		return dup(list);
	}
	EXPECT(number == __NR_pidfd_send_signal && second == SIGKILL);
	snprintf(line, sizeof line, "%d", opened);
	EXPECT(has_line(members, line));
	return 0;
}

/* A second implementation, which finds the number after a word at the start of a line. Returns false if there is none. */
static bool second_reading(const struct fact_source *source, bool pressure, const char *text, uint64_t *value)
{
	const char *at = text;
	if (source->key) {
		char word[32];
		snprintf(word, sizeof word, "\n%s ", source->key);
		if (!strncmp(text, word + 1, strlen(word + 1)))
			at = text + strlen(word + 1);
		else if ((at = strstr(text, word)))
			at += strlen(word);
		else
			return false;
		if (pressure) {
			const char *total = strstr(at, "total="), *end = strchr(at, '\n');
			if (!total || (end && total > end))
				return false;
			at = total + strlen("total=");
		}
	}
	if (!strncmp(at, "max", 3)) {
		*value = UINT64_MAX;
		return true;
	}
	unsigned __int128 sum = 0;
	const char *digit = at;
	for (; isdigit((unsigned char)*digit); digit++)
		if ((sum = sum * 10 + (unsigned)(*digit - '0')) > UINT64_MAX)
			return false;
	*value = (uint64_t)sum;
	return digit > at;
}

static void try_facts(const char *text)
{
	size_t length = strlen(text);
	for (size_t b = 0; b < BACKENDS; b++) {
		struct groups g = {.backend = &backends[b], .pressure = true};
		for (int fact = 0; fact < FACT_COUNT; fact++) {
			struct leaf leaf;
			uint64_t value = 0, again = 0;
			bool pressure = fact == FACT_PRESSURE_FULL_USEC || fact == FACT_PRESSURE_SOME_USEC;
			leaf.fact[fact] = list;
			int read = leaf_read(&g, &leaf, (enum fact)fact, &value);
			if (!backends[b].fact[fact].file)
				EXPECT(read == -1 && errno == ENODATA);
			else if (length < 4096)
				EXPECT((read == 0) == second_reading(&backends[b].fact[fact], pressure, text, &again) &&
					(read < 0 || value == again));
		}
	}
}

static void try_members(const char *text)
{
	members = text;
	kill_members(directory);
	struct groups g = {.backend = &backends[0]};
	struct leaf leaf;
	leaf.dir[TREE_UNIFIED] = directory;
	int newlines = 0;
	for (const char *p = text; *p; p++)
		newlines += *p == '\n';
	pid_t first[2];
	EXPECT(leaf_tasks(&g, &leaf, first, 2) == newlines || strlen(text) >= 65536);
	char word[16];
	snprintf(word, sizeof word, "%.*s", (int)strcspn(text, "\n"), text);
	EXPECT(!*word || strcspn(text, "\n") >= sizeof word || list_contains(text, word, "\n"));
}

static void try_trees(const char *text, const char *groups)
{
	struct mounted_trees m = {0};
	char path[512];
	mountinfo = text;
	own_groups = groups;
	find_cgroup_mounts(&m);
	choose_backend(&m);
	for (int t = 0; t < TREE_COUNT; t++) {
		size_t mount = strnlen(m.mount_point[t], sizeof m.mount_point[t]);
		EXPECT(mount < sizeof m.mount_point[t] && strnlen(m.root[t], sizeof m.root[t]) < sizeof m.root[t]);
		if (own_group_path((enum tree)t, &m, path, sizeof path) < 0)
			continue;
		EXPECT(!strncmp(path, m.mount_point[t], mount) && !strstr(path + mount, "/.."));
		EXPECT(path[mount] == '/' || !path[mount]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!list) {
		directory = files_directory();
		list = files_add(directory, "cgroup.procs");
		unlinkat(directory, "cgroup.threads", 0);
		EXPECT(symlinkat("cgroup.procs", directory, "cgroup.threads") == 0);
	}
	uint8_t choice = size ? data[0] % 3 : 0;
	if (size)
		data++, size--;
	char *text = files_next(&data, &size), *more = files_next(&data, &size);
	files_set(list, text, strlen(text));
	if (choice == 0)
		try_facts(text);
	else if (choice == 1)
		try_members(text);
	else
		try_trees(text, more);
	free(text);
	free(more);
	return 0;
}
