/* The cgroups of one box: creation, limits, readings, removal. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "cgroup-parts.h"
#include "clock.h"

/*
 * Below LEFTOVER_MAX nothing is done: a compiler leaves up to 3 MiB, which the next box needs again. A negative dentry
 * takes about 400 bytes, so the next program can time at most 10,000 of them.
 */
enum { GROWTH_LEFT = 1 << 20, LEFTOVER_MAX = 4 << 20, UNCHARGE_TIMEOUT_MS = 2000, RECLAIM_EVERY_MS = 8 };

bool host_swaps(void)
{
	struct sysinfo info;
	return sysinfo(&info) < 0 || info.totalswap > 0;
}

/* v1 reports an OOM by eventfd: the kernel kills one process, and the slot kills the rest of the box. */
static int watch_oom(struct leaf *leaf, struct failure *f)
{
	char line[48];
	leaf->oom_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	snprintf(line, sizeof line, "%d %d", leaf->oom_event, leaf->fact[FACT_OOM_KILLS]); /* memory.oom_control */
	if (leaf->oom_event < 0 || write_file(leaf->dir[TREE_MEMORY], "cgroup.event_control", line) < 0)
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
		if (leaf->fact[i] < 0 && i == FACT_MEMORY_PEAK) /* cannot be reset by this kernel */
			leaf->fact[i] = openat(leaf->dir[t], source->file, O_RDONLY | O_CLOEXEC);
	}
}

static int make_group(const struct groups *g, struct leaf *leaf, enum tree t, struct failure *f)
{
	if (mkdirat(g->home[t], leaf->name, 0755) < 0)
		return fail_of(f, "make", leaf, t);
	leaf->dir[t] = openat(g->home[t], leaf->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (leaf->dir[t] < 0)
		return fail_of(f, "open", leaf, t);
	if (t != TREE_UNIFIED && (leaf->tasks[t] = openat(leaf->dir[t], "tasks", O_WRONLY | O_CLOEXEC)) < 0)
		return fail_of(f, "open tasks of", leaf, t);
	open_facts(g, leaf, t);
	struct stat st;
	if (t == TREE_UNIFIED && fstat(leaf->dir[t], &st) < 0)
		return fail_of(f, "stat", leaf, t);
	if (t == TREE_UNIFIED)
		leaf->id = st.st_ino;
	if (t == TREE_UNIFIED && g->backend->controllers && write_file(leaf->dir[t], "memory.oom.group", "1") < 0)
		return fail_of(f, "memory.oom.group of", leaf, t);
	return t == TREE_MEMORY ? watch_oom(leaf, f) : 0;
}

void leaf_name(struct leaf *leaf, unsigned slot, unsigned lane)
{
	*leaf = (struct leaf){.oom_event = -1};
	snprintf(leaf->name, sizeof leaf->name, "s%u-b%u", slot, lane);
	for (int t = 0; t < TREE_COUNT; t++)
		leaf->dir[t] = leaf->tasks[t] = -1;
	for (int i = 0; i < FACT_COUNT; i++)
		leaf->fact[i] = -1;
}

int leaf_make(const struct groups *g, struct leaf *leaf, struct failure *f)
{
	for (int t = 0; t < TREE_COUNT; t++)
		if (g->home[t] >= 0 && t != TREE_CPU && leaf->dir[t] < 0 && make_group(g, leaf, t, f) < 0)
			return -1;
	return 0;
}

static int write_number(int fd, uint64_t value)
{
	char text[24];
	int n = snprintf(text, sizeof text, "%llu", (unsigned long long)value);
	return pwrite(fd, text, (size_t)n, 0) == n ? 0 : -1;
}

void leaf_reset_peak(const struct leaf *leaf)
{
	write_number(leaf->fact[FACT_MEMORY_PEAK], 0); /* v2: any text; counts for this descriptor */
}

/*
 * Set even if there is no swap now: it may be switched on while a program runs. A kernel that does not count swap has
 * no such file; then there must be no swap. On v1 the limit of memory plus swap is charged first, and not every kernel
 * counts how often it is reached: it is one page larger, so that the memory limit is reached before it.
 */
static int limit_swap(const struct groups *g, const struct leaf *leaf, uint64_t memory_bytes, struct failure *f)
{
	char text[24];
	snprintf(text, sizeof text, "%llu", (unsigned long long)memory_bytes + (unsigned long long)sysconf(_SC_PAGESIZE));
	int done = g->backend->controllers ? write_file(leaf->dir[TREE_UNIFIED], "memory.swap.max", "0")
					   : write_file(leaf->dir[TREE_MEMORY], "memory.memsw.limit_in_bytes", text);
	if (done == 0 || (errno == ENOENT && !host_swaps()))
		return 0;
	return fail(f, "cgroup", "swap limit (the host has swap; boot with swapaccount=1 or turn swap off)");
}

int leaf_limit(const struct groups *g, struct leaf *leaf, uint64_t memory_bytes, uint64_t processes, struct failure *f)
{
	if (write_number(leaf->fact[FACT_MEMORY_LIMIT], memory_bytes) < 0)
		return fail(f, "cgroup", "memory limit");
	if (write_number(leaf->fact[FACT_PIDS_LIMIT], processes) < 0)
		return fail(f, "cgroup", "process limit");
	return limit_swap(g, leaf, memory_bytes, f);
}

static int read_members(const struct groups *g, const struct leaf *leaf, const char *file, pid_t *pid, int most)
{
	int dir = leaf->dir[g->backend->fact[FACT_PIDS_CURRENT].tree], count = 0;
	char text[65536];
	if (read_file(dir, file, text, sizeof text) < 0)
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
 * Page cache of image files is not counted: it serves all boxes, and reading it from the disk again would slow down the
 * next start. On v1 `cache` includes shared memory.
 */
static int read_leftover(const struct groups *g, const struct leaf *leaf, uint64_t *held)
{
	bool v2 = g->backend->controllers;
	char text[4096] = "\n";
	if (leaf_read(g, leaf, FACT_MEMORY_NOW, held) < 0)
		return -1;
	if (*held <= LEFTOVER_MAX)
		return 0;
	if (read_file(leaf->dir[v2 ? TREE_UNIFIED : TREE_MEMORY], "memory.stat", text + 1, sizeof text - 1) < 0)
		return -1;
	const char *const names[] = {v2 ? "\nfile " : "\ncache ", "\nshmem "};
	const char *file = strstr(text, names[0]), *shared = strstr(text, names[1]);
	if (!file || !shared) {
		errno = EBADMSG;
		return -1;
	}
	uint64_t files = strtoull(file + strlen(names[0]), NULL, 10), shmem = strtoull(shared + strlen(names[1]), NULL, 10);
	uint64_t accounted = files > shmem ? files - shmem : 0;
	*held = *held > accounted ? *held - accounted : 0;
	return 0;
}

int leaf_stop_growth(const struct groups *g, const struct leaf *leaf)
{
	uint64_t held, limit;
	if (read_leftover(g, leaf, &held) < 0 || leaf_read(g, leaf, FACT_MEMORY_LIMIT, &limit) < 0)
		return -1;
	held += GROWTH_LEFT;
	if (held >= limit)
		return 0;
	/*
	 * v1 rejects a limit below the usage with EBUSY, if usage grew meanwhile or files stay in use. The next check
	 * retries.
	 */
	return write_number(leaf->fact[FACT_MEMORY_LIMIT], held) < 0 && errno != EBUSY ? -1 : 0;
}

int leaf_exhaust(const struct groups *g, const struct leaf *leaf)
{
	return g->backend->controllers ? write_number(leaf->fact[FACT_MEMORY_LIMIT], 0) : -1;
}

int leaf_open_tasks(const struct leaf *leaf)
{
	return openat(leaf->dir[TREE_MEMORY], "tasks", O_WRONLY | O_CLOEXEC);
}

int leaf_freeze(struct leaf *leaf, bool frozen)
{
	int done = write_file(leaf->dir[TREE_UNIFIED], "cgroup.freeze", frozen ? "1" : "0");
	if (frozen || done == 0)
		leaf->frozen = frozen;
	return done;
}

static void reclaim(const struct groups *g, const struct leaf *leaf, uint64_t bytes)
{
	char text[24];
	snprintf(text, sizeof text, "%llu", (unsigned long long)bytes);
	if (g->backend->controllers)
		write_file(leaf->dir[TREE_UNIFIED], "memory.reclaim", text); /* since Linux 5.19 */
	else
		write_file(leaf->dir[TREE_MEMORY], "memory.force_empty", "0");
}

int64_t leaf_wait_uncharged(const struct groups *g, const struct leaf *leaf, bool work_kept)
{
	uint64_t held, deadline = now_ns() + UNCHARGE_TIMEOUT_MS * 1000000ull;
	for (int waited_ms = 0;; waited_ms++) {
		if (read_leftover(g, leaf, &held) < 0)
			return -1;
		if (held <= LEFTOVER_MAX)
			return 0;
		/*
		 * Inodes and dentries of kept files cannot be distinguished from other leftovers; all are removed with the work
		 * directory.
		 */
		if (work_kept) {
			reclaim(g, leaf, held);
			return 0;
		}
		if (now_ns() >= deadline)
			return (int64_t)held;
		/* The memory of processes and mounts is uncharged some milliseconds after their end. */
		if (waited_ms % RECLAIM_EVERY_MS == RECLAIM_EVERY_MS - 1)
			reclaim(g, leaf, held);
		usleep(1000);
	}
}

static void close_if_open(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
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
		close_if_open(&leaf->fact[i]);
	}
	if (t == TREE_MEMORY)
		close_if_open(&leaf->oom_event);
	close_if_open(&leaf->tasks[t]);
	close_if_open(&leaf->dir[t]);
}

/*
 * Whether each counter that cannot be reset, and whose beginning is not subtracted (read_baseline()), is as in a new group
 * that a parked program has entered.
 */
static bool as_new(const struct groups *g, const struct leaf *leaf, enum tree t)
{
	static const struct { enum fact fact; uint64_t most; } facts[] = {
		{FACT_POPULATED, 0}, {FACT_PIDS_CURRENT, 0}, {FACT_PIDS_REFUSED, 0}, {FACT_PIDS_PEAK, 1},
	};
	if (!g->backend->keeps[t] || leaf->dir[t] < 0 || leaf->frozen)
		return false;
	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
		enum fact fact = facts[i].fact;
		uint64_t value = 0;
		if (g->backend->fact[fact].tree != t || leaf_read(g, leaf, fact, &value) == 0) {
			if (value > facts[i].most)
				return false;
		} else if (fact != FACT_PIDS_PEAK || errno != EBADF) { /* an older kernel has no such file */
			return false;
		}
	}
	return true;
}

void leaf_end(const struct groups *g, struct leaf *leaf, void (*left)(void *, const char *), void *context)
{
	for (int t = 0; t < TREE_COUNT; t++) {
		if (g->home[t] < 0 || t == TREE_CPU || as_new(g, leaf, t))
			continue;
		close_group(g, leaf, t);
		/* A member that is exiting keeps the group busy for a moment. */
		int done, tries = 0;
		while ((done = unlinkat(g->home[t], leaf->name, AT_REMOVEDIR)) < 0 && errno == EBUSY && tries++ < 500)
			usleep(1000);
		if (done < 0 && errno != ENOENT) {
			char text[128];
			snprintf(text, sizeof text, "%s in %s: %s", leaf->name, tree_name[t], strerror(errno));
			left(context, text);
		}
	}
	leaf->frozen = false;
}
