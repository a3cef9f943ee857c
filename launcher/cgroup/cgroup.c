/*
 * The cgroups of the launcher, its slots and its boxes, on hosts with either version:
 *
 * v2:     one tree with the memory and pids controllers, and with cpu if possible.
 * hybrid: memory, pids and cpu on v1, and a v2 leaf without controllers in
 *         addition. The core of v2 provides CPU time, pressure, emptiness and the id
 *         by which the signal tracepoint counts.
 *
 * If no v2 tree is mounted, the launcher mounts one for itself, so a host with v1 alone is hybrid as well. The table `backends`
 * lists in which files the two have their facts.
 *
 * Never write a pid into cgroup.procs before a verdict: after 20 idle milliseconds that takes 11 ms (a global lock and
 * a grace period). A program is born in its v2 leaf (CLONE_INTO_CGROUP) and enters v1 by writing 0 to `tasks`, which
 * takes 18 us.
 *
 * prepare.c and main.c open and close the groups of the launcher, serve.c removes those of dead slots, run/ makes and removes the
 * leaves of runs and sets their limits, and supervise/ reads their facts.
 */
#define _GNU_SOURCE
#include "cgroup/cgroup.h"

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

#include "cgroup/files.h"
#include "clock.h"
#include "descriptors.h"
#include "unforked-memory.h"

/* The file in which a backend has a fact. */
struct fact_source {
	enum tree tree;
	const char *file; /* NULL: this backend does not have the fact */
	const char *key;  /* the first word of the line with the number; NULL: the file contains only the number */
};

struct backend {
	const char *name;
	bool uses[TREE_COUNT];
	bool reusable[TREE_COUNT]; /* whether a group in this tree may serve the next run */
	const char *controllers; /* the controllers that v2 must delegate to the leaves; NULL: v2 has none (hybrid) */
	struct fact_source fact[FACT_COUNT];
};

enum { BACKEND_V2, BACKEND_HYBRID, BACKENDS };

/* The cgroup trees that the host has mounted. */
struct mounted_trees {
	char mount_point[TREE_COUNT][256];
	char root[TREE_COUNT][256]; /* the group that is mounted there; "/" is the whole tree */
	bool controllers;           /* the v2 tree has memory and pids */
};

#define V1_MEMORY_AND_PIDS \
	[FACT_MEMORY_LIMIT] = {TREE_MEMORY, "memory.limit_in_bytes", NULL}, \
	[FACT_MEMORY_PEAK] = {TREE_MEMORY, "memory.max_usage_in_bytes", NULL}, \
	[FACT_MEMORY_HITS] = {TREE_MEMORY, "memory.failcnt", NULL}, \
	/* v1 has no file that counts OOM events: read_counters() in supervise.c replaces this by the count of the eventfd. */ \
	[FACT_OOM_EVENTS] = {TREE_MEMORY, "memory.oom_control", "oom_kill"}, \
	[FACT_OOM_KILLS] = {TREE_MEMORY, "memory.oom_control", "oom_kill"}, \
	[FACT_PIDS_LIMIT] = {TREE_PIDS, "pids.max", NULL}, \
	[FACT_PIDS_CURRENT] = {TREE_PIDS, "pids.current", NULL}, \
	[FACT_PIDS_REFUSED] = {TREE_PIDS, "pids.events", "max"}, \
	[FACT_PIDS_PEAK] = {TREE_PIDS, "pids.peak", NULL}, \
	[FACT_MEMORY_NOW] = {TREE_MEMORY, "memory.usage_in_bytes", NULL}, \
	[FACT_KERNEL_NOW] = {TREE_MEMORY, "memory.kmem.usage_in_bytes", NULL}

#define V2_CORE \
	[FACT_CPU_USEC] = {TREE_UNIFIED, "cpu.stat", "usage_usec"}, \
	[FACT_POPULATED] = {TREE_UNIFIED, "cgroup.events", "populated"}, \
	[FACT_PRESSURE_FULL_USEC] = {TREE_UNIFIED, "cpu.pressure", "full"}, \
	[FACT_PRESSURE_SOME_USEC] = {TREE_UNIFIED, "cpu.pressure", "some"}

static const struct backend backends[BACKENDS] = {
	[BACKEND_V2] = {
		.name = "cgroup_v2",
		.uses = {[TREE_UNIFIED] = true},
		.controllers = "+memory +pids",
		.fact = {
			[FACT_MEMORY_LIMIT] = {TREE_UNIFIED, "memory.max", NULL},
			[FACT_MEMORY_PEAK] = {TREE_UNIFIED, "memory.peak", NULL},
			[FACT_MEMORY_HITS] = {TREE_UNIFIED, "memory.events", "max"},
			[FACT_OOM_EVENTS] = {TREE_UNIFIED, "memory.events", "oom"},
			[FACT_OOM_KILLS] = {TREE_UNIFIED, "memory.events", "oom_kill"},
			[FACT_PIDS_LIMIT] = {TREE_UNIFIED, "pids.max", NULL},
			[FACT_PIDS_CURRENT] = {TREE_UNIFIED, "pids.current", NULL},
			[FACT_PIDS_REFUSED] = {TREE_UNIFIED, "pids.events", "max"},
			[FACT_PIDS_PEAK] = {TREE_UNIFIED, "pids.peak", NULL},
			[FACT_MEMORY_NOW] = {TREE_UNIFIED, "memory.current", NULL},
			[FACT_KERNEL_NOW] = {TREE_UNIFIED, "memory.stat", "kernel"},
			V2_CORE,
		},
	},
	[BACKEND_HYBRID] = {
		.name = "cgroup_hybrid",
		.uses = {[TREE_MEMORY] = true, [TREE_PIDS] = true, [TREE_CPU] = true, [TREE_UNIFIED] = true},
		/* Reuse saves 5 % of a short run. TREE_MEMORY cannot be reused, because memory of a run can stay charged after its end. */
		.reusable = {[TREE_PIDS] = true, [TREE_UNIFIED] = true},
		.fact = {V1_MEMORY_AND_PIDS, V2_CORE},
	},
};

static const char *const tree_name[TREE_COUNT] = {"memory", "pids", "cpu", "unified"};

/* ---- files and lists ---- */

ssize_t group_file_read(int dir, const char *name, char *buffer, size_t size)
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

int group_file_write(int dir, const char *name, const char *text)
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

bool list_contains(const char *list, const char *word, const char *separators)
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

/* ---- finding the trees ---- */

/* Finds the mount points of the trees. That of a tree that is not mounted stays empty. */
static void find_cgroup_mounts(struct mounted_trees *m)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char line[4096];
	while (file && fgets(line, sizeof line, file)) {
		char root[256], mount_point[256], type[64], options[512];
		const char *dash = strstr(line, " - ");
		if (!dash || sscanf(line, "%*s %*s %*s %255s %255s", root, mount_point) != 2 ||
		    sscanf(dash, " - %63s %*s %511s", type, options) != 2)
			continue;
		bool v1 = !strcmp(type, "cgroup");
		for (int t = 0; t < TREE_COUNT; t++) {
			bool fits = t == TREE_UNIFIED ? !strcmp(type, "cgroup2") : v1 && list_contains(options, tree_name[t], ",\n");
			if (fits && !m->mount_point[t][0]) {
				memcpy(m->mount_point[t], mount_point, sizeof mount_point);
				memcpy(m->root[t], root, sizeof root);
			}
		}
	}
	if (file)
		fclose(file);
	char list[512], path[512];
	if (m->mount_point[TREE_UNIFIED][0]) {
		snprintf(path, sizeof path, "%s/cgroup.controllers", m->mount_point[TREE_UNIFIED]);
		if (group_file_read(AT_FDCWD, path, list, sizeof list) > 0)
			m->controllers = list_contains(list, "memory", " \n") && list_contains(list, "pids", " \n");
	}
}

/* Mounts the v2 tree without a path, for the life of this process. Returns -1 with errno on failure. */
static int mount_unified(struct mounted_trees *m)
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
	snprintf(m->mount_point[TREE_UNIFIED], sizeof m->mount_point[0], "/proc/self/fd/%d", tree);
	snprintf(m->root[TREE_UNIFIED], sizeof m->root[0], "/");
	return 0;
}

/* Finds the group of this process in the tree, as a path below the mount point of the tree. Returns -1 with errno on failure. */
static int own_group_path(enum tree tree, const struct mounted_trees *m, char *path, size_t size)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[4096];
	int found = -1;
	while (file && found < 0 && fgets(line, sizeof line, file)) {
		line[strcspn(line, "\n")] = 0;
		char *names = strchr(line, ':');
		char *group = names ? strchr(names + 1, ':') : NULL;
		if (!group)
			continue;
		*group++ = 0;
		bool unified = line[0] == '0' && names == line + 1 && !names[1];
		bool fits = tree == TREE_UNIFIED ? unified : list_contains(names + 1, tree_name[tree], ",");
		if (!fits || *group != '/' || strstr(group, "/.."))
			continue;
		size_t root = strlen(m->root[tree]);
		if (root > 1 && !strncmp(group, m->root[tree], root) && (group[root] == '/' || !group[root]))
			group += root;
		found = snprintf(path, size, "%s%s", m->mount_point[tree], group) < (int)size ? 0 : -1;
	}
	if (file)
		fclose(file);
	if (found < 0)
		errno = ENOENT;
	return found;
}

/* Returns NULL if no backend works with these mounts. */
static const struct backend *choose_backend(const struct mounted_trees *m)
{
	bool v1 = m->mount_point[TREE_MEMORY][0] && m->mount_point[TREE_PIDS][0];
	if (m->controllers)
		return &backends[BACKEND_V2];
	return v1 && m->mount_point[TREE_UNIFIED][0] ? &backends[BACKEND_HYBRID] : NULL;
}

/* ---- removing groups ---- */

/* Whether `pid` is a complete line of the list. The last line can be incomplete, if the buffer was too small for the list. */
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
 * The members of a leaf are payloads or parked processes; no other process can enter a leaf. Without cgroup.kill (v1, and v2
 * before Linux 5.14), the members are known by pid only, and while a box forks, a pid can be reused at once. Therefore a pidfd
 * pins the process first, and the process is killed only if it is a member after that.
 */
static void kill_members(int leaf)
{
	char text[4096], again[4096];
	if (group_file_write(leaf, "cgroup.kill", "1") == 0 || group_file_read(leaf, "cgroup.procs", text, sizeof text) <= 0)
		return;
	for (char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n') {
		pid_t pid = (pid_t)strtol(p, NULL, 10);
		int fd = pid > 0 ? (int)syscall(__NR_pidfd_open, pid, 0) : -1;
		if (fd < 0)
			continue;
		if (group_file_read(leaf, "cgroup.procs", again, sizeof again) > 0 && lists_pid(again, pid))
			syscall(__NR_pidfd_send_signal, fd, SIGKILL, NULL, 0);
		close(fd);
	}
}

static int sweep_below(int parent, const char *prefix, int depth);

/* Removes a group. If it is not empty, kills its members, removes the groups below it, and tries again. Returns whether it is left. */
static bool sweep_group(int parent, const char *name, int depth)
{
	if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return false;
	int group = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (group < 0)
		return errno != ENOENT;
	kill_members(group);
	int below = depth > 0 ? sweep_below(group, "", depth - 1) : 0;
	close(group);
	return below > 0 || (unlinkat(parent, name, AT_REMOVEDIR) < 0 && errno != ENOENT);
}

/* Does the same to each group below `parent` whose name has the prefix. Returns how many are left. */
static int sweep_below(int parent, const char *prefix, int depth)
{
	int left = 0, copy = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	if (!dir)
		left++; /* cannot be read, so it may not be empty */
	while (dir && (entry = readdir(dir)))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.' && !strncmp(entry->d_name, prefix, strlen(prefix)))
			left += sweep_group(parent, entry->d_name, depth);
	if (dir)
		closedir(dir);
	else if (copy >= 0)
		close(copy);
	return left;
}

/* Sweeps all trees once. Returns how many groups are left. */
static int sweep_once(const struct groups *g, const char *prefix)
{
	enum { DEPTH = 3 /* all sandboxes, an account, a sandbox of it, an execution in that */ };
	int left = 0;
	/* The v2 tree comes first, because its cgroup.kill ends all members, which are also those of the v1 groups. */
	for (int t = TREE_COUNT - 1; t >= 0; t--)
		if (g->dir[t] >= 0)
			left += sweep_below(g->dir[t], prefix, DEPTH);
	return left;
}

int groups_remove(const struct groups *g, const char *name)
{
	int left = 0;
	for (int t = TREE_COUNT - 1; t >= 0; t--)
		left += g->dir[t] >= 0 && sweep_group(g->dir[t], name, 1);
	return left;
}

int groups_sweep(const struct groups *g, const char *prefix, int timeout_ms)
{
	int left;
	while ((left = sweep_once(g, prefix)) > 0 && timeout_ms > 0) {
		usleep(2000);
		timeout_ms -= 2;
	}
	return left;
}

/* ---- the launcher's own groups ---- */

enum { CLEANUP_TIMEOUT_MS = 5000 };

/* Leaves the group that delegate() moved the launcher into, and removes it. */
static void leave_child_group(int parent, const char *child_group)
{
	char pid[16];
	snprintf(pid, sizeof pid, "%d", getpid());
	group_file_write(parent, "cgroup.procs", pid);
	unlinkat(parent, child_group, AT_REMOVEDIR);
}

/*
 * Delegates controllers to the children of this group. A v2 group that has members cannot do that, unless it is the root of the tree.
 * So if the launcher is alone in its group (a delegated scope), it first moves into a child of the group.
 */
static int delegate(int parent, const char *instance, const char *controllers, struct failure *f)
{
	if (group_file_write(parent, "cgroup.subtree_control", controllers) == 0)
		return 0;
	char child_group[96];
	snprintf(child_group, sizeof child_group, "assay-%s.launcher", instance);
	if (mkdirat(parent, child_group, 0755) < 0 && errno != EEXIST)
		return fail(f, "cgroup", "make %s", child_group);
	char procs[128], pid[16];
	snprintf(procs, sizeof procs, "%s/cgroup.procs", child_group);
	snprintf(pid, sizeof pid, "%d", getpid());
	if (group_file_write(parent, procs, pid) < 0)
		fail(f, "cgroup", "enter %s", child_group);
	else if (group_file_write(parent, "cgroup.subtree_control", controllers) == 0)
		return 0;
	else
		fail(f, "cgroup", "delegate %s (other processes share the launcher's group; start it in a delegated one)", controllers);
	leave_child_group(parent, child_group);
	return -1;
}

static bool enable_cpu_sharing(const struct groups *g)
{
	if (g->backend->controllers)
		return group_file_write(g->dir[TREE_UNIFIED], "cgroup.subtree_control", "+cpu") == 0;
	return g->dir[TREE_CPU] >= 0;
}

void groups_set_weight(const struct groups *g, unsigned programs)
{
	char text[24];
	snprintf(text, sizeof text, "%u", g->backend->controllers ? (programs < 100 ? programs * 100 : 10000) : programs * 1024);
	if (g->backend->controllers && g->shares_cpu)
		group_file_write(g->dir[TREE_UNIFIED], "cpu.weight", text);
	else if (g->dir[TREE_CPU] >= 0)
		group_file_write(g->dir[TREE_CPU], "cpu.shares", text);
}

/* Makes a group in TREE_CPU for a slot, unless an earlier slot with this number has made it, and opens its `tasks`. */
static int slot_group(const struct groups *g, unsigned slot, const char *members, struct failure *f)
{
	char name[16], tasks[32];
	snprintf(name, sizeof name, "s%u-%s", slot, members);
	snprintf(tasks, sizeof tasks, "%s/tasks", name);
	int made = mkdirat(g->dir[TREE_CPU], name, 0755) == 0 || errno == EEXIST;
	int fd = made ? openat(g->dir[TREE_CPU], tasks, O_WRONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return fail(f, "cgroup", "make %s in %s", name, tree_name[TREE_CPU]);
	return fd;
}

int groups_join(const struct groups *g, unsigned slot, int *programs, struct failure *f)
{
	if (programs)
		*programs = -1;
	if (g->dir[TREE_CPU] < 0)
		return 0;
	int slot_tasks = slot_group(g, slot, "slot", f);
	if (slot_tasks < 0 || (programs && (*programs = slot_group(g, slot, "box", f)) < 0))
		return -1;
	bool joined = write(slot_tasks, "0", 1) == 1;
	close(slot_tasks);
	return joined ? 0 : fail(f, "cgroup", "enter s%u-slot in %s", slot, tree_name[TREE_CPU]);
}

bool groups_leave(const struct groups *g, unsigned slot)
{
	char name[16];
	snprintf(name, sizeof name, "s%u-slot", slot);
	return g->dir[TREE_CPU] >= 0 && sweep_group(g->dir[TREE_CPU], name, 0);
}

int groups_open(struct groups *g, const char *instance, struct failure *f)
{
	struct mounted_trees m = {0};
	char path[512], name[96];

	for (int t = 0; t < TREE_COUNT; t++)
		g->dir[t] = -1; /* groups_close() follows a failure, too */
	find_cgroup_mounts(&m);
	if (!m.mount_point[TREE_UNIFIED][0] && mount_unified(&m) < 0)
		return fail(f, "cgroup", "mount cgroup v2 beside v1");
	g->backend = choose_backend(&m);
	if (!g->backend)
		return fail_with(f, ENOENT, "cgroup", "no memory and pids controllers in v1 or v2");
	snprintf(name, sizeof name, "assay-%s", instance);
	for (int t = 0; t < TREE_COUNT; t++) {
		if (!g->backend->uses[t] || (t == TREE_CPU && !m.mount_point[TREE_CPU][0]))
			continue;
		if (own_group_path(t, &m, path, sizeof path) < 0)
			return fail(f, "cgroup", "own group in %s", tree_name[t]);
		int parent = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (parent < 0)
			return fail(f, "cgroup", "open %s", path);
		if (t == TREE_UNIFIED && g->backend->controllers && delegate(parent, instance, g->backend->controllers, f) < 0)
			return -1;
		if (mkdirat(parent, name, 0755) < 0 && errno != EEXIST)
			return fail(f, "cgroup", "make %s/%s", path, name);
		g->dir[t] = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (t == TREE_UNIFIED && g->backend->controllers)
			group_file_write(parent, "cgroup.subtree_control", "+cpu"); /* optional: see enable_cpu_sharing() */
		close(parent);
		if (g->dir[t] < 0)
			return fail(f, "cgroup", "open %s/%s", path, name);
		if (t == TREE_UNIFIED && g->backend->controllers &&
		    group_file_write(g->dir[t], "cgroup.subtree_control", g->backend->controllers) < 0)
			return fail(f, "cgroup", "delegate in %s", name);
	}
	g->shares_cpu = enable_cpu_sharing(g);
	if (groups_sweep(g, "", CLEANUP_TIMEOUT_MS) > 0)
		return fail_with(f, EBUSY, "cgroup", "groups of an earlier launcher cannot be removed");

	/* v2 before Linux 6.12 has the peak in a file that cannot be written. */
	struct stat st;
	g->renews_peak = g->dir[TREE_MEMORY] >= 0 || (fstatat(g->dir[TREE_UNIFIED], "memory.peak", &st, 0) == 0 && st.st_mode & S_IWUSR);
	char text[8192];
	g->pressure = group_file_read(g->dir[TREE_UNIFIED], "cpu.pressure", text, sizeof text) > 0;
	return 0;
}

int groups_close(struct groups *g, const char *instance)
{
	int left = groups_sweep(g, "", CLEANUP_TIMEOUT_MS);
	char name[96], child_group[110];
	snprintf(name, sizeof name, "assay-%s", instance);
	snprintf(child_group, sizeof child_group, "%s.launcher", name);
	for (int t = 0; t < TREE_COUNT; t++) {
		if (g->dir[t] < 0)
			continue;
		int parent = openat(g->dir[t], "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(g->dir[t]);
		g->dir[t] = -1;
		if (unlinkat(parent, name, AT_REMOVEDIR) < 0)
			left++;
		if (t == TREE_UNIFIED && faccessat(parent, child_group, F_OK, 0) == 0) {
			group_file_write(parent, "cgroup.subtree_control", "-memory -pids");
			group_file_write(parent, "cgroup.subtree_control", "-cpu");
			leave_child_group(parent, child_group);
		}
		close(parent);
	}
	return left;
}

/* ---- the groups of a run ---- */

const char *fact_name(enum fact fact)
{
	static const char *const name[FACT_COUNT] = {
#define FRAME(...)
#define KEY(...)
#define FACT(number, name, count, text) text,
#include "protocol.def"
#undef FRAME
#undef KEY
#undef FACT
		"populated", "memory", "kernel memory",
	};
	return name[fact];
}

const char *groups_backend(const struct groups *g) { return g->backend->name; }

int leaf_read(const struct groups *g, const struct leaf *leaf, enum fact fact, uint64_t *value)
{
	const struct fact_source *source = &g->backend->fact[fact];
	static struct area area;

	if (!source->file || ((fact == FACT_PRESSURE_FULL_USEC || fact == FACT_PRESSURE_SOME_USEC) && !g->pressure)) {
		errno = ENODATA;
		return -1;
	}
	enum { BYTES = 4096 };
	char *text = area_of(&area, BYTES);
	ssize_t n = pread(leaf->fact[fact], text, BYTES - 1, 0);
	if (n < 0)
		return -1;
	text[n] = 0;
	const char *p = text;
	if (source->key) {
		size_t length = strlen(source->key);
		while (*p && (strncmp(p, source->key, length) || p[length] != ' '))
			p += strcspn(p, "\n"), p += *p == '\n';
		const char *total = strstr(p, "total=");
		p += *p ? length + 1 : 0;
		if (fact == FACT_PRESSURE_FULL_USEC || fact == FACT_PRESSURE_SOME_USEC)
			p = total && total < p + strcspn(p, "\n") ? total + strlen("total=") : "";
	}
	/* strtoull would accept a sign and leading blanks, including a line end. */
	bool digits = *p >= '0' && *p <= '9', most = !strncmp(p, "max", 3);
	errno = 0;
	*value = most ? UINT64_MAX : strtoull(p, NULL, 10);
	if (!most && (!digits || errno)) {
		errno = EBADMSG;
		return -1;
	}
	return 0;
}

/*
 * Up to LEFTOVER_MAX nothing is done: a compiler leaves up to 3 MiB, which the next box needs again. A negative dentry takes about
 * 400 bytes, so the next program can find at most 10,000 names that an earlier program looked up, by the time of its own look-ups.
 */
enum { GROWTH_ALLOWED = 1 << 20, LEFTOVER_MAX = 4 << 20, UNCHARGE_TIMEOUT_MS = 10000, RECLAIM_EVERY = 8 };

bool host_swaps(void)
{
	struct sysinfo info;
	return sysinfo(&info) < 0 || info.totalswap > 0;
}

/* Makes the eventfd by which v1 reports that the group is out of memory. There the kernel kills one process, and the slot the others. */
static int watch_oom(struct leaf *leaf, struct failure *f)
{
	char line[48];
	leaf->oom_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	snprintf(line, sizeof line, "%d %d", leaf->oom_event, leaf->fact[FACT_OOM_KILLS]); /* memory.oom_control */
	if (leaf->oom_event < 0 || group_file_write(leaf->dir[TREE_MEMORY], "cgroup.event_control", line) < 0)
		return fail(f, "cgroup", "watch memory.oom_control");
	return 0;
}

static int fail_of(struct failure *f, const char *what, const struct leaf *leaf, enum tree t)
{
	return fail(f, "cgroup", "%s %s in %s", what, leaf->name, tree_name[t]);
}

static void open_facts(const struct groups *g, struct leaf *leaf, enum tree t)
{
	for (int i = 0; i < FACT_COUNT; i++) {
		const struct fact_source *source = &g->backend->fact[i];
		bool writable = i == FACT_MEMORY_LIMIT || i == FACT_PIDS_LIMIT || i == FACT_MEMORY_PEAK;
		if (!source->file || source->tree != t)
			continue;
		/* Facts in the same file share a descriptor. */
		for (int j = 0; j < i && leaf->fact[i] < 0; j++)
			if (g->backend->fact[j].file && !strcmp(g->backend->fact[j].file, source->file) &&
			    g->backend->fact[j].tree == t)
				leaf->fact[i] = leaf->fact[j];
		if (leaf->fact[i] < 0)
			leaf->fact[i] = openat(leaf->dir[t], source->file, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
		if (leaf->fact[i] < 0 && i == FACT_MEMORY_PEAK) /* a kernel that cannot reset the peak has a read-only file */
			leaf->fact[i] = openat(leaf->dir[t], source->file, O_RDONLY | O_CLOEXEC);
	}
}

static int make_group(const struct groups *g, struct leaf *leaf, enum tree t, struct failure *f)
{
	if (leaf->kind != LEAF_OF_HOLDER && mkdirat(g->dir[t], leaf->name, 0755) < 0)
		return fail_of(f, "make", leaf, t);
	leaf->dir[t] = openat(g->dir[t], leaf->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (leaf->dir[t] < 0)
		return fail_of(f, "open", leaf, t);
	if (t != TREE_UNIFIED && (leaf->tasks[t] = openat(leaf->dir[t], "tasks", O_WRONLY | O_CLOEXEC)) < 0)
		return fail_of(f, "open tasks of", leaf, t);
	open_facts(g, leaf, t);
	if (g->backend->fact[FACT_MEMORY_LIMIT].tree == t) {
		const char *swap = g->backend->controllers ? "memory.swap.max" : "memory.memsw.limit_in_bytes";
		leaf->swap_limit = openat(leaf->dir[t], swap, O_WRONLY | O_CLOEXEC);
		if (leaf->swap_limit < 0 && errno != ENOENT)
			return fail_of(f, "open the swap limit of", leaf, t);
	}
	struct stat st;
	if (t == TREE_UNIFIED && fstat(leaf->dir[t], &st) < 0)
		return fail_of(f, "stat", leaf, t);
	if (t == TREE_UNIFIED)
		leaf->id = st.st_ino;
	/* In a sandbox, the end of one execution must not end the others. */
	bool whole = leaf->kind != LEAF_WITH_GROUPS;
	if (t == TREE_UNIFIED && g->backend->controllers && whole && group_file_write(leaf->dir[t], "memory.oom.group", "1") < 0)
		return fail_of(f, "memory.oom.group of", leaf, t);
	return t == TREE_MEMORY ? watch_oom(leaf, f) : 0;
}

void leaf_name(struct leaf *leaf, enum leaf_kind kind, const char *name)
{
	*leaf = (struct leaf){.kind = kind, .swap_limit = -1, .oom_event = -1};
	snprintf(leaf->name, sizeof leaf->name, "%s", name);
	for (int t = 0; t < TREE_COUNT; t++)
		leaf->dir[t] = leaf->tasks[t] = -1;
	for (int i = 0; i < FACT_COUNT; i++)
		leaf->fact[i] = -1;
}

int leaf_make(const struct groups *g, struct leaf *leaf, struct failure *f)
{
	for (int t = 0; t < TREE_COUNT; t++)
		if (g->dir[t] >= 0 && t != TREE_CPU && leaf->dir[t] < 0 && make_group(g, leaf, t, f) < 0)
			return -1;
	return 0;
}

static int write_number(int fd, uint64_t value)
{
	char text[24];
	int n = snprintf(text, sizeof text, "%llu", (unsigned long long)value);
	return pwrite(fd, text, (size_t)n, 0) == n ? 0 : -1;
}

bool leaf_reset_peak(const struct leaf *leaf)
{
	return write_number(leaf->fact[FACT_MEMORY_PEAK], 0) == 0; /* on v2, any text resets the peak that this descriptor reads */
}

/*
 * Limits swap even if there is none now, because it may be switched on while a program runs. A kernel that does not count swap has
 * no file for the limit; then there must be no swap. On v1, the kernel checks the limit of memory plus swap before the memory limit,
 * and not every kernel counts how often the former is reached. So the former is one page larger, and the memory limit is reached first.
 */
static int limit_swap(const struct groups *g, const struct leaf *leaf, uint64_t memory_bytes, struct failure *f)
{
	uint64_t most = g->backend->controllers ? 0 : memory_bytes + (uint64_t)sysconf(_SC_PAGESIZE);
	if (leaf->swap_limit < 0 && !host_swaps())
		return 0;
	if (leaf->swap_limit >= 0 && write_number(leaf->swap_limit, most) == 0)
		return 0;
	int err = leaf->swap_limit < 0 ? ENOENT : errno;
	return fail_with(f, err, "cgroup", "swap limit (the host has swap; boot with swapaccount=1 or turn swap off)");
}

/*
 * On v1, memory plus swap can be limited only after the memory limit, and must never be below it. So if a group of a pool gets a higher
 * limit than before, that of memory plus swap comes first.
 */
int leaf_limit_memory(const struct groups *g, struct leaf *leaf, uint64_t memory_bytes, struct failure *f)
{
	struct failure unused = {0};
	if (write_number(leaf->fact[FACT_MEMORY_LIMIT], memory_bytes) < 0) {
		limit_swap(g, leaf, memory_bytes, &unused);
		if (write_number(leaf->fact[FACT_MEMORY_LIMIT], memory_bytes) < 0)
			return fail(f, "cgroup", "memory limit");
	}
	return limit_swap(g, leaf, memory_bytes, f);
}

int leaf_limit(const struct groups *g, struct leaf *leaf, uint64_t memory_bytes, uint64_t processes, struct failure *f)
{
	if (write_number(leaf->fact[FACT_PIDS_LIMIT], processes) < 0)
		return fail(f, "cgroup", "process limit");
	return leaf_limit_memory(g, leaf, memory_bytes, f);
}

static int read_members(const struct groups *g, const struct leaf *leaf, const char *file, pid_t *pid, int most)
{
	int dir = leaf->dir[g->backend->fact[FACT_PIDS_CURRENT].tree], count = 0;
	char text[65536];
	if (group_file_read(dir, file, text, sizeof text) < 0)
		return 0;
	for (char *p = text, *end; (end = strchr(p, '\n')); p = end + 1, count++)
		if (count < most)
			pid[count] = (pid_t)strtol(p, NULL, 10);
	return count;
}

int leaf_tasks(const struct groups *g, const struct leaf *leaf, pid_t *pid, int most)
{
	return read_members(g, leaf, g->backend->controllers ? "cgroup.threads" : "tasks", pid, most);
}

int leaf_processes(const struct groups *g, const struct leaf *leaf, pid_t *pid, int most)
{
	return read_members(g, leaf, "cgroup.procs", pid, most);
}

/*
 * Reads how much memory is charged to the leaf, without the page cache of files on disk if more than LEFTOVER_MAX is charged: these
 * are files of the image, which serve all boxes, and reading them again would slow down the next start. `file` (v2) and `cache` (v1)
 * include shared memory, which is no such page cache. Returns -1 with errno on failure.
 */
static int read_leftover(const struct groups *g, const struct leaf *leaf, uint64_t *charged)
{
	bool v2 = g->backend->controllers;
	char text[4096] = "\n";
	if (leaf_read(g, leaf, FACT_MEMORY_NOW, charged) < 0)
		return -1;
	if (*charged <= LEFTOVER_MAX)
		return 0;
	if (group_file_read(leaf->dir[v2 ? TREE_UNIFIED : TREE_MEMORY], "memory.stat", text + 1, sizeof text - 1) < 0)
		return -1;
	const char *const names[] = {v2 ? "\nfile " : "\ncache ", "\nshmem "};
	const char *file = strstr(text, names[0]), *shared = strstr(text, names[1]);
	if (!file || !shared) {
		errno = EBADMSG;
		return -1;
	}
	uint64_t files = strtoull(file + strlen(names[0]), NULL, 10), shmem = strtoull(shared + strlen(names[1]), NULL, 10);
	uint64_t cached = files > shmem ? files - shmem : 0;
	*charged = *charged > cached ? *charged - cached : 0;
	return 0;
}

int leaf_files(const struct groups *g, const struct leaf *leaf, uint64_t *bytes)
{
	char text[4096] = "\n";
	if (group_file_read(leaf->dir[g->backend->controllers ? TREE_UNIFIED : TREE_MEMORY], "memory.stat", text + 1, sizeof text - 1) < 0)
		return -1;
	const char *files = strstr(text, "\nshmem ");
	if (!files) {
		errno = EBADMSG;
		return -1;
	}
	*bytes = strtoull(files + strlen("\nshmem "), NULL, 10);
	return 0;
}

int leaf_stop_growth(const struct groups *g, const struct leaf *leaf)
{
	uint64_t charged, limit;
	if (read_leftover(g, leaf, &charged) < 0 || leaf_read(g, leaf, FACT_MEMORY_LIMIT, &limit) < 0)
		return -1;
	charged += GROWTH_ALLOWED;
	if (charged >= limit)
		return 0;
	/* v1 rejects a limit below the use with EBUSY, if the use has grown meanwhile or files stay in use. The next check tries again. */
	return write_number(leaf->fact[FACT_MEMORY_LIMIT], charged) < 0 && errno != EBUSY ? -1 : 0;
}

int leaf_force_oom(const struct groups *g, const struct leaf *leaf)
{
	return g->backend->controllers ? write_number(leaf->fact[FACT_MEMORY_LIMIT], 0) : -1;
}

int leaf_open_tasks(const struct leaf *leaf)
{
	return openat(leaf->dir[TREE_MEMORY], "tasks", O_WRONLY | O_CLOEXEC);
}

int leaf_freeze(struct leaf *leaf, bool frozen)
{
	int done = group_file_write(leaf->dir[TREE_UNIFIED], "cgroup.freeze", frozen ? "1" : "0");
	if (frozen || done == 0)
		leaf->frozen = frozen;
	return done;
}

int leaf_kill(struct leaf *leaf)
{
	leaf->killed = true;
	return leaf->dir[TREE_UNIFIED] < 0 ? 0 : group_file_write(leaf->dir[TREE_UNIFIED], "cgroup.kill", "1");
}

void leaf_reclaim(const struct groups *g, const struct leaf *leaf, uint64_t bytes)
{
	char text[24];
	snprintf(text, sizeof text, "%llu", (unsigned long long)bytes);
	if (g->backend->controllers)
		group_file_write(leaf->dir[TREE_UNIFIED], "memory.reclaim", text); /* since Linux 5.19 */
	else
		group_file_write(leaf->dir[TREE_MEMORY], "memory.force_empty", "0");
}

int64_t leaf_wait_uncharged(const struct groups *g, const struct leaf *leaf, bool work_shared)
{
	uint64_t charged, deadline = now_ns() + UNCHARGE_TIMEOUT_MS * 1000000ull;
	for (int waits = 0;; waits++) {
		if (read_leftover(g, leaf, &charged) < 0)
			return -1;
		if (charged <= LEFTOVER_MAX)
			return 0;
		/*
		 * The memory of inodes and dentries of the work directory cannot be distinguished from other leftovers. It is freed with
		 * the work directory.
		 */
		if (work_shared) {
			leaf_reclaim(g, leaf, charged);
			return 0;
		}
		if (now_ns() >= deadline)
			return (int64_t)charged;
		/* The memory of processes and mounts is uncharged some milliseconds after their end, and later on a busy machine. */
		if (waits % RECLAIM_EVERY == RECLAIM_EVERY - 1)
			leaf_reclaim(g, leaf, charged);
		usleep(waits < 100 ? 1000 : 10000);
	}
}

static void close_group(const struct groups *g, struct leaf *leaf, enum tree t)
{
	for (int i = 0; i < FACT_COUNT; i++) {
		int fd = leaf->fact[i];
		if (fd < 0 || g->backend->fact[i].tree != t)
			continue;
		for (int j = i + 1; j < FACT_COUNT; j++)
			if (leaf->fact[j] == fd)
				leaf->fact[j] = -1;
		close_fd(&leaf->fact[i]);
	}
	if (t == TREE_MEMORY)
		close_fd(&leaf->oom_event);
	if (g->backend->fact[FACT_MEMORY_LIMIT].tree == t)
		close_fd(&leaf->swap_limit);
	close_fd(&leaf->tasks[t]);
	close_fd(&leaf->dir[t]);
}

void leaf_close_all_but(const struct groups *g, struct leaf *leaf, unsigned trees)
{
	for (int t = 0; t < TREE_COUNT; t++)
		if (g->dir[t] >= 0 && t != TREE_CPU && !(trees >> t & 1))
			close_group(g, leaf, t);
}

void leaf_close(const struct groups *g, struct leaf *leaf)
{
	leaf_close_all_but(g, leaf, 0);
}

/*
 * Whether the group of the leaf in this tree may serve the next run: each counter that can neither be reset nor be subtracted
 * (read_baseline()) has a value that it could also have in a new group that only a parked program has entered.
 */
static bool is_as_new(const struct groups *g, const struct leaf *leaf, enum tree t)
{
	static const struct { enum fact fact; uint64_t most; } facts[] = {
		{FACT_POPULATED, 0}, {FACT_PIDS_CURRENT, 0}, {FACT_PIDS_REFUSED, 0}, {FACT_PIDS_PEAK, 1},
	};
	if (!g->backend->reusable[t] || leaf->dir[t] < 0 || leaf->frozen || leaf->killed)
		return false;
	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
		enum fact fact = facts[i].fact;
		uint64_t value = 0;
		if (g->backend->fact[fact].tree != t || leaf_read(g, leaf, fact, &value) == 0) {
			if (value > facts[i].most)
				return false;
		} else if (fact != FACT_PIDS_PEAK || errno != EBADF) { /* an old kernel has no file for this peak */
			return false;
		}
	}
	return true;
}

bool leaf_is_as_new(const struct groups *g, const struct leaf *leaf)
{
	uint64_t populated;
	for (int t = 0; t < TREE_COUNT; t++)
		if (g->backend->reusable[t] && !is_as_new(g, leaf, t))
			return false;
	return !leaf->frozen && !leaf->killed && leaf_read(g, leaf, FACT_POPULATED, &populated) == 0 && !populated;
}

void leaf_release(const struct groups *g, struct leaf *leaf, void (*leftover)(void *, const char *), void *context)
{
	for (int t = 0; t < TREE_COUNT; t++) {
		if (g->dir[t] < 0 || t == TREE_CPU || is_as_new(g, leaf, t))
			continue;
		close_group(g, leaf, t);
		/* A member that is exiting keeps the group busy for a moment. */
		int done, tries = 0;
		while ((done = unlinkat(g->dir[t], leaf->name, AT_REMOVEDIR)) < 0 && errno == EBUSY && tries++ < 500)
			usleep(1000);
		if (done < 0 && errno != ENOENT) {
			char text[128];
			snprintf(text, sizeof text, "%s in %s: %s", leaf->name, tree_name[t], strerror(errno));
			leftover(context, text);
		}
	}
	leaf->frozen = leaf->killed = false;
}
