/* The groups of sandboxes (sandboxes.h). prepare.c makes that of all sandboxes, and sandbox/holder.c the others. */
#define _GNU_SOURCE
#include "cgroup/sandboxes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroup/files.h"
#include "clock.h"
#include "descriptors.h"
#include "unforked-memory.h"

enum { EMPTY_TIMEOUT_MS = 500, ACCOUNT_TRIES = 20 };

/* v2 has the controllers in the unified tree, and a group gives them to those below it only if it is told to. On a hybrid host, there is nothing to tell. */
static int delegate(int above, int unified, const char *name, struct failure *f)
{
	char text[256];
	if (group_file_read(above, "cgroup.subtree_control", text, sizeof text) <= 0)
		return 0;
	if (list_contains(text, "memory", " \n") && group_file_write(unified, "cgroup.subtree_control", "+memory +pids") < 0)
		return fail(f, "cgroup", "delegate in %s", name);
	if (list_contains(text, "cpu", " \n"))
		group_file_write(unified, "cgroup.subtree_control", "+cpu");
	return 0;
}

/* Lets the group have others below it, with the same controllers. */
static int delegate_below(struct group_set *s, const struct groups *above, struct failure *f)
{
	s->below = *above;
	for (int t = 0; t < TREE_COUNT; t++)
		if (t != TREE_CPU)
			s->below.dir[t] = s->own.dir[t];
	if (above->dir[TREE_CPU] >= 0) {
		if (mkdirat(above->dir[TREE_CPU], s->own.name, 0755) < 0 && errno != EEXIST)
			return fail(f, "cgroup", "make %s in cpu", s->own.name);
		s->below.dir[TREE_CPU] = openat(above->dir[TREE_CPU], s->own.name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (s->below.dir[TREE_CPU] < 0)
			return fail(f, "cgroup", "open %s in cpu", s->own.name);
	}
	return delegate(above->dir[TREE_UNIFIED], s->own.dir[TREE_UNIFIED], s->own.name, f);
}

static int make(struct group_set *s, const struct groups *above, const char *name, struct failure *f)
{
	leaf_name(&s->own, LEAF_WITH_GROUPS, name);
	s->below = (struct groups){.dir = {-1, -1, -1, -1}};
	return leaf_make(above, &s->own, f) < 0 ? -1 : delegate_below(s, above, f);
}

int sandboxes_make(struct group_set *all, const struct groups *launcher, uint64_t memory, unsigned programs, struct failure *f)
{
	/* Without this, v1 before Linux 5.11 does not limit the groups below a group. */
	if (launcher->dir[TREE_MEMORY] >= 0) {
		char text[8] = "";
		if (group_file_read(launcher->dir[TREE_MEMORY], "memory.use_hierarchy", text, sizeof text) > 0 && text[0] == '0' &&
		    group_file_write(launcher->dir[TREE_MEMORY], "memory.use_hierarchy", "1") < 0)
			return fail(f, "cgroup", "memory.use_hierarchy");
	}
	if (make(all, launcher, "sandboxes", f) < 0 || leaf_limit_memory(launcher, &all->own, memory, f) < 0)
		return -1;
	static const char *const needed[] = {"cgroup.kill", "cgroup.freeze"};
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (faccessat(all->own.dir[TREE_UNIFIED], needed[i], W_OK, 0) < 0)
			return fail(f, "cgroup", "%s, without which there are no sandboxes (since Linux 5.14)", needed[i]);
	groups_set_weight(&all->below, programs);
	return 0;
}

static void holder_name(char name[16], unsigned holder)
{
	snprintf(name, 16, "h%u", holder);
}

/* The tree with the groups of accounts; TREE_COUNT: no tree shares the CPU time. */
static enum tree account_tree(const struct groups *all)
{
	if (all->dir[TREE_CPU] >= 0)
		return TREE_CPU;
	return all->dir[TREE_MEMORY] < 0 ? TREE_UNIFIED : TREE_COUNT;
}

static void account_name(char name[16], uint32_t account)
{
	snprintf(name, 16, "a%08x", account);
}

/* Opens the group of an account, below which its sandboxes are: `to` is then `all`, with that group in the tree that has it. account_close() closes it. */
static int account_open(struct groups *to, const struct groups *all, uint32_t account)
{
	enum tree t = account_tree(all);
	char name[16];
	*to = *all;
	account_name(name, account);
	if (t != TREE_COUNT)
		to->dir[t] = openat(all->dir[t], name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return t != TREE_COUNT && to->dir[t] < 0 ? -1 : 0;
}

static void account_close(const struct groups *opened, const struct groups *all)
{
	enum tree t = account_tree(all);
	if (t != TREE_COUNT && opened->dir[t] >= 0)
		close(opened->dir[t]);
}

static int account_make(struct groups *to, const struct groups *all, uint32_t account, struct failure *f)
{
	enum tree t = account_tree(all);
	char name[16];
	account_name(name, account);
	if (t != TREE_COUNT && mkdirat(all->dir[t], name, 0755) < 0 && errno != EEXIST) {
		*to = *all;
		to->dir[t] = -1;
		return fail(f, "cgroup", "make %s", name);
	}
	if (account_open(to, all, account) < 0)
		return fail(f, "cgroup", "open %s", name);
	return t == TREE_UNIFIED ? delegate(all->dir[t], to->dir[t], name, f) : 0;
}

int sandbox_make(struct group_set *s, const struct groups *all, unsigned holder, uint32_t account, uint64_t memory, uint64_t processes, struct failure *f)
{
	char name[16];
	holder_name(name, holder);
	for (int tries = 1;; tries++) {
		struct failure failed = {0};
		struct groups its;
		int made = account_make(&its, all, account, &failed) < 0 || make(s, &its, name, &failed) < 0 ? -1 : 0;
		account_close(&its, all);
		if (made == 0)
			return leaf_limit(all, &s->own, memory, processes, f);
		/* Another holder has just removed the group of the account, because its last sandbox has ended. */
		if ((failed.err != ENOENT && failed.err != ENODEV) || tries == ACCOUNT_TRIES)
			return fail_with(f, failed.err, failed.step, "%s", failed.object);
		leaf_close(all, &s->own);
		sandbox_remove(all, holder, account, 0);
	}
}

int sandbox_cpu_tasks(const struct group_set *s)
{
	return s->below.dir[TREE_CPU] < 0 ? -1 : openat(s->below.dir[TREE_CPU], "tasks", O_WRONLY | O_CLOEXEC);
}

void sandbox_kill(const struct group_set *s)
{
	if (s->own.dir[TREE_UNIFIED] >= 0)
		group_file_write(s->own.dir[TREE_UNIFIED], "cgroup.kill", "1");
}

/* Reads a 0 or 1 of cgroup.events; -1 if it cannot be read. */
static int read_event(int unified, const char *name)
{
	char text[256] = "\n", line[24];
	if (group_file_read(unified, "cgroup.events", text + 1, sizeof text - 1) <= 0)
		return -1;
	snprintf(line, sizeof line, "\n%s ", name);
	const char *at = strstr(text, line);
	return at ? at[strlen(line)] == '1' : -1;
}

int sandbox_is_frozen(const struct group_set *s)
{
	return read_event(s->own.dir[TREE_UNIFIED], "frozen");
}

int sandbox_freeze(const struct group_set *s, bool frozen, int timeout_ms)
{
	uint64_t deadline = now_ns() + (uint64_t)timeout_ms * 1000000u;
	if (group_file_write(s->own.dir[TREE_UNIFIED], "cgroup.freeze", frozen ? "1" : "0") < 0)
		return sandbox_is_frozen(s);
	int state;
	for (unsigned pause = 20; (state = sandbox_is_frozen(s)) != frozen && now_ns() < deadline; pause += pause < 2000 ? pause : 0)
		usleep(pause);
	return state;
}

/* Finds the number after `name` at the begin of a line of the file. Returns 0 if there is none. */
static uint64_t number_in(int dir, const char *file, const char *name)
{
	char text[4096] = "\n", line[32];
	if (dir < 0 || group_file_read(dir, file, text + 1, sizeof text - 1) <= 0)
		return 0;
	snprintf(line, sizeof line, "\n%s ", name);
	const char *at = strstr(text, line);
	return at ? strtoull(at + strlen(line), NULL, 10) : 0;
}

static uint64_t leaf_oom_kills(const struct group_set *s, const char *name)
{
	char path[48];
	snprintf(path, sizeof path, "%s/memory.oom_control", name);
	return number_in(s->own.dir[TREE_MEMORY], path, "oom_kill");
}

uint64_t sandbox_oom_kills(const struct group_set *s, uint64_t retired)
{
	if (s->own.dir[TREE_MEMORY] < 0) /* v2 counts the groups below as well */
		return number_in(s->own.dir[TREE_UNIFIED], "memory.events", "oom_kill");
	for (int i = 0; i < SANDBOX_LEAVES_MAX; i++) {
		char name[16];
		pool_name(i, name);
		retired += leaf_oom_kills(s, name);
	}
	return retired;
}

int sandbox_memory(const struct group_set *s, struct sandbox_memory *memory)
{
	enum { BYTES = 16384 };
	static struct area area;
	bool v1 = s->own.dir[TREE_MEMORY] >= 0;
	const int dir = s->own.dir[v1 ? TREE_MEMORY : TREE_UNIFIED];
	char number[32], *text = area_of(&area, BYTES);
	if (group_file_read(dir, v1 ? "memory.usage_in_bytes" : "memory.current", number, sizeof number) <= 0 ||
	    group_file_read(dir, "memory.stat", text + 1, BYTES - 1) <= 0)
		return -1;
	text[0] = '\n';
	/* On v1, the numbers without `total_` do not contain the groups below. */
	const char *const names[] = {v1 ? "\ntotal_cache " : "\nfile ", v1 ? "\ntotal_shmem " : "\nshmem "};
	const char *files = strstr(text, names[0]), *shared = strstr(text, names[1]);
	if (!files || !shared)
		return -1;
	memory->all = strtoull(number, NULL, 10);
	memory->files = strtoull(files + strlen(names[0]), NULL, 10);
	memory->shmem = strtoull(shared + strlen(names[1]), NULL, 10);
	return 0;
}

uint64_t sandbox_charged(const struct group_set *s)
{
	struct sandbox_memory m;
	if (sandbox_memory(s, &m) < 0)
		return UINT64_MAX;
	uint64_t cached = m.files > m.shmem ? m.files - m.shmem : 0;
	return m.all > cached ? m.all - cached : 0;
}

int sandbox_open_events(const struct group_set *s)
{
	return s->own.dir[TREE_MEMORY] >= 0 ? -1 : openat(s->own.dir[TREE_UNIFIED], "memory.events.local", O_RDONLY | O_CLOEXEC);
}

uint64_t sandbox_own_ooms(const struct group_set *s)
{
	return number_in(s->own.dir[TREE_UNIFIED], "memory.events.local", "oom");
}

int sandbox_remove(const struct groups *all, unsigned holder, uint32_t account, int timeout_ms)
{
	char name[16];
	struct groups its;
	int left, opened = account_open(&its, all, account);
	/* Without the group of the account, the tree that has it has no group of the sandbox. */
	if (opened < 0 && errno != ENOENT)
		return 1;
	holder_name(name, holder);
	/* The name of another holder can begin with this one, so groups_sweep() cannot be used. */
	while ((left = groups_remove(&its, name)) > 0 && timeout_ms > 0) {
		usleep(2000);
		timeout_ms -= 2;
	}
	if (opened == 0)
		account_close(&its, all);
	account_name(name, account);
	if (account_tree(all) != TREE_COUNT)
		unlinkat(all->dir[account_tree(all)], name, AT_REMOVEDIR); /* it fails while the account has another sandbox */
	return left;
}

/* ---- the pool ---- */

void pool_name(int leaf, char name[16])
{
	snprintf(name, 16, "e%d", leaf);
}

bool pool_freeze(struct leaf_pool *p, const struct group_set *s, bool frozen, int timeout_ms)
{
	uint64_t deadline = now_ns() + (uint64_t)timeout_ms * 1000000u;
	char path[48], name[16];
	bool done = true;
	p->frozen = frozen;
	for (int i = 0; i < SANDBOX_LEAVES_MAX; i++) {
		if (p->state[i] != LEAF_TAKEN && p->state[i] != LEAF_LEFT)
			continue;
		pool_name(i, name);
		snprintf(path, sizeof path, "%s/cgroup.freeze", name);
		/* A leaf that could not be made again has no group, and no process. */
		done = (group_file_write(s->own.dir[TREE_UNIFIED], path, frozen ? "1" : "0") >= 0 || errno == ENOENT) && done;
	}
	for (int i = 0; i < SANDBOX_LEAVES_MAX && frozen; i++) {
		if (p->state[i] != LEAF_TAKEN && p->state[i] != LEAF_LEFT)
			continue;
		pool_name(i, name);
		int group = openat(s->own.dir[TREE_UNIFIED], name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		int state = group < 0 && errno == ENOENT ? 1 : -1;
		while (group >= 0 && (state = read_event(group, "frozen")) == 0 && now_ns() < deadline)
			usleep(50);
		if (group >= 0)
			close(group);
		done = done && state == 1;
	}
	return done;
}

static bool is_populated(const struct group_set *s, int leaf)
{
	char name[16];
	pool_name(leaf, name);
	int group = openat(s->own.dir[TREE_UNIFIED], name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (group < 0)
		return errno != ENOENT;
	int populated = read_event(group, "populated");
	close(group);
	return populated != 0;
}

/* Removes a group of the leaf. A member that is exiting keeps the group busy for a moment. */
static int remove_group(int parent, const char *name)
{
	uint64_t deadline = now_ns() + EMPTY_TIMEOUT_MS * 1000000ull;
	int done;
	while ((done = unlinkat(parent, name, AT_REMOVEDIR)) < 0 && errno == EBUSY && now_ns() < deadline)
		usleep(200);
	return done < 0 && errno != ENOENT ? -1 : 0;
}

int sandbox_remove_leaf(const struct group_set *s, const char *name)
{
	int done = 0;
	for (int t = TREE_COUNT - 1; t >= 0; t--)
		if (t != TREE_CPU && s->own.dir[t] >= 0 && remove_group(s->own.dir[t], name) < 0)
			done = -1;
	return done;
}

/* Removes the leaf from all trees. Returns -1 if a part of it is left; the leaf can then not be made again. */
static int retire(struct leaf_pool *p, const struct group_set *s, int leaf)
{
	char name[16];
	pool_name(leaf, name);
	uint64_t kills = leaf_oom_kills(s, name);
	p->user[leaf] = 0;
	p->as_new[leaf] = false;
	int done = sandbox_remove_leaf(s, name);
	if (done == 0) {
		p->retired_oom_kills += kills;
		p->state[leaf] = LEAF_NONE;
		p->killed[leaf] = false;
	}
	return done;
}

/* Makes the groups that the leaf does not have. */
int sandbox_make_leaf(const struct group_set *s, const char *name)
{
	for (int t = 0; t < TREE_COUNT; t++) {
		if (t == TREE_CPU || s->own.dir[t] < 0)
			continue;
		if (mkdirat(s->own.dir[t], name, 0755) < 0 && errno != EEXIST)
			return -1;
	}
	char path[40];
	snprintf(path, sizeof path, "%s/memory.oom.group", name);
	/* A v2 leaf with the memory controller ends as a whole, like that of a submission. */
	return s->own.dir[TREE_MEMORY] < 0 ? group_file_write(s->own.dir[TREE_UNIFIED], path, "1") : 0;
}

/* The trees in which a leaf has a group, as bits by enum tree. */
static unsigned trees_of(const struct group_set *s)
{
	unsigned trees = 0;
	for (int t = 0; t < TREE_COUNT; t++)
		trees |= (t != TREE_CPU && s->own.dir[t] >= 0) << t;
	return trees;
}

/*
 * Makes a used leaf ready for the next execution. A group without the memory controller that is not as new is simply made anew, because the kernel frees it at
 * once: so refused forks and the peak of processes are exact on hybrid hosts. Takes the trees in which the leaf has another group then out of `same`.
 */
static int renew(const struct leaf_pool *p, const struct group_set *s, int leaf, const char *name, unsigned *same)
{
	static const enum tree without_memory[] = {TREE_PIDS, TREE_UNIFIED};
	if (s->own.dir[TREE_PIDS] < 0)
		return 0;
	for (size_t i = 0; i < sizeof without_memory / sizeof *without_memory; i++) {
		enum tree t = without_memory[i];
		if (p->as_new[leaf] && !(p->own_ids && t == TREE_UNIFIED))
			continue;
		*same &= ~(1u << t);
		if (remove_group(s->own.dir[t], name) < 0)
			return -1;
	}
	return 0;
}

static uint64_t charged_to(const struct group_set *s, int leaf)
{
	char path[48], name[16], text[32] = "";
	bool v1 = s->own.dir[TREE_MEMORY] >= 0;
	pool_name(leaf, name);
	snprintf(path, sizeof path, "%s/%s", name, v1 ? "memory.usage_in_bytes" : "memory.current");
	return group_file_read(s->own.dir[v1 ? TREE_MEMORY : TREE_UNIFIED], path, text, sizeof text) > 0 ? strtoull(text, NULL, 10) : UINT64_MAX;
}

/*
 * Chooses a free leaf: that of the same user if little is charged to it, the first one to which little is charged, or if there is none and the pool is not
 * full, -1, so that a new one is made, or the one to which least is charged. After many processes have ended in a leaf, their memory stays charged for a while.
 */
static int choose(const struct leaf_pool *p, const struct group_set *s, unsigned user)
{
	int best = -1, leaves = 0;
	uint64_t least = UINT64_MAX;
	for (int i = 0; user && i < SANDBOX_LEAVES_MAX; i++)
		if (p->state[i] == LEAF_FREE && p->user[i] == user && charged_to(s, i) <= LEAF_CHARGED_LITTLE)
			return i;
	for (int i = 0; i < SANDBOX_LEAVES_MAX; i++) {
		leaves += p->state[i] == LEAF_FREE || p->state[i] == LEAF_TAKEN;
		uint64_t charged = p->state[i] == LEAF_FREE ? charged_to(s, i) : UINT64_MAX;
		if (charged <= LEAF_CHARGED_LITTLE)
			return i;
		if (p->state[i] == LEAF_FREE && (best < 0 || charged < least)) {
			best = i;
			least = charged;
		}
	}
	return leaves < SANDBOX_LEAVES_POOLED ? -1 : best;
}

static uint64_t files_of(const struct group_set *s, int leaf)
{
	char path[48], name[16];
	pool_name(leaf, name);
	snprintf(path, sizeof path, "%s/memory.stat", name);
	return number_in(s->own.dir[s->own.dir[TREE_MEMORY] >= 0 ? TREE_MEMORY : TREE_UNIFIED], path, "shmem");
}

/*
 * Whether a leaf has pages of files on a disk. They would count as memory that its next execution did not use, and when the kernel gives them up meanwhile, the
 * execution could use more. To make the kernel give them up can take as long as the disk needs for them.
 */
static bool has_pages_of_disk(const struct leaf_pool *p, const struct group_set *s, int leaf)
{
	char path[48], name[16];
	bool v1 = s->own.dir[TREE_MEMORY] >= 0;
	if (!p->on_disk)
		return false;
	pool_name(leaf, name);
	snprintf(path, sizeof path, "%s/memory.stat", name);
	uint64_t files = number_in(s->own.dir[v1 ? TREE_MEMORY : TREE_UNIFIED], path, v1 ? "cache" : "file");
	return files > files_of(s, leaf) + LEAF_CHARGED_LITTLE;
}

static int unused(const struct leaf_pool *p)
{
	for (int i = 0; i < SANDBOX_LEAVES_MAX; i++)
		if (p->state[i] == LEAF_NONE)
			return i;
	return -1;
}

static uint64_t kernel_bytes_of(const struct group_set *s, int leaf)
{
	char path[48], name[16], text[32] = "";
	pool_name(leaf, name);
	if (s->own.dir[TREE_MEMORY] < 0) {
		snprintf(path, sizeof path, "%s/memory.stat", name);
		return number_in(s->own.dir[TREE_UNIFIED], path, "kernel");
	}
	snprintf(path, sizeof path, "%s/memory.kmem.usage_in_bytes", name);
	return group_file_read(s->own.dir[TREE_MEMORY], path, text, sizeof text) > 0 ? strtoull(text, NULL, 10) : 0;
}

/* Reads the processes of a leaf. Returns how many were read. */
static int processes_of(const struct group_set *s, int leaf, pid_t *process, int most)
{
	enum { BYTES = 16384 };
	static struct area area;
	char path[48], name[16], *text = area_of(&area, BYTES);
	int count = 0;
	pool_name(leaf, name);
	snprintf(path, sizeof path, "%s/cgroup.procs", name);
	if (group_file_read(s->own.dir[TREE_UNIFIED], path, text, BYTES) <= 0)
		return 0;
	for (char *p = text, *end; count < most && (end = strchr(p, '\n')); p = end + 1)
		process[count++] = (pid_t)strtol(p, NULL, 10);
	return count;
}

/* Returns the number of tasks of the whole sandbox. */
static uint64_t all_tasks(const struct group_set *s)
{
	char text[32] = "";
	const int dir = s->own.dir[s->own.dir[TREE_PIDS] >= 0 ? TREE_PIDS : TREE_UNIFIED];
	return group_file_read(dir, "pids.current", text, sizeof text) > 0 ? strtoull(text, NULL, 10) : 0;
}

/* The use of a leaf whose processes have outlived their execution. */
static const struct leaf_use unwatched = {.reusable = true, .charged = UINT64_MAX};

int pool_check_left(struct leaf_pool *p, const struct group_set *s, uint64_t kernel_bytes, uint64_t walkable_bytes,
		    uint64_t (*walkable)(int proc, const pid_t *process, int processes, uint64_t tasks), int proc)
{
	enum { PROCESSES_READ = 1024, PAGE_TABLES_LEAST = 2 << 20 };
	pid_t process[PROCESSES_READ];
	int left = 0;
	for (int i = 0; i < SANDBOX_LEAVES_MAX; i++) {
		if (p->state[i] != LEAF_LEFT)
			continue;
		uint64_t kernel = kernel_bytes_of(s, i);
		bool over = kernel > kernel_bytes;
		if (!over && kernel >= PAGE_TABLES_LEAST)
			over = walkable(proc, process, processes_of(s, i, process, PROCESSES_READ), all_tasks(s)) > walkable_bytes;
		if (over || !is_populated(s, i))
			pool_give(p, s, i, &unwatched); /* kills what is there */
		left += p->state[i] == LEAF_LEFT;
	}
	return left;
}

int pool_take(struct leaf_pool *p, const struct group_set *s, unsigned user, unsigned *same)
{
	char name[16];
	for (int i = 0; i < SANDBOX_LEAVES_MAX; i++)
		if (p->state[i] == LEAF_LEFT && !is_populated(s, i))
			pool_give(p, s, i, &unwatched);
	for (int leaf; (leaf = choose(p, s, user)) >= 0;) {
		pool_name(leaf, name);
		/* On a hybrid host, renew() replaces a group that was killed; on v2, it is the whole leaf. */
		bool is_replaced = (p->killed[leaf] && s->own.dir[TREE_PIDS] < 0) || has_pages_of_disk(p, s, leaf);
		int retired = is_replaced ? retire(p, s, leaf) : 0; /* a new group then has its name */
		*same = user && p->user[leaf] == user ? trees_of(s) : 0;
		p->state[leaf] = LEAF_TAKEN;
		p->user[leaf] = user;
		bool as_it_is = p->as_new[leaf] && !p->own_ids;
		if (retired == 0 && (as_it_is || (renew(p, s, leaf, name, same) == 0 && sandbox_make_leaf(s, name) == 0))) {
			p->killed[leaf] = false;
			return leaf;
		}
		/* It stays taken: a part of it could not be removed. */
	}
	int leaf = unused(p);
	if (leaf < 0) {
		errno = EAGAIN;
		return -1;
	}
	pool_name(leaf, name);
	*same = 0;
	if (sandbox_make_leaf(s, name) < 0) {
		int err = errno;
		retire(p, s, leaf);
		errno = err;
		return -1;
	}
	p->state[leaf] = LEAF_TAKEN;
	p->user[leaf] = user;
	return leaf;
}

/* Kills the processes of the leaf, if there are any, and waits until there is none. Returns whether the leaf is empty. */
static bool empty_leaf(struct leaf_pool *p, const struct group_set *s, int leaf)
{
	char path[32], name[16];
	uint64_t deadline = now_ns() + EMPTY_TIMEOUT_MS * 1000000ull;
	pool_name(leaf, name);
	snprintf(path, sizeof path, "%s/cgroup.kill", name);
	while (is_populated(s, leaf)) {
		group_file_write(s->own.dir[TREE_UNIFIED], path, "1");
		p->killed[leaf] = true;
		if (now_ns() >= deadline)
			return false;
		usleep(500);
	}
	return true;
}

/* How many groups of the sandbox were removed that the kernel keeps, because something is still charged to them. */
static uint64_t removed_groups(const struct group_set *s)
{
	return number_in(s->own.dir[TREE_UNIFIED], "cgroup.stat", "nr_dying_descendants");
}

void pool_kill_all(struct leaf_pool *p, const struct group_set *s)
{
	sandbox_kill(s);
	for (int i = 0; i < SANDBOX_LEAVES_MAX; i++) {
		p->killed[i] = p->state[i] != LEAF_NONE;
		p->as_new[i] = false;
	}
}

void pool_kill(struct leaf_pool *p, const struct group_set *s, int leaf)
{
	char path[32], name[16];
	if (leaf < 0 || leaf >= SANDBOX_LEAVES_MAX || p->state[leaf] != LEAF_TAKEN)
		return;
	pool_name(leaf, name);
	snprintf(path, sizeof path, "%s/cgroup.kill", name);
	group_file_write(s->own.dir[TREE_UNIFIED], path, "1"); /* also kills what is being forked */
	p->killed[leaf] = true;
}

void pool_give(struct leaf_pool *p, const struct group_set *s, int leaf, const struct leaf_use *use)
{
	char path[48], name[16];
	if (leaf < 0 || leaf >= SANDBOX_LEAVES_MAX || p->state[leaf] == LEAF_NONE || p->state[leaf] == LEAF_FREE)
		return;
	p->killed[leaf] = p->killed[leaf] || use->killed;
	p->as_new[leaf] = use->as_new && !use->left && !p->killed[leaf] && !p->frozen;
	if (use->left || (!p->as_new[leaf] && !empty_leaf(p, s, leaf))) {
		p->state[leaf] = LEAF_LEFT; /* processes that do not end are looked for again when a leaf is taken */
		return;
	}
	bool many_files = use->charged > LEAF_FILES_MAX && files_of(s, leaf) > LEAF_FILES_MAX;
	/* On a hybrid host, the group that gives the number is made anew when the leaf is taken. */
	bool anew = !s->below.renews_peak || (p->own_ids && s->own.dir[TREE_PIDS] < 0);
	if ((!use->reusable || many_files || (anew && removed_groups(s) < LEAVES_REMOVED_MAX)) && retire(p, s, leaf) == 0)
		return;
	p->state[leaf] = LEAF_FREE;
	if (p->as_new[leaf])
		return;
	pool_name(leaf, name);
	snprintf(path, sizeof path, "%s/cgroup.freeze", name);
	group_file_write(s->own.dir[TREE_UNIFIED], path, "0");
}
