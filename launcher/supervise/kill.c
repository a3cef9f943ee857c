/*
 * Kills a run so that it ends soon. A kill alone does not ensure that, because some system calls of killed processes take long.
 * One read of 128 MiB, the longest that seccomp.def allows, from /proc/PID/pagemap takes 0.05 to 0.1 s in which the kernel does
 * not handle signals, and on a preemptible kernel 60 processes can be in such reads when they are killed. A read of
 * /proc/PID/smaps_rollup takes 15 us for each full page table: 60 such reads, of a process with 13,000 page tables, took 6 to 14 s
 * on one CPU.
 *
 * Such a read takes the lock of an address space again for each mapping, or for each 2 MiB of addresses, and fails with
 * EINTR if it has to wait then and was killed. It has to wait if another task waits to write. So after a kill, this file
 * lets other processes wait to write, for each address space that a killed process can be reading:
 *
 * - The reader's own address space: a helper writes to /proc/PID/clear_refs, which takes that lock. "5" resets the peak of
 *   resident memory and nothing else.
 * - The address space of another process of the run. That process can have ended or executed another program by then; the address
 *   space remains until the last reader leaves it, but there is no process through which it could be found. Hence,
 *   while the run lasts, a holder opens /proc/PID/mem of each process whose page tables are large enough to matter. After
 *   the kill, the holder reads address 0 there. Nothing is mapped at that address, and before the kernel reports this, it takes the
 *   lock in order to try to extend a stack.
 *
 * Other calls, such as madvise(), walk the address space of their own process without such a pause. They become short when another
 * process, the releaser, frees the private pages of that address space. The releaser comes before the helpers and holders.
 *
 * Where all that is not enough, because page tables are too many, limits.c ends the run as out of memory (force_oom()).
 *
 * Helpers, holders and the releaser are processes, because each can wait long and must be killable. In particular, an open of
 * /proc/PID/mem waits while the process PID is between two programs. The slot itself never waits for such a lock.
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
#include "descriptors.h"
#include "seccomp.h"
#include "supervise/watch.h"

enum {
	/* Time between two checks of killed processes: HELP_MS plus 1/HELP_SHARE of the time since the kill. */
	HELP_MS = 10, HELP_SHARE = 20,
	PROGRESS_CHECK_MS = 1000, /* how often the slot looks at the CPU time of a killed run */
	ENDING_MS = 5000,         /* how often the slot tells the client that the run is still ending */
	/*
	 * The first and the longest pause between two attempts of a helper or holder; each pause is twice as long as the one before.
	 * Sixty helpers that tried each millisecond used more CPU time than the calls that they were to end.
	 */
	RETRY_USEC = 1000, RETRY_LONGEST_USEC = 128000,
	/* A process with fewer page tables needs no holder: 60 reads of page tables of this size take 0.1 s. */
	HOLD_TABLES_KIB = 512,
	/* How often a holder checks whether its address space still exists. */
	HOLDER_CHECK_MS = 200,
	PROCESSES_MAX = 4096,
	/* After a search, there is a pause of so many times its length; URGENT_SEARCH_SHARE times if page tables may exceed the bound. */
	SEARCH_SHARE = 20, URGENT_SEARCH_SHARE = 4,
};
/* The shortest pause, the shortest pause if page tables may exceed the bound, and the longest time of the releaser. */
#define SEARCH_NS 20000000ull
#define URGENT_SEARCH_NS 2000000ull
#define RELEASE_NS 200000000ull
/* How long one process of force_oom() may run. The next one begins only if all earlier ones together ran for at most OOM_FORCERS_NS. */
#define OOM_FORCER_NS 1000000000ull
#define OOM_FORCERS_NS 2000000000ull

/* ---- after the kill: helpers for killed processes ---- */

/*
 * Forks a process that helps to end a run. Unlike the slot, it has no end of a pipe of the programs: a program would not get the end of
 * its input as long as a helper could still write to it. It does not have the slot's state (unforked-memory.h).
 */
static pid_t fork_helper(const struct watch *w)
{
	int fd[PROGRAMS_MAX * 5 + 1], fds = 0, programs = w->pair ? PROGRAMS_MAX : 1;
	const struct watch *first = w->pair ? w->pair->watch : w;
	for (int i = 0; i < programs; i++) {
		const struct run *run = first[i].run;
		const int of_run[] = {run->in_fd, run->out_fd, run->err_fd, run->go, run->ready};
		for (size_t at = 0; at < sizeof of_run / sizeof *of_run; at++)
			fd[fds++] = of_run[at];
	}
	fd[fds++] = w->client->connection;
	pid_t helper = fork();
	for (int i = 0; helper == 0 && i < fds; i++)
		close_fd(&fd[i]);
	return helper;
}

/*
 * Lets the calling process, and those that it forks, use all CPUs. A helper that had only the CPU of the run would begin after the
 * calls that it is to end.
 */
static void use_all_cpus(void)
{
	cpu_set_t all;
	CPU_ZERO(&all);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		CPU_SET(cpu, &all);
	keyed(sched_setaffinity, 0, sizeof all, &all);
}

static unsigned longer_pause(unsigned usec)
{
	return usec < RETRY_LONGEST_USEC ? 2 * usec : usec;
}

/* The work of a helper: waits to write to an address space, again and again, until the process has ended. */
static void take_address_space_lock(int proc, pid_t process, pid_t slot)
{
	char name[32];
	snprintf(name, sizeof name, "%d/clear_refs", process);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return;
	for (unsigned pause = RETRY_USEC; getppid() == slot; pause = longer_pause(pause)) {
		int fd = openat(proc, name, O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, "5", 1) < 0)
			return; /* the process has ended */
		close(fd);
		usleep(pause);
	}
}

static void start_helper(struct watch *w, pid_t process)
{
	for (int i = 0; i < w->kill->helpers; i++)
		if (w->kill->helper_target[i] == process)
			return;
	if (w->kill->helpers == HELPERS_MAX)
		return;
	w->kill->used = true;
	int proc = w->slot->launcher->proc;
	pid_t slot = getpid(), helper = fork_helper(w);
	if (helper == 0) {
		take_address_space_lock(proc, process, slot);
		_exit(0);
	}
	if (helper > 0) {
		w->kill->helper_target[w->kill->helpers] = process;
		w->kill->helper[w->kill->helpers++] = helper;
	}
}

static void end_releaser(struct watch *w)
{
	if (w->kill->releaser > 0) {
		kill(w->kill->releaser, SIGKILL);
		waitpid(w->kill->releaser, NULL, 0);
	}
	w->kill->releaser = 0;
}

/* Tells the holders that the run was killed. From then on, they try again and again to take the lock. */
static void wake_holders(struct watch *w)
{
	if (w->kill->opened && eventfd_write(w->kill->kill_event, 1) < 0)
		evidence_error(w->o, "holders of address spaces", errno);
}

/*
 * Whether the releaser is still at work. Helpers and holders begin after it, because a task that waits to write would stop the
 * releaser. Ends a releaser that has run for RELEASE_NS.
 */
static bool is_releasing(struct watch *w)
{
	if (w->kill->releaser > 0 && waitpid(w->kill->releaser, NULL, WNOHANG) != 0)
		w->kill->releaser = 0;
	if (w->kill->releaser > 0 && now_ns() - w->kill->releaser_ns < RELEASE_NS)
		return true;
	end_releaser(w);
	return false;
}

void help_killed_processes(struct watch *w)
{
	enum { PF_EXITING = 4, DYING_MAX = 1024 };
	const struct launcher *l = w->slot->launcher;
	pid_t task[DYING_MAX];
	int tasks = leaf_tasks(w->run->box->groups, w->run->leaf, task, DYING_MAX), exiting = 0;
	bool releasing = is_releasing(w);
	if (!releasing)
		wake_holders(w);
	for (int i = 0; i < tasks && i < DYING_MAX; i++) {
		unsigned flags = PF_EXITING;
		if (task_flags(l->proc, task[i], &flags) < 0)
			continue;
		if (flags & PF_EXITING) {
			task[exiting++] = task[i];
			continue;
		}
		if (releasing)
			continue;
		use_all_cpus();
		start_helper(w, task[i]);
	}
	/* Only processes that exit get more CPUs: on a kernel without preemption, the helpers need a CPU that no long call occupies. */
	cpus_spread(l->cpus, w->slot->number, task, exiting);
	uint64_t now = now_ns();
	w->deadline[DEADLINE_HELP] = now + HELP_MS * 1000000ull + (now - w->killed_ns) / HELP_SHARE;
}

/* Tells the client that the run is still ending, so that it does not take the slot for lost. */
static void report_ending(struct watch *w)
{
	struct client *c = w->client;
	if (c->connection < 0)
		return;
	queue_frame(c->out, FRAME_ENDING);
	queue_frame_end(c->out);
	if (queue_flush(c->out, c->connection) < 0)
		client_left(c);
}

void check_progress(struct watch *w, uint64_t now)
{
	struct end_progress *e = &w->end;
	uint64_t cpu_usec;
	if (run_read(w->run, FACT_CPU_USEC, &cpu_usec) == 0 && cpu_usec > e->cpu_usec) {
		e->cpu_usec = cpu_usec;
		e->seen_ns = now;
	}
	if (e->seen_ns == now && now - e->reported_ns >= ENDING_MS * 1000000ull) {
		e->reported_ns = now;
		report_ending(w);
	}
	if (now - e->seen_ns > END_TIMEOUT_MS * 1000000ull || now - w->killed_ns > END_LONGEST_MS * 1000000ull)
		give_up(w);
	else
		w->deadline[DEADLINE_PROGRESS] = now + PROGRESS_CHECK_MS * 1000000ull;
}

/* ---- before the kill: the search for page tables, and holders ---- */

/* The page tables of a process in KiB, by which the time of a walk of its address space, and of its end, are estimated. */
struct tables {
	long kib;        /* all page tables */
	long pages_kib;  /* how many of them would map all pages of the process, if they were full */
	long shared_kib; /* how many of them would map its pages of shared memory and of files that the run has written */
};

/* Finds the number after this name in the text of /proc/PID/status; 0 if there is none. */
static long status_number(const char *text, const char *name)
{
	const char *line = strstr(text, name);
	return line ? strtol(line + strlen(name), NULL, 10) : 0;
}

/* Returns how many KiB of page tables map `kib` KiB of pages if the tables are full. */
static long full_tables_kib(long kib)
{
	enum { PAGE_KIB = 4, ENTRY_BYTES = 8 };
	return kib / PAGE_KIB * ENTRY_BYTES / 1024;
}

/* Reads the page tables of a task. Returns false if the task has no address space any more. */
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

/* Finds a thread of a process that still has its address space, after the end of the main thread. Returns 0 if there is none. */
static pid_t living_thread(int proc, pid_t process)
{
	char name[32];
	snprintf(name, sizeof name, "%d/task", process);
	int fd = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *threads = fd < 0 ? NULL : fdopendir(fd);
	pid_t found = 0;
	if (!threads && fd >= 0)
		close(fd);
	for (struct dirent *entry; threads && !found && (entry = readdir(threads));) {
		pid_t task = (pid_t)strtol(entry->d_name, NULL, 10);
		struct tables unused;
		if (task > 0 && task != process && read_tables(proc, task, &unused))
			found = task;
	}
	if (threads)
		closedir(threads);
	return found;
}

/*
 * Reads what distinguishes an address space from that of another program: when its process started, and where the kernel placed
 * its stack, which is a random address for each program that is executed (`personality` is refused). Children of a fork have the
 * same address, but started at another time or have another pid. Returns -1 if the task has ended.
 */
static int identify_space(int proc, pid_t task, struct address_space *space)
{
	char text[1024];
	const char *after = read_process(proc, task, "stat", text, sizeof text) == 0 ? strrchr(text, ')') : NULL;
	unsigned long long started, stack;
	/* Reads the fields 22 and 28. Field 3, the state, is the first one after the name. */
	if (!after || sscanf(after + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu "
					"%*u %*d %*u %*u %*u %llu", &started, &stack) != 2)
		return -1;
	*space = (struct address_space){task, started, stack};
	return 0;
}

static bool same_space(const struct address_space *a, const struct address_space *b)
{
	return a->task == b->task && a->started == b->started && a->stack == b->stack;
}

/* Whether another holder has this address space already, because two processes share it (CLONE_VM, as in vfork). */
static bool is_held_by_another(const struct watch *w, int proc, int index)
{
	const struct address_space *space = &w->kill->holder[index].space;
	for (int i = 0; i < HOLDERS_MAX; i++) {
		const struct holder *other = &w->kill->holder[i];
		struct address_space now;
		/* The process of the other holder must run the same program before and after the comparison by kcmp(). */
		if (i != index && other->process && w->kill->opened[i] && other->space.stack == space->stack &&
		    keyed(kcmp, space->task, other->space.task, KCMP_VM, 0, 0) == 0 &&
		    identify_space(proc, other->space.task, &now) == 0 && same_space(&now, &other->space))
			return true;
	}
	return false;
}

/*
 * The work of a holder. Where the host lets nobody open the memory of another process, only check_walkable() in limits.c bounds how
 * long the end of a run takes.
 */
static void hold(const struct watch *w, int proc, int index, pid_t slot)
{
	const struct address_space *space = &w->kill->holder[index].space;
	char name[32], byte;
	struct address_space now;
	struct pollfd kill_event = {.fd = w->kill->kill_event, .events = POLLIN};
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != slot)
		return;
	if (is_held_by_another(w, proc, index))
		return;
	snprintf(name, sizeof name, "%d/mem", space->task);
	int fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || identify_space(proc, space->task, &now) < 0 || !same_space(&now, space))
		return;
	w->kill->opened[index] = true;
	bool killed = false;
	for (unsigned pause = RETRY_USEC; pread(fd, &byte, 1, 0) != 0;) {
		if (killed) {
			usleep(pause);
			pause = longer_pause(pause);
		} else if (poll(&kill_event, 1, HOLDER_CHECK_MS) > 0) {
			use_all_cpus();
			killed = true;
		}
	}
}

static void reap_holders(struct watch *w)
{
	for (int i = 0; i < HOLDERS_MAX; i++)
		if (w->kill->holder[i].process && waitpid(w->kill->holder[i].process, NULL, WNOHANG) > 0) {
			w->kill->opened[i] = false;
			w->kill->holder[i].process = 0;
		}
}

static void start_holder(struct watch *w, const struct address_space *space)
{
	int index = -1;
	for (int i = 0; i < HOLDERS_MAX; i++) {
		struct holder *h = &w->kill->holder[i];
		if (h->used && same_space(&h->space, space)) {
			h->found = true;
			return;
		}
		if (!h->used && index < 0)
			index = i;
	}
	/* Without a holder, readers of this address space end later; check_walkable() in limits.c bounds by how much. */
	if (index < 0)
		return;
	w->kill->holder[index] = (struct holder){.space = *space, .used = true, .found = true};
	int proc = w->slot->launcher->proc;
	pid_t slot = getpid(), process = fork_helper(w);
	if (process == 0) {
		hold(w, proc, index, slot);
		_exit(0);
	}
	w->kill->holder[index].process = process > 0 ? process : 0;
	w->kill->holder[index].used = process > 0; /* otherwise, the next search tries again */
}

/* Makes what the slot shares with the holders: the array `opened` and the kill event. Returns -1 on failure. */
static int prepare_holders(struct watch *w)
{
	if (w->kill->opened)
		return 0;
	w->kill->used = true;
	void *shared = mmap(NULL, HOLDERS_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	w->kill->kill_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (shared == MAP_FAILED || w->kill->kill_event < 0) {
		evidence_error(w->o, "holders of address spaces", errno);
		if (shared != MAP_FAILED)
			munmap(shared, HOLDERS_MAX);
		if (w->kill->kill_event >= 0)
			close(w->kill->kill_event);
		return -1;
	}
	w->kill->opened = shared;
	return 0;
}

/* Adds up what the page tables of a process cost: the longest walk, and the work of the kernel at the end of all. */
static void add_tables(const struct tables *t, long *largest_kib, long *end_kib)
{
	long walk_kib = t->kib + (SHARED_WALK - 1) * t->shared_kib;
	if (walk_kib > *largest_kib)
		*largest_kib = walk_kib;
	*end_kib += PAGE_END * t->pages_kib;
}

uint64_t walkable_bytes_of(int proc, const pid_t *process, int processes, uint64_t tasks)
{
	long largest_kib = 0, end_kib = 0;
	for (int i = 0; i < processes; i++) {
		pid_t task = process[i];
		struct tables t;
		if (read_tables(proc, task, &t) || ((task = living_thread(proc, task)) && read_tables(proc, task, &t)))
			add_tables(&t, &largest_kib, &end_kib);
	}
	uint64_t walk = (uint64_t)largest_kib * 1024 * (tasks > TASKS_COUNTED_AT_LEAST ? tasks : TASKS_COUNTED_AT_LEAST), end = (uint64_t)end_kib * 1024;
	return walk > end ? walk : end;
}

/* Reads only `status` and `stat` of each process, because these reads wait for no lock of an address space. */
void search_page_tables(struct watch *w)
{
	uint64_t begin = now_ns();
	const struct launcher *l = w->slot->launcher;
	static pid_t process[PROCESSES_MAX];
	int processes = leaf_processes(w->run->box->groups, w->run->leaf, process, PROCESSES_MAX);
	/* A single process needs no holder, because its address space ends with it. */
	bool needs_holders = processes > 1 && prepare_holders(w) == 0;
	long largest_kib = 0, end_kib = 0;
	reap_holders(w);
	for (int i = 0; i < HOLDERS_MAX; i++)
		w->kill->holder[i].found = false;
	for (int i = 0; i < processes && i < PROCESSES_MAX; i++) {
		pid_t task = process[i];
		struct address_space space;
		struct tables t;
		if (!read_tables(l->proc, task, &t) && !((task = living_thread(l->proc, task)) && read_tables(l->proc, task, &t)))
			continue;
		add_tables(&t, &largest_kib, &end_kib);
		if (needs_holders && t.kib >= HOLD_TABLES_KIB && identify_space(l->proc, task, &space) == 0)
			start_holder(w, &space);
	}
	for (int i = 0; i < HOLDERS_MAX; i++)
		w->kill->holder[i].used = w->kill->holder[i].used && (w->kill->holder[i].found || w->kill->holder[i].process);
	uint64_t now = now_ns(), pause = (now - begin) * SEARCH_SHARE;
	w->tables.search_at = now + (pause > SEARCH_NS ? pause : SEARCH_NS);
	pause = (now - begin) * URGENT_SEARCH_SHARE;
	w->tables.urgent_search_at = now + (pause > URGENT_SEARCH_NS ? pause : URGENT_SEARCH_NS);
	w->tables.walk_bytes = (uint64_t)largest_kib * 1024;
	w->tables.exit_bytes = (uint64_t)end_kib * 1024;
}

/* ---- the kill ---- */

/*
 * The work of the releaser: frees the private memory of killed processes while their threads may still be in calls that walk this
 * memory. Without pages, such a call ends soon. The releaser takes the lock of the address space as a reader, so it comes before the
 * processes that wait to write.
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

void kill_processes(struct watch *w)
{
	w->killed_ns = now_ns();
	w->end = (struct end_progress){.seen_ns = w->killed_ns, .reported_ns = w->killed_ns};
	clear_limits(w);
	w->deadline[DEADLINE_HELP] = w->deadline[DEADLINE_PROGRESS] = w->killed_ns + HELP_MS * 1000000ull;
	uint64_t used = 0;
	bool large = run_read(w->run, FACT_KERNEL_NOW, &used) == 0 && used >= PAGE_TABLES_KERNEL_BYTES;
	if (large)
		search_page_tables(w); /* the bound is not checked here, because a program that has ended keeps its verdict */
	run_kill(w->run);
	if (!large)
		return;
	struct groups g = *w->run->box->groups;
	struct leaf leaf = *w->run->leaf;
	w->kill->used = true;
	w->kill->releaser_ns = now_ns();
	w->kill->releaser = fork_helper(w);
	if (w->kill->releaser == 0) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0) {
			use_all_cpus();
			release_memories(&g, &leaf);
		}
		_exit(0);
	}
}

void end_helpers(struct watch *w)
{
	struct kill_helpers *k = w->kill;
	if (!k->used)
		return;
	for (int i = 0; i < k->helpers; i++)
		kill(k->helper[i], SIGKILL);
	for (int i = 0; i < k->helpers; i++)
		waitpid(k->helper[i], NULL, 0);
	end_releaser(w);
	if (k->oom_forcer > 0) {
		kill(k->oom_forcer, SIGKILL);
		waitpid(k->oom_forcer, NULL, 0);
	}
	for (int i = 0; i < HOLDERS_MAX; i++)
		if (k->holder[i].process)
			kill(k->holder[i].process, SIGKILL);
	for (int i = 0; i < HOLDERS_MAX; i++)
		if (k->holder[i].process)
			waitpid(k->holder[i].process, NULL, 0);
	if (k->opened) {
		munmap(k->opened, HOLDERS_MAX);
		close(k->kill_event);
	}
	*k = (struct kill_helpers){0};
}

void kill_for(struct watch *w, enum kill_reason reason)
{
	if (w->state != RUNNING || w->o->reason != KILL_NONE)
		return;
	w->o->reason = reason;
	kill_processes(w);
	/* It would use a whole CPU to search for memory to reclaim, until the process that the OOM killer chose has ended. */
	if (w->kill->oom_forcer > 0)
		kill(w->kill->oom_forcer, SIGKILL);
}

void set_frozen(struct watch *w, bool frozen)
{
	if (leaf_freeze(w->run->leaf, frozen) < 0)
		evidence_error(w->o, "cgroup.freeze", errno);
}

void stop_growth(struct watch *w)
{
	const struct groups *g = w->run->box->groups;
	if (!w->memory_limit && run_read(w->run, FACT_MEMORY_LIMIT, &w->memory_limit) < 0)
		evidence_error(w->o, fact_name(FACT_MEMORY_LIMIT), errno);
	if (leaf_stop_growth(g, w->run->leaf) < 0)
		evidence_error(w->o, "lower memory limit", errno);
}

/* ---- the end by memory ---- */

/*
 * On v2, a limit below the use ends the group at once. v1 refuses such a limit, so a child of the slot, the OOM forcer, joins the group
 * and takes the rest of the memory, and more. It may have to wait until a killed process has left a long call, hence the slot does not
 * wait for it. It uses a whole CPU while the kernel searches for memory to reclaim, so its time is bounded, and so is the time of all
 * OOM forcers of a run: one in which the kernel finds memory to reclaim again and again stays frozen until another limit ends it.
 */
void force_oom(struct watch *w)
{
	enum { MAPPING_BYTES = 1 << 20, MAPPINGS = 64 };
	const struct groups *g = w->run->box->groups;
	if (w->kill->oom_forcer > 0 && waitpid(w->kill->oom_forcer, NULL, WNOHANG) == 0) {
		if (now_ns() - w->kill->oom_forcer_ns > OOM_FORCER_NS)
			kill(w->kill->oom_forcer, SIGKILL);
		return;
	}
	if (w->kill->oom_forcer > 0)
		w->kill->oom_forced_ns += now_ns() - w->kill->oom_forcer_ns;
	w->kill->oom_forcer = 0;
	if (w->kill->oom_forced_ns > OOM_FORCERS_NS)
		return;
	w->kill->used = true;
	w->kill->oom_forcer_ns = now_ns();
	stop_growth(w);
	if (leaf_force_oom(g, w->run->leaf) == 0)
		return;
	int tasks = leaf_open_tasks(w->run->leaf);
	w->kill->oom_forcer = tasks < 0 ? -1 : fork_helper(w);
	if (w->kill->oom_forcer == 0) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || write(tasks, "0", 1) < 0)
			_exit(1);
		for (int i = 0; i < MAPPINGS; i++)
			if (mmap(NULL, MAPPING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) == MAP_FAILED)
				break;
		_exit(0);
	}
	if (w->kill->oom_forcer < 0)
		evidence_error(w->o, "end by memory", errno);
	if (tasks >= 0)
		close(tasks);
}
