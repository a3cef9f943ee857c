/* The launcher's own group in each tree: creation, delegation, CPU weight, removal. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroup-parts.h"

enum { CLEANUP_TIMEOUT_MS = 5000 };

/* Leaves the group that delegate() moved the launcher into, and removes it. */
static void leave_child_group(int own, const char *child_group)
{
	char pid[16];
	snprintf(pid, sizeof pid, "%d", getpid());
	write_file(own, "cgroup.procs", pid);
	unlinkat(own, child_group, AT_REMOVEDIR);
}

/*
 * A v2 group with members cannot delegate controllers to its children, except the root. If the launcher is alone in its
 * group (a delegated scope), it first moves into a child.
 */
static int delegate(int own, const char *instance, const char *controllers, struct failure *f)
{
	if (write_file(own, "cgroup.subtree_control", controllers) == 0)
		return 0;
	char child_group[96];
	snprintf(child_group, sizeof child_group, "assay-%s.launcher", instance);
	if (mkdirat(own, child_group, 0755) < 0 && errno != EEXIST)
		return fail(f, "cgroup", "make %s", child_group);
	char procs[128], pid[16];
	snprintf(procs, sizeof procs, "%s/cgroup.procs", child_group);
	snprintf(pid, sizeof pid, "%d", getpid());
	if (write_file(own, procs, pid) < 0)
		fail(f, "cgroup", "enter %s", child_group);
	else if (write_file(own, "cgroup.subtree_control", controllers) == 0)
		return 0;
	else
		fail(f, "cgroup", "delegate %s (other processes share the launcher's group; start it in a delegated one)", controllers);
	leave_child_group(own, child_group);
	return -1;
}

static bool enable_cpu_sharing(const struct groups *g)
{
	if (g->backend->controllers)
		return write_file(g->home[TREE_UNIFIED], "cgroup.subtree_control", "+cpu") == 0;
	return g->home[TREE_CPU] >= 0;
}

void groups_set_weight(const struct groups *g, unsigned slots)
{
	char text[24];
	snprintf(text, sizeof text, "%u", g->backend->controllers ? (slots < 100 ? slots * 100 : 10000) : slots * 1024);
	if (g->backend->controllers && g->fair)
		write_file(g->home[TREE_UNIFIED], "cpu.weight", text);
	else if (g->home[TREE_CPU] >= 0)
		write_file(g->home[TREE_CPU], "cpu.shares", text);
}

/* Opens `tasks` of a group in TREE_CPU that a slot makes. Another slot of that number may have made it. */
static int slot_group(const struct groups *g, unsigned slot, const char *members, struct failure *f)
{
	char name[16], tasks[32];
	snprintf(name, sizeof name, "s%u-%s", slot, members);
	snprintf(tasks, sizeof tasks, "%s/tasks", name);
	int made = mkdirat(g->home[TREE_CPU], name, 0755) == 0 || errno == EEXIST;
	int fd = made ? openat(g->home[TREE_CPU], tasks, O_WRONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return fail(f, "cgroup", "make %s in %s", name, tree_name[TREE_CPU]);
	return fd;
}

int groups_join(const struct groups *g, unsigned slot, int *programs, struct failure *f)
{
	*programs = -1;
	if (g->home[TREE_CPU] < 0)
		return 0;
	int own = slot_group(g, slot, "slot", f);
	if (own < 0 || (*programs = slot_group(g, slot, "box", f)) < 0)
		return -1;
	bool joined = write(own, "0", 1) == 1;
	close(own);
	return joined ? 0 : fail(f, "cgroup", "enter s%u-slot in %s", slot, tree_name[TREE_CPU]);
}

int groups_open(struct groups *g, const char *instance, struct failure *f)
{
	struct mounted m = {0};
	char path[512], name[96];

	find_cgroup_mounts(&m);
	if (!m.at[TREE_UNIFIED][0] && mount_unified(&m) < 0)
		return fail(f, "cgroup", "mount cgroup v2 beside v1");
	g->backend = choose_backend(&m);
	for (int t = 0; t < TREE_COUNT; t++)
		g->home[t] = -1;
	if (!g->backend)
		return fail_with(f, ENOENT, "cgroup", "no memory and pids controllers in v1 or v2");
	snprintf(name, sizeof name, "assay-%s", instance);
	for (int t = 0; t < TREE_COUNT; t++) {
		if (!g->backend->uses[t] || (t == TREE_CPU && !m.at[TREE_CPU][0]))
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
			write_file(own, "cgroup.subtree_control", "+cpu"); /* optional: see enable_cpu_sharing() */
		close(own);
		if (g->home[t] < 0)
			return fail(f, "cgroup", "open %s/%s", path, name);
		if (t == TREE_UNIFIED && g->backend->controllers &&
		    write_file(g->home[t], "cgroup.subtree_control", g->backend->controllers) < 0)
			return fail(f, "cgroup", "delegate in %s", name);
	}
	g->fair = enable_cpu_sharing(g);
	if (groups_sweep(g, "", CLEANUP_TIMEOUT_MS) > 0)
		return fail_with(f, EBUSY, "cgroup", "groups of an earlier launcher cannot be removed");

	char text[8192];
	g->pressure = read_file(g->home[TREE_UNIFIED], "cpu.pressure", text, sizeof text) > 0;
	return 0;
}

int groups_close(struct groups *g, const char *instance)
{
	int left = groups_sweep(g, "", CLEANUP_TIMEOUT_MS);
	char name[96], child_group[110];
	snprintf(name, sizeof name, "assay-%s", instance);
	snprintf(child_group, sizeof child_group, "%s.launcher", name);
	for (int t = 0; t < TREE_COUNT; t++) {
		if (g->home[t] < 0)
			continue;
		int own = openat(g->home[t], "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(g->home[t]);
		g->home[t] = -1;
		if (unlinkat(own, name, AT_REMOVEDIR) < 0)
			left++;
		if (t == TREE_UNIFIED && faccessat(own, child_group, F_OK, 0) == 0) {
			write_file(own, "cgroup.subtree_control", "-memory -pids");
			write_file(own, "cgroup.subtree_control", "-cpu");
			leave_child_group(own, child_group);
		}
		close(own);
	}
	return left;
}
