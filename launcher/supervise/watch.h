#ifndef ASSAY_WATCH_H
#define ASSAY_WATCH_H

#include "supervise/supervise.h"

/*
 * The state of a running program while the slot supervises it, and what the files of supervise/ do with it. Only they include
 * this file. supervise.c and pair.c are the two event loops; both call limits.c and kill.c, and limits.c calls rename-lock.c.
 */

enum {
	READ_AT_ONCE = 64 * 1024,
	READS_PER_ROUND = 8, /* afterwards, the deadlines are checked again */
	/*
	 * A killed box has failed to end if it has used no CPU time for END_TIMEOUT_MS, or after END_LONGEST_MS. Processes that are in
	 * long system calls end later than others, on a busy machine by many seconds, and that is no failure of the platform.
	 */
	END_TIMEOUT_MS = 15000, END_LONGEST_MS = 90000,
	END_PROGRESS_MS = 1000, /* how often the slot looks at the CPU time of a killed box */
	ENDING_MS = 5000,       /* how often it tells the client that the box is still ending */
	/* After a kill, the processes that are left are checked at this interval, plus this fraction of the time since the kill. */
	KILLED_CHECK_MS = 10, KILLED_CHECK_SHARE = 20,
	HELPERS_MAX = 128,
	HOLDERS_MAX = 128,
	/* With less memory in the kernel, a box has not enough page tables to matter. */
	PAGE_TABLES_KERNEL_BYTES = 2 << 20,
	/*
	 * An entry that maps a page costs a walk four times as much as one for no page, and the end of its process ten times: the
	 * kernel reads and changes what it keeps for the page, which is in no cache if the pages lie in random order. Pages of shared
	 * memory, and of files that the box has written, can be mapped many times in one process; private ones at most once, and
	 * again in each child of a fork. Pages of the image lie in order.
	 */
	SHARED_WALK = 4, PAGE_END = 10,
};

/* The address space of a program that a process executed. */
struct address_space {
	pid_t task; /* the process, or the first of its threads that has not ended */
	uint64_t started, stack;
};

/* A process of the slot that holds such an address space open (kill.c). */
struct holder {
	struct address_space space;
	pid_t process; /* 0: it has ended, because the address space has ended or another holder has it */
	bool used;
	bool found; /* the search that is under way has found the address space */
};

/* Processes that the slot starts so that a box ends soon after its kill (kill.c). */
struct kill_helpers {
	uint64_t checked_ns; /* when the killed processes were last checked; 0: never */
	int helpers;
	pid_t helper[HELPERS_MAX], helper_target[HELPERS_MAX];
	pid_t releaser; /* 0: none */
	uint64_t releaser_ns; /* when it began */
	struct holder holder[HOLDERS_MAX];
	bool *opened; /* shared with the holders: which of them have opened their address space; NULL: there is none yet */
	int kill_event; /* an eventfd by which the holders know of the kill */
	pid_t oom_forcer; /* v1: a process that takes the rest of the memory of the box; 0: none */
	uint64_t oom_forcer_ns; /* when it began */
	uint64_t oom_forced_ns; /* the time that those which have ended have used */
};

/* How the end of a killed box proceeds (kill.c). */
struct end_progress {
	uint64_t begun_ns; /* 0: nobody has waited for the end yet */
	uint64_t next_check_ns; /* when the CPU time is read next */
	uint64_t cpu_usec; /* CPU time of the box at the last check */
	uint64_t seen_ns; /* when it was last seen to grow */
	uint64_t reported_ns; /* when the client was last told */
};

/* Page tables of the box at the last search, in bytes of tables (limits.c). */
struct page_tables {
	uint64_t walk_bytes; /* the process whose walk costs most; tables of shared memory count several times */
	uint64_t exit_bytes; /* what the end of all processes costs, in such bytes */
	uint64_t kernel_bytes; /* all kernel memory of the box */
	uint64_t search_at; /* the earliest time of the next search */
	uint64_t urgent_search_at; /* the earliest time of the next search if they may exceed the bound */
};

/* Whether the box holds the kernel's lock for renames (rename-lock.c). */
struct lock_checks {
	uint64_t at; /* the next check */
	uint64_t cpu_usec, cpu_read_ns; /* CPU time of the box when it was last read, and that time */
	uint64_t count_files_at; /* when its files are counted next */
	bool deep; /* whether it had enough files for a deep directory */
	int suspected_checks; /* checks for which a slow one is remembered */
	int calm_checks; /* checks in a row that were not slow */
	uint64_t freeze_ns; /* length of the last freeze */
	uint64_t random;
	bool frozen; /* until the next check */
};

struct watch {
	struct slot *slot;
	struct box *box;
	const struct request *request;
	struct queue *out;
	struct outcome *o;
	int connection; /* -1: the client has left, or the other program of a pair serves it */
	struct watch *peer; /* the other program of a pair; NULL: there is none */
	struct input *input; /* NULL: the step has no LIVE_STDIN */
	uint64_t start_ns, killed_ns;
	unsigned cpus; /* CPUs that can work for the box at the same time */

	/* The event loop. */
	uint64_t end_only_until; /* until then, only the end of the program is awaited */
	uint64_t read_at[2]; /* when this stream, which was just read, is read next; 0: when data arrives */
	uint64_t flush_at; /* when queued output is sent; 0: none is queued */
	bool unkillable; /* the program did not end after the kill */
	bool init_lost; /* its init was ended from outside */

	/* Limits. */
	uint64_t wall_deadline, cpu_check, kernel_check, cpu_budget_usec;
	uint64_t uncharge_by; /* end of the time for which the box is frozen until the kernel has freed memory; 0: not frozen */
	uint64_t uncharge_end, uncharge_bytes; /* the latest such end; use when it was last extended */
	uint64_t memory_limit; /* limit before kernel memory caused it to be lowered; 0: not lowered */
	uint64_t oom_events; /* v1: count of OOM events */
	struct page_tables tables;
	struct lock_checks locks;
	struct kill_helpers kill;
	struct end_progress end;
};

/* ---- supervise.c: one program from its request to its counters ---- */

struct watch new_watch(struct slot *s, struct box *b, const struct request *r, struct queue *out, int connection, struct outcome *o);
/* Adds a line to the EVIDENCE_ERRORs of the step. */
void evidence_error(struct outcome *o, const char *what, int err);
/* Passes the request to the parked program, and sets its limits. */
int prepare_program(struct watch *w, struct failure *f);
/* Binds this program, or this one and the next, to the CPUs of the first request. */
int bind_programs(struct watch *w, int programs, struct failure *f);
int start_program(struct watch *w, struct failure *f);
/* Reads one pipe if there is data, or if its pause is over. Pauses after small amounts. */
void read_output_if_due(struct watch *w, int *fd, int stream, bool readable);
/* Counts the bytes, and queues them up to the limit. Returns the number within the limit. */
size_t queue_output(struct watch *w, int stream, const uint8_t *chunk, size_t size);
/* Whether the stream has more than its limit. */
bool exceeds_output_limit(const struct watch *w, int stream);
/* Reaps a program that has ended, and ends all others of its box. */
void end_program(struct watch *w);
/* Reads the rest of its output, and the counters. Call it after end_program(). */
void collect_results(struct watch *w);
/* Reads a file of /proc/PID as a string. -1 if there is nothing to read, as for a process that has ended. */
int read_process(int proc, pid_t process, const char *file, char *text, size_t size);
/* Reads the flags of /proc/PID/stat. */
int task_flags(int proc, pid_t task, unsigned *flags);

/* ---- limits.c: when a limit is exceeded ---- */

/* Sets the first deadlines after the start. */
void set_deadlines(struct watch *w);
/* Kills the box if a limit is exceeded. */
void check_deadlines(struct watch *w);
/* The time of the next check. */
uint64_t next_check(const struct watch *w, bool end_only);
struct timespec time_until(uint64_t deadline);
/* On v1, returns the number of times that the group was out of memory so far. */
uint64_t count_oom_events(struct watch *w);

/* ---- kill.c: ends a box soon ---- */

/* Kills the box and records the reason; the first reason stays. */
void kill_for(struct watch *w, enum kill_reason reason);
/* Kills the box, after a last search for address spaces to hold. */
void kill_box(struct watch *w);
/*
 * Call it at each next_killed_check() after a kill: lets processes that exit use idle CPUs, and starts helpers, which end long
 * system calls of the others.
 */
uint64_t next_killed_check(const struct watch *w);
void help_killed_processes(struct watch *w);
/*
 * Whether the box should have ended by now. Call it again and again while you wait for the end: as long as the box uses CPU time, it
 * also sends ENDING to the client.
 */
bool end_is_overdue(struct watch *w);
/* Ends all processes that this file has started for the box. */
void end_helpers(struct watch *w);
/* Stops or continues all programs of the box. */
void set_frozen(struct watch *w, bool frozen);
/* Lowers the memory limit of the box to what it has, so that it ends if it needs more. */
void stop_growth(struct watch *w);
/* Lets the kernel end the box as out of memory. Does not wait for it. */
void force_oom(struct watch *w);
/* Measures page tables, and starts holders for the address spaces that others can be reading when the box is killed. */
void search_page_tables(struct watch *w);

/* ---- rename-lock.c: freezes a box that holds a lock which the whole machine needs ---- */

void plan_lock_checks(struct watch *w);
void check_locks(struct watch *w, uint64_t now);

#endif
