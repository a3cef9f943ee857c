/* Mount points of the cgroup trees, and the launcher's own group in each. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cgroup-parts.h"

ssize_t read_file(int dir, const char *name, char *buffer, size_t size)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	size_t used = 0;
	ssize_t n;
	while (used + 1 < size && (n = read(fd, buffer + used, size - 1 - used)) > 0)
		used += (size_t)n;
	buffer[used] = 0;
	close(fd);
	return (ssize_t)used;
}

int write_file(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t n = write(fd, text, strlen(text));
	int err = errno;
	close(fd);
	errno = err;
	return n < 0 ? -1 : 0;
}

bool has_word(const char *list, const char *word, const char *separators)
{
	size_t length = strlen(word);
	for (const char *p = list; *p;) {
		size_t n = strcspn(p, separators);
		if (n == length && !strncmp(p, word, n))
			return true;
		p += n + (p[n] != 0);
	}
	return false;
}

void find_cgroup_mounts(struct mounted *m)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char line[4096];
	while (file && fgets(line, sizeof line, file)) {
		char root[256], at[256], type[64], options[512];
		const char *dash = strstr(line, " - ");
		if (!dash || sscanf(line, "%*s %*s %*s %255s %255s", root, at) != 2 ||
		    sscanf(dash, " - %63s %*s %511s", type, options) != 2)
			continue;
		bool v1 = !strcmp(type, "cgroup");
		for (int t = 0; t < TREE_COUNT; t++) {
			bool fits = t == TREE_UNIFIED ? !strcmp(type, "cgroup2") : v1 && has_word(options, tree_name[t], ",\n");
			if (fits && !m->at[t][0]) {
				memcpy(m->at[t], at, sizeof at);
				memcpy(m->root[t], root, sizeof root);
			}
		}
	}
	if (file)
		fclose(file);
	char list[512], path[512];
	if (m->at[TREE_UNIFIED][0]) {
		snprintf(path, sizeof path, "%s/cgroup.controllers", m->at[TREE_UNIFIED]);
		if (read_file(AT_FDCWD, path, list, sizeof list) > 0)
			m->controllers = has_word(list, "memory", " \n") && has_word(list, "pids", " \n");
	}
}

int mount_unified(struct mounted *m)
{
	int configured = (int)syscall(__NR_fsopen, "cgroup2", 1 /* close on exec */);
	int tree = -1;
	if (configured < 0)
		return -1;
	if (syscall(__NR_fsconfig, configured, 6 /* create */, NULL, NULL, 0) == 0)
		tree = (int)syscall(__NR_fsmount, configured, 1 /* close on exec */, 0);
	int err = errno;
	close(configured);
	errno = err;
	if (tree < 0)
		return -1;
	snprintf(m->at[TREE_UNIFIED], sizeof m->at[0], "/proc/self/fd/%d", tree);
	snprintf(m->root[TREE_UNIFIED], sizeof m->root[0], "/");
	return 0;
}

int own_path(enum tree tree, const struct mounted *m, char *path, size_t size)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[4096];
	int found = -1;
	while (file && found < 0 && fgets(line, sizeof line, file)) {
		line[strcspn(line, "\n")] = 0;
		char *names = strchr(line, ':');
		char *own = names ? strchr(names + 1, ':') : NULL;
		if (!own)
			continue;
		*own++ = 0;
		bool unified = line[0] == '0' && names == line + 1 && !names[1];
		bool fits = tree == TREE_UNIFIED ? unified : has_word(names + 1, tree_name[tree], ",");
		if (!fits || *own != '/' || strstr(own, "/.."))
			continue;
		size_t root = strlen(m->root[tree]);
		if (root > 1 && !strncmp(own, m->root[tree], root) && (own[root] == '/' || !own[root]))
			own += root;
		found = snprintf(path, size, "%s%s", m->at[tree], own) < (int)size ? 0 : -1;
	}
	if (file)
		fclose(file);
	if (found < 0)
		errno = ENOENT;
	return found;
}

const struct backend *choose_backend(const struct mounted *m)
{
	bool v1 = m->at[TREE_MEMORY][0] && m->at[TREE_PIDS][0];
	if (m->controllers)
		return &backends[BACKEND_V2];
	return v1 && m->at[TREE_UNIFIED][0] ? &backends[BACKEND_HYBRID] : NULL;
}
