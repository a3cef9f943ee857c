/*
 * v2:     one tree, with the memory and pids controllers.
 * hybrid: memory and pids on v1, and beside them an empty v2 leaf, because the
 *         v2 core needs no controller to give CPU time, pressure, emptiness and
 *         the id that the signal tracepoint is keyed by.
 * v1:     memory, pids and cpuacct; no pressure, no signal tracepoint.
 *
 * Never write a pid into cgroup.procs on the way to a verdict: after 20 quiet
 * milliseconds that takes 11 ms (a global lock and a grace period). A program is
 * born into its v2 leaf (CLONE_INTO_CGROUP) and enters v1 by writing 0 to its own
 * `tasks`, which takes 18 us.
 */
#define _GNU_SOURCE
#include "cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

enum { LAST_PATIENCE_MS = 5000 };

struct place {
	enum tree tree;
	const char *file; /* NULL: this backend has no such fact */
	const char *key;  /* the word before the number; NULL: the file is the number */
	unsigned divide;
};

struct backend {
	const char *name;
	bool uses[TREE_COUNT];
	const char *controllers; /* what v2 must delegate to the leaves */
	struct place fact[FACT_COUNT];
};

#define V1_MEMORY_AND_PIDS \
	[FACT_MEMORY_LIMIT] = {TREE_MEMORY, "memory.limit_in_bytes", NULL, 1}, \
	[FACT_MEMORY_PEAK] = {TREE_MEMORY, "memory.max_usage_in_bytes", NULL, 1}, \
	[FACT_MEMORY_HITS] = {TREE_MEMORY, "memory.failcnt", NULL, 1}, \
	/* v1 has no count of OOM events in a file: each kill was one. */ \
	[FACT_OOM_EVENTS] = {TREE_MEMORY, "memory.oom_control", "oom_kill", 1}, \
	[FACT_OOM_KILLS] = {TREE_MEMORY, "memory.oom_control", "oom_kill", 1}, \
	[FACT_PIDS_LIMIT] = {TREE_PIDS, "pids.max", NULL, 1}, \
	[FACT_PIDS_CURRENT] = {TREE_PIDS, "pids.current", NULL, 1}, \
	[FACT_PIDS_REFUSED] = {TREE_PIDS, "pids.events", "max", 1}, \
	[FACT_PIDS_PEAK] = {TREE_PIDS, "pids.peak", NULL, 1}

#define V2_CORE \
	[FACT_CPU_USEC] = {TREE_UNIFIED, "cpu.stat", "usage_usec", 1}, \
	[FACT_POPULATED] = {TREE_UNIFIED, "cgroup.events", "populated", 1}, \
	[FACT_PRESSURE_FULL] = {TREE_UNIFIED, "cpu.pressure", "full", 1}, \
	[FACT_PRESSURE_SOME] = {TREE_UNIFIED, "cpu.pressure", "some", 1}

static const struct backend backends[] = {
	{
		.name = "cgroup_v2",
		.uses = {[TREE_UNIFIED] = true},
		.controllers = "+memory +pids",
		.fact = {
			[FACT_MEMORY_LIMIT] = {TREE_UNIFIED, "memory.max", NULL, 1},
			[FACT_MEMORY_PEAK] = {TREE_UNIFIED, "memory.peak", NULL, 1},
			[FACT_MEMORY_HITS] = {TREE_UNIFIED, "memory.events", "max", 1},
			[FACT_OOM_EVENTS] = {TREE_UNIFIED, "memory.events", "oom", 1},
			[FACT_OOM_KILLS] = {TREE_UNIFIED, "memory.events", "oom_kill", 1},
			[FACT_PIDS_LIMIT] = {TREE_UNIFIED, "pids.max", NULL, 1},
			[FACT_PIDS_CURRENT] = {TREE_UNIFIED, "pids.current", NULL, 1},
			[FACT_PIDS_REFUSED] = {TREE_UNIFIED, "pids.events", "max", 1},
			[FACT_PIDS_PEAK] = {TREE_UNIFIED, "pids.peak", NULL, 1},
			V2_CORE,
		},
	},
	{
		.name = "cgroup_hybrid",
		.uses = {[TREE_MEMORY] = true, [TREE_PIDS] = true, [TREE_CPU] = true, [TREE_UNIFIED] = true},
		.fact = {V1_MEMORY_AND_PIDS, V2_CORE},
	},
	{
		.name = "cgroup_v1",
		.uses = {[TREE_MEMORY] = true, [TREE_PIDS] = true, [TREE_CPUACCT] = true, [TREE_CPU] = true},
		.fact = {
			V1_MEMORY_AND_PIDS,
			[FACT_CPU_USEC] = {TREE_CPUACCT, "cpuacct.usage", NULL, 1000},
		},
	},
};

static const char *const tree_name[TREE_COUNT] = {"memory", "pids", "cpuacct", "cpu", "unified"};

const char *fact_name(enum fact fact)
{
	static const char *const name[FACT_COUNT] = {
		"memory limit", "memory peak", "memory limit hits", "oom events", "oom kills", "process limit",
		"process count", "refused forks", "process peak", "cpu time", "populated", "cpu pressure full",
		"cpu pressure some",
	};
	return name[fact];
}

const char *groups_backend(const struct groups *g) { return g->backend->name; }

bool host_swaps(void)
{
	struct sysinfo info;
	return sysinfo(&info) < 0 || info.totalswap > 0;
}

/* One whole small file; -1 with errno. */
static ssize_t slurp(int dir, const char *name, char *buffer, size_t size)
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

static int put(int dir, const char *name, const char *text)
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

/* ---- where we are ---- */

struct mounted {
	char at[TREE_COUNT][256];   /* mount point                       */
	char root[TREE_COUNT][256]; /* what of the tree is mounted there */
	bool controllers;           /* the v2 tree has memory and pids   */
};

static void find_mounts(struct mounted *m)
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
		if (slurp(AT_FDCWD, path, list, sizeof list) > 0)
			m->controllers = has_word(list, "memory", " \n") && has_word(list, "pids", " \n");
	}
}

/* Our own group in the tree, as a path below its mount point. */
static int own_path(enum tree tree, const struct mounted *m, char *path, size_t size)
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

static const struct backend *choose(const struct mounted *m)
{
	bool v1 = m->at[TREE_MEMORY][0] && m->at[TREE_PIDS][0];
	if (m->controllers)
		return &backends[0];
	if (v1 && m->at[TREE_UNIFIED][0])
		return &backends[1];
	if (v1 && m->at[TREE_CPUACCT][0])
		return &backends[2];
	return NULL;
}

/* Leaves the group that we stepped aside into, and removes it. */
static void step_back(int own, const char *aside)
{
	char pid[16];
	snprintf(pid, sizeof pid, "%d", getpid());
	put(own, "cgroup.procs", pid);
	unlinkat(own, aside, AT_REMOVEDIR);
}

/*
 * A v2 group with members cannot hand controllers to its children, unless it is
 * the root. So where we are alone (a delegated scope), we step aside first.
 */
static int delegate(int own, const char *instance, const char *controllers, struct failure *f)
{
	if (put(own, "cgroup.subtree_control", controllers) == 0)
		return 0;
	char aside[96];
	snprintf(aside, sizeof aside, "assay-%s.launcher", instance);
	if (mkdirat(own, aside, 0755) < 0 && errno != EEXIST)
		return fail(f, "cgroup", "make %s", aside);
	char procs[128], pid[16];
	snprintf(procs, sizeof procs, "%s/cgroup.procs", aside);
	snprintf(pid, sizeof pid, "%d", getpid());
	if (put(own, procs, pid) < 0)
		fail(f, "cgroup", "enter %s", aside);
	else if (put(own, "cgroup.subtree_control", controllers) == 0)
		return 0;
	else
		fail(f, "cgroup", "delegate %s (other processes share our group; start us in a delegated one)", controllers);
	step_back(own, aside);
	return -1;
}

/* Where v1 has cpu and cpuacct in one tree, a leaf for the one is a leaf for the other. */
static bool needs_cpu_tree(const struct groups *g, const struct mounted *m)
{
	return m->at[TREE_CPU][0] && !(g->backend->uses[TREE_CPUACCT] && !strcmp(m->at[TREE_CPU], m->at[TREE_CPUACCT]));
}

static bool shares_cpu(const struct groups *g, const struct mounted *m)
{
	if (g->backend->controllers)
		return put(g->home[TREE_UNIFIED], "cgroup.subtree_control", "+cpu") == 0;
	return g->home[TREE_CPU] >= 0 || m->at[TREE_CPU][0];
}

void groups_weigh(const struct groups *g, unsigned slots)
{
	char text[24];
	snprintf(text, sizeof text, "%u", g->backend->controllers ? (slots < 100 ? slots * 100 : 10000) : slots * 1024);
	if (g->backend->controllers && g->fair)
		put(g->home[TREE_UNIFIED], "cpu.weight", text);
	else if (g->home[TREE_CPU] >= 0)
		put(g->home[TREE_CPU], "cpu.shares", text);
}

int groups_join(const struct groups *g, unsigned slot, struct failure *f)
{
	if (g->home[TREE_CPU] < 0)
		return 0;
	char name[16], tasks[32];
	snprintf(name, sizeof name, "s%u-cpu", slot);
	snprintf(tasks, sizeof tasks, "%s/tasks", name);
	if ((mkdirat(g->home[TREE_CPU], name, 0755) < 0 && errno != EEXIST) || put(g->home[TREE_CPU], tasks, "0") < 0)
		return fail(f, "cgroup", "enter %s in %s", name, tree_name[TREE_CPU]);
	return 0;
}

int groups_open(struct groups *g, const char *instance, struct failure *f)
{
	struct mounted m = {0};
	char path[512], name[96];

	find_mounts(&m);
	g->backend = choose(&m);
	for (int t = 0; t < TREE_COUNT; t++)
		g->home[t] = -1;
	if (!g->backend)
		return fail_with(f, ENOENT, "cgroup", "%s",
				 m.at[TREE_MEMORY][0] && m.at[TREE_PIDS][0]
					 ? "nothing counts CPU time: no cpuacct controller, and no v2 beside v1"
					 : "no memory and pids controllers, neither v1 nor v2");
	snprintf(name, sizeof name, "assay-%s", instance);
	for (int t = 0; t < TREE_COUNT; t++) {
		if (!g->backend->uses[t] || (t == TREE_CPU && !needs_cpu_tree(g, &m)))
			continue;
		if (own_path(t, &m, path, sizeof path) < 0)
			return fail(f, "cgroup", "own group in %s", tree_name[t]);
		int own = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (own < 0)
			return fail(f, "cgroup", "open %s", path);
		if (t == TREE_UNIFIED && g->backend->controllers && delegate(own, instance, g->backend->controllers, f) < 0)
			return -1;
		if (mkdirat(own, name, 0755) < 0 && errno != EEXIST)
			return fail(f, "cgroup", "make %s/%s", path, name);
		g->home[t] = openat(own, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (t == TREE_UNIFIED && g->backend->controllers)
			put(own, "cgroup.subtree_control", "+cpu"); /* wanted, not needed: see shares_cpu() */
		close(own);
		if (g->home[t] < 0)
			return fail(f, "cgroup", "open %s/%s", path, name);
		if (t == TREE_UNIFIED && g->backend->controllers &&
		    put(g->home[t], "cgroup.subtree_control", g->backend->controllers) < 0)
			return fail(f, "cgroup", "delegate in %s", name);
	}
	g->fair = shares_cpu(g, &m);
	if (groups_sweep(g, "", LAST_PATIENCE_MS) > 0)
		return fail_with(f, EBUSY, "cgroup", "groups of an earlier life cannot be removed");

	char text[8192];
	g->pressure = g->home[TREE_UNIFIED] >= 0 && slurp(g->home[TREE_UNIFIED], "cpu.pressure", text, sizeof text) > 0;
	return 0;
}

/* ---- sweeping ---- */

/* Whether `pid` stands in the list, whole: the last line may be cut off by the buffer's end. */
static bool lists_pid(const char *list, pid_t pid)
{
	char line[16];
	size_t length = (size_t)snprintf(line, sizeof line, "%d\n", pid);
	for (const char *p = list; *p; p += strcspn(p, "\n"), p += *p == '\n')
		if (!strncmp(p, line, length))
			return true;
	return false;
}

/*
 * Members of a leaf are payloads or our own parked processes; nobody else can enter
 * it. Without cgroup.kill (v1, and v2 before 5.14) they are known by pid only, and
 * in a box full of forks a pid is soon another's: so it is pinned first, and killed
 * if it is a member after that.
 */
static void kill_members(int leaf)
{
	char text[4096], again[4096];
	if (put(leaf, "cgroup.kill", "1") == 0 || slurp(leaf, "cgroup.procs", text, sizeof text) <= 0)
		return;
	for (char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n') {
		pid_t pid = (pid_t)strtol(p, NULL, 10);
		int fd = pid > 0 ? (int)syscall(__NR_pidfd_open, pid, 0) : -1;
		if (fd < 0)
			continue;
		if (slurp(leaf, "cgroup.procs", again, sizeof again) > 0 && lists_pid(again, pid))
			syscall(__NR_pidfd_send_signal, fd, SIGKILL, NULL, 0);
		close(fd);
	}
}

/* One round: removes what is empty, kills in what is not. */
static int sweep_once(const struct groups *g, const char *prefix)
{
	int left = 0;
	/* The v2 leaf first: where there is one, it kills for all. */
	for (int t = TREE_COUNT - 1; t >= 0; t--) {
		if (g->home[t] < 0)
			continue;
		int copy = openat(g->home[t], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		DIR *dir = copy < 0 ? NULL : fdopendir(copy);
		struct dirent *entry;
		if (!dir)
			left++; /* not known to be empty */
		while (dir && (entry = readdir(dir))) {
			if (entry->d_type != DT_DIR || entry->d_name[0] == '.' || strncmp(entry->d_name, prefix, strlen(prefix)))
				continue;
			if (unlinkat(g->home[t], entry->d_name, AT_REMOVEDIR) == 0 || errno == ENOENT)
				continue;
			int leaf = openat(g->home[t], entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			if (leaf >= 0) {
				kill_members(leaf);
				close(leaf);
			}
			left++;
		}
		if (dir)
			closedir(dir);
		else if (copy >= 0)
			close(copy);
	}
	return left;
}

int groups_sweep(const struct groups *g, const char *prefix, int patience_ms)
{
	int left;
	while ((left = sweep_once(g, prefix)) > 0 && patience_ms > 0) {
		usleep(2000);
		patience_ms -= 2;
	}
	return left;
}

int groups_close(struct groups *g, const char *instance)
{
	int left = groups_sweep(g, "", LAST_PATIENCE_MS);
	char name[96], aside[110];
	snprintf(name, sizeof name, "assay-%s", instance);
	snprintf(aside, sizeof aside, "%s.launcher", name);
	for (int t = 0; t < TREE_COUNT; t++) {
		if (g->home[t] < 0)
			continue;
		int own = openat(g->home[t], "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(g->home[t]);
		g->home[t] = -1;
		if (unlinkat(own, name, AT_REMOVEDIR) < 0)
			left++;
		if (t == TREE_UNIFIED && faccessat(own, aside, F_OK, 0) == 0) {
			put(own, "cgroup.subtree_control", "-memory -pids");
			put(own, "cgroup.subtree_control", "-cpu");
			step_back(own, aside);
		}
		close(own);
	}
	return left;
}

/* ---- leaves ---- */

/* v1 tells of an OOM by an eventfd: the kernel kills one process there, and we end the rest of the box. */
static int watch_oom(struct leaf *leaf, struct failure *f)
{
	int control = openat(leaf->dir[TREE_MEMORY], "memory.oom_control", O_RDONLY | O_CLOEXEC);
	char line[48];
	leaf->oom_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	snprintf(line, sizeof line, "%d %d", leaf->oom_event, control);
	int done = control < 0 || leaf->oom_event < 0 ? -1 : put(leaf->dir[TREE_MEMORY], "cgroup.event_control", line);
	if (done < 0)
		fail(f, "cgroup", "watch memory.oom_control");
	if (control >= 0)
		close(control);
	return done;
}

int leaf_make(const struct groups *g, struct leaf *leaf, const char *name, struct failure *f)
{
	snprintf(leaf->name, sizeof leaf->name, "%s", name);
	leaf->oom_event = -1;
	leaf->id = 0;
	for (int t = 0; t < TREE_COUNT; t++)
		leaf->dir[t] = leaf->tasks[t] = -1;
	for (int i = 0; i < FACT_COUNT; i++)
		leaf->fact[i] = -1;
	for (int t = 0; t < TREE_COUNT; t++) {
		if (g->home[t] < 0 || t == TREE_CPU)
			continue;
		if (mkdirat(g->home[t], name, 0755) < 0)
			return fail(f, "cgroup", "make %s in %s", name, tree_name[t]);
		leaf->dir[t] = openat(g->home[t], name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (leaf->dir[t] < 0)
			return fail(f, "cgroup", "open %s in %s", name, tree_name[t]);
		if (t != TREE_UNIFIED && (leaf->tasks[t] = openat(leaf->dir[t], "tasks", O_WRONLY | O_CLOEXEC)) < 0)
			return fail(f, "cgroup", "open tasks of %s in %s", name, tree_name[t]);
	}
	for (int i = 0; i < FACT_COUNT; i++) {
		const struct place *place = &g->backend->fact[i];
		bool writable = i == FACT_MEMORY_LIMIT || i == FACT_PIDS_LIMIT;
		if (!place->file)
			continue;
		/* A fact that shares its file with another shares the descriptor. */
		for (int j = 0; j < i && leaf->fact[i] < 0; j++)
			if (g->backend->fact[j].file && !strcmp(g->backend->fact[j].file, place->file) &&
			    g->backend->fact[j].tree == place->tree)
				leaf->fact[i] = leaf->fact[j];
		if (leaf->fact[i] < 0)
			leaf->fact[i] = openat(leaf->dir[place->tree], place->file, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	}
	if (leaf->dir[TREE_UNIFIED] >= 0) {
		struct stat st;
		if (fstat(leaf->dir[TREE_UNIFIED], &st) < 0)
			return fail(f, "cgroup", "stat %s", name);
		leaf->id = st.st_ino;
	}
	if (g->backend->controllers && put(leaf->dir[TREE_UNIFIED], "memory.oom.group", "1") < 0)
		return fail(f, "cgroup", "memory.oom.group of %s", name);
	if (leaf->dir[TREE_MEMORY] >= 0 && watch_oom(leaf, f) < 0)
		return -1;
	return 0;
}

static int write_number(int fd, uint64_t value)
{
	char text[24];
	int n = snprintf(text, sizeof text, "%llu", (unsigned long long)value);
	return pwrite(fd, text, (size_t)n, 0) == n ? 0 : -1;
}

/*
 * Also where there is no swap now: somebody may switch it on while a program runs. A kernel that counts no swap has no
 * such file; then there may be none. On v1 the limit of both together is charged first, and not every kernel counts how
 * often it was met: so it is a page larger, and the memory's own is met before it.
 */
static int limit_swap(const struct groups *g, const struct leaf *leaf, uint64_t memory_bytes, struct failure *f)
{
	char text[24];
	snprintf(text, sizeof text, "%llu", (unsigned long long)memory_bytes + (unsigned long long)sysconf(_SC_PAGESIZE));
	int done = g->backend->controllers ? put(leaf->dir[TREE_UNIFIED], "memory.swap.max", "0")
					   : put(leaf->dir[TREE_MEMORY], "memory.memsw.limit_in_bytes", text);
	if (done == 0 || (errno == ENOENT && !host_swaps()))
		return 0;
	return fail(f, "cgroup", "swap limit (the host swaps; boot with swapaccount=1 or switch swap off)");
}

int leaf_limit(const struct groups *g, struct leaf *leaf, uint64_t memory_bytes, uint64_t processes, struct failure *f)
{
	if (write_number(leaf->fact[FACT_MEMORY_LIMIT], memory_bytes) < 0)
		return fail(f, "cgroup", "memory limit");
	if (write_number(leaf->fact[FACT_PIDS_LIMIT], processes) < 0)
		return fail(f, "cgroup", "process limit");
	return limit_swap(g, leaf, memory_bytes, f);
}

int leaf_read(const struct groups *g, const struct leaf *leaf, enum fact fact, uint64_t *value)
{
	const struct place *place = &g->backend->fact[fact];
	char text[4096];

	if (!place->file || ((fact == FACT_PRESSURE_FULL || fact == FACT_PRESSURE_SOME) && !g->pressure)) {
		errno = ENODATA;
		return -1;
	}
	ssize_t n = pread(leaf->fact[fact], text, sizeof text - 1, 0);
	if (n < 0)
		return -1;
	text[n] = 0;
	const char *p = text;
	if (place->key) {
		size_t length = strlen(place->key);
		while (*p && (strncmp(p, place->key, length) || p[length] != ' '))
			p += strcspn(p, "\n"), p += *p == '\n';
		const char *total = strstr(p, "total=");
		p += *p ? length + 1 : 0;
		if (fact == FACT_PRESSURE_FULL || fact == FACT_PRESSURE_SOME)
			p = total && total < p + strcspn(p, "\n") ? total + strlen("total=") : "";
	}
	/* strtoull would take a sign and blanks, even the end of the line, for the beginning of a number. */
	bool digits = *p >= '0' && *p <= '9', most = !strncmp(p, "max", 3);
	errno = 0;
	*value = most ? UINT64_MAX : strtoull(p, NULL, 10) / place->divide;
	if (!most && (!digits || errno)) {
		errno = EBADMSG;
		return -1;
	}
	return 0;
}

int leaf_tasks(const struct groups *g, const struct leaf *leaf)
{
	int dir = leaf->dir[g->backend->fact[FACT_PIDS_CURRENT].tree], count = 0;
	const char *file = g->backend->controllers ? "cgroup.threads" : "tasks";
	char text[65536];
	if (slurp(dir, file, text, sizeof text) < 0)
		return 0;
	for (const char *p = text; *p; p++)
		count += *p == '\n';
	return count;
}

void leaf_remove(const struct groups *g, struct leaf *leaf, void (*left)(void *, const char *), void *context)
{
	for (int i = 0; i < FACT_COUNT; i++) {
		int fd = leaf->fact[i];
		for (int j = i; j < FACT_COUNT && fd >= 0; j++)
			if (leaf->fact[j] == fd)
				leaf->fact[j] = -1;
		if (fd >= 0)
			close(fd);
	}
	if (leaf->oom_event >= 0)
		close(leaf->oom_event);
	leaf->oom_event = -1;
	for (int t = 0; t < TREE_COUNT; t++) {
		if (leaf->tasks[t] >= 0)
			close(leaf->tasks[t]);
		if (leaf->dir[t] >= 0)
			close(leaf->dir[t]);
		leaf->tasks[t] = leaf->dir[t] = -1;
		if (g->home[t] < 0)
			continue;
		/* A member that is just exiting keeps the group busy for a moment. */
		int done, tries = 0;
		while ((done = unlinkat(g->home[t], leaf->name, AT_REMOVEDIR)) < 0 && errno == EBUSY && tries++ < 500)
			usleep(1000);
		if (done < 0 && errno != ENOENT) {
			char text[128];
			snprintf(text, sizeof text, "%s in %s: %s", leaf->name, tree_name[t], strerror(errno));
			left(context, text);
		}
	}
}
