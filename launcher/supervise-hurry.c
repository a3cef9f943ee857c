/*
 * Ends long system calls of killed processes. One read of 128 MiB, the longest that seccomp.def allows, from
 * /proc/PID/pagemap takes 0.05 to 0.1 s in which the kernel does not look at signals, and on a preemptible kernel 60
 * processes can be in such reads when they are killed. A read of /proc/PID/smaps_rollup takes 15 us for each full page
 * table: 60 of them, of a process with 13,000 page tables, took 6 to 14 s on one CPU.
 *
 * Such a read takes the lock of an address space again for each mapping, or for each 2 MiB of addresses, and fails with
 * EINTR if it has to wait then and was killed. It has to wait if another task waits to write. So after a kill, this file
 * lets other processes wait to write, for each address space that a killed process can be reading:
 *
 * - The reader's own: a helper writes to /proc/PID/clear_refs, which takes that lock. "5" resets the peak of resident
 *   memory and nothing else.
 * - That of another process of the box, the victim. It can have ended or executed another program by then, and its
 *   address space remains until the last reader leaves it, without a process through which it could be found. Hence,
 *   while the box runs, a holder opens /proc/PID/mem of each process whose page tables are large enough to matter. After
 *   the kill, it reads address 0 there. Nothing is mapped at it, and before the kernel says so, it takes the lock in
 *   order to try to extend a stack.
 *
 * Calls that walk their own address space without such a pause, as madvise() does, become short when a process that is not
 * killed frees its private pages: the releaser, before the others.
 *
 * Helpers, holders and the releaser are processes, because each can wait long and must be killable. In particular, an open of
 * /proc/PID/mem waits while that process is between two programs. Nothing here waits in the slot itself.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "seccomp.h"
#include "supervise-parts.h"

enum {
	RETRY_USEC = 1000,
	/* With less in the kernel, a box has not enough page tables. */
	HOLD_KERNEL_BYTES = 2 << 20,
	/* 60 reads of so many page tables take 0.1 s. */
	HOLD_TABLES_KIB = 512,
	/* How often a holder looks whether its address space still exists. */
	HOLDER_LOOKS_MS = 200,
	PROCESSES_MAX = 4096,
	TASKS_LEAST = 8,
	/*
	 * An entry that maps a page costs a walk four times as much as one for no page, and the end of its process ten times: the
	 * kernel reads and changes what it keeps for the page, which is in no cache if the pages lie in random order. Pages of shared
	 * memory, and of files that the box has written, can be mapped many times in one process; private ones at most once, and
	 * again in each child of a fork. Pages of the image lie in order.
	 */
	SHARED_WALK = 4, PAGE_END = 10,
	/* A search may take this fraction of the slot's time; the larger one while page tables grow beyond the bound. */
	SEARCH_SHARE = 20, HURRIED_SEARCH_SHARE = 4,
};
#define SEARCH_NS 20000000ull
#define HURRIED_SEARCH_NS 2000000ull
#define RELEASE_NS 200000000ull

static void use_all_cpus(void)
{
	cpu_set_t all;
	CPU_ZERO(&all);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		CPU_SET(cpu, &all);
	keyed(sched_setaffinity, 0, sizeof all, &all);
}

static void take_lock_of(int proc, pid_t process, pid_t slot)
{
	char name[32];
	snprintf(name, sizeof name, "%d/clear_refs", process);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return;
	while (getppid() == slot) {
		int fd = openat(proc, name, O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, "5", 1) < 0)
			return; /* the process has ended */
		close(fd);
		usleep(RETRY_USEC);
	}
}

static void start_helper(struct watch *w, pid_t process)
{
	for (int i = 0; i < w->helpers; i++)
		if (w->helped[i] == process)
			return;
	if (w->helpers == HELPERS_MAX)
		return;
	int proc = w->slot->launcher->proc;
	pid_t slot = getpid(), helper = fork();
	if (helper == 0) { /* without the slot's state: unforked-memory.h */
		take_lock_of(proc, process, slot);
		_exit(0);
	}
	if (helper > 0) {
		w->helped[w->helpers] = process;
		w->helper[w->helpers++] = helper;
	}
}

static void end_releaser(struct watch *w)
{
	if (w->releaser > 0) {
		kill(w->releaser, SIGKILL);
		waitpid(w->releaser, NULL, 0);
	}
	w->releaser = 0;
}

/* Tells the holders that the box was killed. */
static void end_begins(struct watch *w)
{
	if (w->opened && eventfd_write(w->end_event, 1) < 0)
		evidence_error(w->o, "holders of address spaces", errno);
}

/* Those that wait to write would stop it. */
static bool still_releases(struct watch *w)
{
	if (w->releaser > 0 && waitpid(w->releaser, NULL, WNOHANG) != 0)
		w->releaser = 0;
	if (w->releaser > 0 && now_ns() - w->release_ns < RELEASE_NS)
		return true;
	end_releaser(w);
	return false;
}

void hurry_end(struct watch *w)
{
	enum { PF_EXITING = 4, DYING_MAX = 1024 };
	const struct launcher *l = w->slot->launcher;
	pid_t task[DYING_MAX];
	int tasks = leaf_tasks(&l->groups, w->box->leaf, task, DYING_MAX), exiting = 0;
	bool releases = still_releases(w);
	if (!releases)
		end_begins(w);
	for (int i = 0; i < tasks && i < DYING_MAX; i++) {
		unsigned flags = PF_EXITING;
		if (task_flags(l->proc, task[i], &flags) < 0)
			continue;
		if (flags & PF_EXITING) {
			task[exiting++] = task[i];
			continue;
		}
		if (releases)
			continue;
		use_all_cpus(); /* otherwise the helpers begin behind the calls that they are to end */
		start_helper(w, task[i]);
	}
	/* Not those in a call: without preemption, the helpers need a CPU that such calls do not hold. */
	cpus_spread(l->cpus, w->slot->number, task, exiting);
	w->hurried_ns = now_ns();
}

/* What the address space of a process costs those that walk it, and its own end. */
struct tables {
	long kib;        /* page tables */
	long pages_kib;  /* the part of them that maps pages, if they are full */
	long shared_kib; /* the part of that for shared memory, which includes files of the box */
};

/* The number after this name in /proc/PID/status; 0 if it has none. */
static long status_number(const char *text, const char *name)
{
	const char *line = strstr(text, name);
	return line ? strtol(line + strlen(name), NULL, 10) : 0;
}

/* Full page tables for so many KiB of pages. */
static long full_tables_kib(long kib)
{
	enum { PAGE_KIB = 4, ENTRY_BYTES = 8 };
	return kib / PAGE_KIB * ENTRY_BYTES / 1024;
}

/* Returns false for a task without an address space, because it has ended. */
static bool read_tables(int proc, pid_t task, struct tables *t)
{
	char text[4096];
	if (read_process(proc, task, "status", text, sizeof text) < 0 || !strstr(text, "\nVmPTE:"))
		return false;
	*t = (struct tables){
		.kib = status_number(text, "\nVmPTE:"),
		.pages_kib = full_tables_kib(status_number(text, "\nVmRSS:")),
		.shared_kib = full_tables_kib(status_number(text, "\nRssShmem:")),
	};
	return true;
}

/* The first thread of a process that still has its address space: its main thread can end before the others. */
static pid_t living_thread(int proc, pid_t process)
{
	char name[32];
	snprintf(name, sizeof name, "%d/task", process);
	int fd = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *all = fd < 0 ? NULL : fdopendir(fd);
	pid_t found = 0;
	if (!all && fd >= 0)
		close(fd);
	for (struct dirent *one; all && !found && (one = readdir(all));) {
		pid_t task = (pid_t)strtol(one->d_name, NULL, 10);
		struct tables unused;
		if (task > 0 && task != process && read_tables(proc, task, &unused))
			found = task;
	}
	if (all)
		closedir(all);
	return found;
}

/*
 * What tells an address space from that of another program: when its process started, and where the kernel placed its
 * stack, which is a random address for each program that is executed (`personality` is refused). Children of a fork have
 * the same place, but started at another time or have another number. Returns -1 if the task has ended.
 */
static int identify(int proc, pid_t task, struct space *space)
{
	char text[1024];
	const char *after = read_process(proc, task, "stat", text, sizeof text) == 0 ? strrchr(text, ')') : NULL;
	unsigned long long started, stack;
	/* Fields 22 and 28 of 52; the state, after the name, is the third. */
	if (!after || sscanf(after + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu "
					"%*u %*d %*u %*u %*u %llu", &started, &stack) != 2)
		return -1;
	*space = (struct space){task, started, stack};
	return 0;
}

static bool same_space(const struct space *a, const struct space *b)
{
	return a->task == b->task && a->started == b->started && a->stack == b->stack;
}

/* Whether another holder has this address space already: that of a process which shares it (CLONE_VM, as in vfork). */
static bool is_shared(const struct watch *w, int proc, int at)
{
	const struct space *own = &w->holder[at].space;
	for (int i = 0; i < HOLDERS_MAX; i++) {
		const struct holder *other = &w->holder[i];
		struct space now;
		/* Its owner must be in the program in which it was opened, before and after the comparison. */
		if (i != at && other->process && w->opened[i] && other->space.stack == own->stack &&
		    keyed(kcmp, own->task, other->space.task, KCMP_VM, 0, 0) == 0 &&
		    identify(proc, other->space.task, &now) == 0 && same_space(&now, &other->space))
			return true;
	}
	return false;
}

/* Where the host lets nobody open the memory of another process, check_walkable() alone bounds the time of an end. */
static void hold(const struct watch *w, int proc, int at, pid_t slot)
{
	const struct space *space = &w->holder[at].space;
	char name[32], byte;
	struct space now;
	struct pollfd end = {.fd = w->end_event, .events = POLLIN};
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != slot)
		return;
	if (is_shared(w, proc, at))
		return;
	snprintf(name, sizeof name, "%d/mem", space->task);
	int fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || identify(proc, space->task, &now) < 0 || !same_space(&now, space))
		return;
	w->opened[at] = true;
	for (bool ends = false; pread(fd, &byte, 1, 0) != 0; usleep(ends ? RETRY_USEC : 0)) {
		if (!ends && poll(&end, 1, HOLDER_LOOKS_MS) > 0) {
			use_all_cpus();
			ends = true;
		}
	}
}

static void reap_holders(struct watch *w)
{
	for (int i = 0; i < HOLDERS_MAX; i++)
		if (w->holder[i].process && waitpid(w->holder[i].process, NULL, WNOHANG) > 0) {
			w->opened[i] = false;
			w->holder[i].process = 0;
		}
}

static void start_holder(struct watch *w, const struct space *space)
{
	int at = -1;
	for (int i = 0; i < HOLDERS_MAX; i++) {
		struct holder *h = &w->holder[i];
		if (h->used && same_space(&h->space, space)) {
			h->seen = true;
			return;
		}
		if (!h->used && at < 0)
			at = i;
	}
	/* Without a place, its readers end later, but not without a bound: check_walkable(). */
	if (at < 0)
		return;
	w->holder[at] = (struct holder){.space = *space, .used = true, .seen = true};
	int proc = w->slot->launcher->proc;
	pid_t slot = getpid(), process = fork();
	if (process == 0) { /* without the slot's state: unforked-memory.h */
		hold(w, proc, at, slot);
		_exit(0);
	}
	w->holder[at].process = process > 0 ? process : 0;
	w->holder[at].used = process > 0; /* otherwise, the next search tries again */
}

/* What holders and the slot share: which of them have opened their address space, and the event that the end begins. */
static int prepare_holders(struct watch *w)
{
	if (w->opened)
		return 0;
	void *shared = mmap(NULL, HOLDERS_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	w->end_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (shared == MAP_FAILED || w->end_event < 0) {
		evidence_error(w->o, "holders of address spaces", errno);
		if (shared != MAP_FAILED)
			munmap(shared, HOLDERS_MAX);
		if (w->end_event >= 0)
			close(w->end_event);
		return -1;
	}
	w->opened = shared;
	return 0;
}

/*
 * All that ends calls which walk page tables comes too late for some: one mapping can be as large as all page tables, and the
 * address space of a process that lived for a few milliseconds is not held. At 4 ms for each MiB, 60 tasks that walk 48 MiB
 * need 12 s. So the product is bounded (walkableBytes() in src/sandbox/step.ts).
 */
static bool exceeds_walkable(struct watch *w, uint64_t table_bytes, uint64_t end_bytes, uint64_t *walkable)
{
	uint64_t tasks = 0;
	if (leaf_read(&w->slot->launcher->groups, w->box->leaf, FACT_PIDS_CURRENT, &tasks) < 0)
		return false;
	/* More tasks can begin before the next check. */
	*walkable = table_bytes * (tasks > TASKS_LEAST ? tasks : TASKS_LEAST);
	if (end_bytes > *walkable)
		*walkable = end_bytes;
	return *walkable > w->request->number[KEY_WALKABLE_BYTES];
}

/* Frozen, the tasks that are not in such a call yet begin none before the kernel ends the box. */
static void check_walkable(struct watch *w)
{
	uint64_t walkable = 0;
	bool exceeds = exceeds_walkable(w, w->table_bytes, w->end_bytes, &walkable);
	if (walkable > w->o->walkable_bytes)
		w->o->walkable_bytes = walkable;
	if (exceeds && w->o->reason == KILL_NONE) {
		set_frozen(w, true);
		exhaust_memory(w);
	}
}

/*
 * Searches for address spaces to hold: those of processes whose page tables are large enough to matter. Reads of `status` and
 * `stat` wait for no lock of an address space. Sets what the tables of the largest process, and the end of all, cost.
 */
static void search(struct watch *w)
{
	uint64_t began = now_ns();
	const struct launcher *l = w->slot->launcher;
	static pid_t process[PROCESSES_MAX];
	int processes = leaf_processes(&l->groups, w->box->leaf, process, PROCESSES_MAX);
	/* Without another process, nothing outlives the one. */
	bool holds = processes > 1 && prepare_holders(w) == 0;
	long largest_kib = 0, end_kib = 0;
	reap_holders(w);
	for (int i = 0; i < HOLDERS_MAX; i++)
		w->holder[i].seen = false;
	for (int i = 0; i < processes && i < PROCESSES_MAX; i++) {
		pid_t task = process[i];
		struct space space;
		struct tables t;
		if (!read_tables(l->proc, task, &t) && !((task = living_thread(l->proc, task)) && read_tables(l->proc, task, &t)))
			continue;
		long walk_kib = t.kib + (SHARED_WALK - 1) * t.shared_kib;
		if (walk_kib > largest_kib)
			largest_kib = walk_kib;
		end_kib += PAGE_END * t.pages_kib;
		if (holds && t.kib >= HOLD_TABLES_KIB && identify(l->proc, task, &space) == 0)
			start_holder(w, &space);
	}
	for (int i = 0; i < HOLDERS_MAX; i++)
		w->holder[i].used = w->holder[i].used && (w->holder[i].seen || w->holder[i].process);
	uint64_t now = now_ns(), pause = (now - began) * SEARCH_SHARE;
	w->search_at = now + (pause > SEARCH_NS ? pause : SEARCH_NS);
	pause = (now - began) * HURRIED_SEARCH_SHARE;
	w->hurried_search_at = now + (pause > HURRIED_SEARCH_NS ? pause : HURRIED_SEARCH_NS);
	w->table_bytes = (uint64_t)largest_kib * 1024;
	w->end_bytes = (uint64_t)end_kib * 1024;
}

/*
 * What a box has used more in the kernel since the last search can be page tables. It can make 20 MiB of them, and let 60 tasks walk
 * them, in the time between two regular searches.
 */
void check_page_tables(struct watch *w, uint64_t kernel_bytes)
{
	uint64_t now = now_ns(), walkable;
	if (kernel_bytes < HOLD_KERNEL_BYTES)
		return;
	uint64_t growth = kernel_bytes > w->searched_bytes ? kernel_bytes - w->searched_bytes : 0;
	uint64_t most = w->table_bytes + SHARED_WALK * growth, most_end = w->end_bytes + PAGE_END * growth;
	if (now < w->search_at && (now < w->hurried_search_at || !exceeds_walkable(w, most, most_end, &walkable)))
		return;
	search(w);
	w->searched_bytes = kernel_bytes;
	check_walkable(w);
}

/*
 * Frees the private memory of killed processes while their threads may still be in calls that walk it: without pages, such a
 * call ends soon. It takes the lock as a reader, so it comes before those that wait to write.
 */
static void release_memories(const struct groups *g, const struct leaf *leaf)
{
	static pid_t process[PROCESSES_MAX];
	int processes = leaf_processes(g, leaf, process, PROCESSES_MAX);
	for (int i = 0; i < processes && i < PROCESSES_MAX; i++) {
		int fd = (int)syscall(__NR_pidfd_open, process[i], 0);
		if (fd < 0)
			continue;
		keyed(process_mrelease, fd, 0); /* fails for one that has ended, and before Linux 5.15 */
		close(fd);
	}
}

void kill_box(struct watch *w)
{
	uint64_t used = 0;
	bool large = leaf_read(&w->slot->launcher->groups, w->box->leaf, FACT_KERNEL_NOW, &used) == 0 && used >= HOLD_KERNEL_BYTES;
	if (large)
		search(w); /* no check: a program that has ended keeps its verdict */
	box_kill(w->box);
	if (!large)
		return;
	struct groups g = w->slot->launcher->groups;
	struct leaf leaf = *w->box->leaf;
	w->release_ns = now_ns();
	w->releaser = fork();
	if (w->releaser == 0) { /* without the slot's state: unforked-memory.h */
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0) {
			use_all_cpus();
			release_memories(&g, &leaf);
		}
		_exit(0);
	}
}

void end_helpers(struct watch *w)
{
	for (int i = 0; i < w->helpers; i++)
		kill(w->helper[i], SIGKILL);
	for (int i = 0; i < w->helpers; i++)
		waitpid(w->helper[i], NULL, 0);
	w->helpers = 0;
	end_releaser(w);
	if (w->exhauster > 0) {
		kill(w->exhauster, SIGKILL);
		waitpid(w->exhauster, NULL, 0);
	}
	w->exhauster = 0;
	for (int i = 0; i < HOLDERS_MAX; i++)
		if (w->holder[i].process)
			kill(w->holder[i].process, SIGKILL);
	for (int i = 0; i < HOLDERS_MAX; i++) {
		if (w->holder[i].process)
			waitpid(w->holder[i].process, NULL, 0);
		w->holder[i] = (struct holder){0};
	}
	if (w->opened) {
		munmap(w->opened, HOLDERS_MAX);
		close(w->end_event);
		w->opened = NULL;
	}
}
