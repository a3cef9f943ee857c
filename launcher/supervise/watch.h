#ifndef ASSAY_WATCH_H
#define ASSAY_WATCH_H

#include "supervise/supervise.h"

/*
 * The state of a running program while the slot supervises it, and what the files of supervise/ do with it. Only they include
 * this file. supervise.c and pair.c are the two event loops; both call limits.c and kill.c, and limits.c calls rename-lock.c.
 */

enum {
	READ_AT_ONCE = 64 * 1024,
	READS_PER_ROUND = 8, /* after so many reads, the deadlines are checked again */
	/*
	 * A killed box has failed to end if it has used no CPU time for END_TIMEOUT_MS, or after END_LONGEST_MS. Processes that are in
	 * long system calls end later than others, on a busy machine by many seconds, and that is no failure of the platform.
	 */
	END_TIMEOUT_MS = 15000, END_LONGEST_MS = 90000,
	END_PROGRESS_MS = 1000, /* how often the slot looks at the CPU time of a killed box */
	ENDING_MS = 5000,       /* how often the slot tells the client that the box is still ending */
	/* Time between two checks of killed processes: KILLED_CHECK_MS plus 1/KILLED_CHECK_SHARE of the time since the kill. */
	KILLED_CHECK_MS = 10, KILLED_CHECK_SHARE = 20,
	HELPERS_MAX = 128,
	HOLDERS_MAX = 128,
	/* A box with less kernel memory does not have enough page tables to matter. */
	PAGE_TABLES_KERNEL_BYTES = 2 << 20,
	/*
	 * For a page table entry that maps a page, a walk takes four times as long as for an empty entry, and the end of the process ten
	 * times as long: the kernel reads and changes its data about the page, which are in no cache if the pages lie in random order.
	 * Pages of shared memory, and of files that the box has written, can be mapped many times in one process; private pages at most
	 * once, and again in each child of a fork. Pages of the image lie in order.
	 */
	SHARED_WALK = 4, PAGE_END = 10,
};

/* Identifies the address space of a program that a process has executed (identify_space() in kill.c). */
struct address_space {
	pid_t task; /* the process, or the first of its threads that has not ended */
	uint64_t started, stack;
};

/* A process of the slot that holds such an address space open (kill.c). */
struct holder {
	struct address_space space;
	pid_t process; /* 0: it has ended, for example because the address space has ended or another holder has it */
	bool used; /* false: this element of the array is free */
	bool found; /* the current search has found the address space */
};

/* Processes that the slot starts so that a box ends soon after its kill (kill.c). */
struct kill_helpers {
	uint64_t checked_ns; /* when the killed processes were last checked; 0: never */
	int helpers;
	pid_t helper[HELPERS_MAX], helper_target[HELPERS_MAX];
	pid_t releaser; /* 0: none */
	uint64_t releaser_ns; /* when the releaser began */
	struct holder holder[HOLDERS_MAX];
	bool *opened; /* shared with the holders: which of them have opened their address space; NULL: no holder was started yet */
	int kill_event; /* an eventfd that tells the holders of the kill */
	pid_t oom_forcer; /* v1: a process that takes the rest of the memory of the box; 0: none */
	uint64_t oom_forcer_ns; /* when the last such process began; 0: there was none */
	uint64_t oom_forced_ns; /* how long all earlier such processes ran together */
};

/* How the end of a killed box proceeds (kill.c). */
struct end_progress {
	uint64_t begun_ns; /* when the wait for the end began; 0: it has not begun */
	uint64_t next_check_ns; /* when the CPU time is read next */
	uint64_t cpu_usec; /* CPU time of the box at the last check */
	uint64_t seen_ns; /* when a check last found that the CPU time had grown, or when the wait began */
	uint64_t reported_ns; /* when the client was last sent an ENDING, or when the wait began */
};

/* Page tables of the box at the last search, in bytes of tables (limits.c). */
struct page_tables {
	uint64_t walk_bytes; /* those of the process whose walk takes longest; tables of shared memory count SHARED_WALK times */
	uint64_t exit_bytes; /* those of all processes that map pages, counted PAGE_END times: the work of the kernel at their end */
	uint64_t kernel_bytes; /* all kernel memory of the box */
	uint64_t search_at; /* the earliest time of the next search */
	uint64_t urgent_search_at; /* the earliest time of the next search if the page tables may exceed the bound */
};

/* Whether the box holds the kernel's lock for renames (rename-lock.c). */
struct lock_checks {
	uint64_t at; /* the time of the next check */
	uint64_t cpu_usec, cpu_read_ns; /* the CPU time of the box at its last reading, and when that was */
	uint64_t count_files_at; /* when the files of the box are counted next */
	bool deep; /* whether the box had enough files for a deep directory when they were last counted */
	int suspected_checks; /* for how many more checks the last slow one is remembered */
	int calm_checks; /* checks in a row that were not slow */
	uint64_t freeze_ns; /* the length of the last freeze; 0: the next one is the first, or comes after many calm checks */
	uint64_t random; /* the state of random_below() */
	bool frozen; /* the box is frozen until the next check */
};

struct watch {
	struct slot *slot;
	struct run *run;
	const struct request *request;
	struct queue *out;
	struct outcome *o;
	int connection; /* -1: the client has left, or this is the interactor of a pair, whose program has the connection */
	struct watch *peer; /* the other program of a pair; NULL: there is none */
	struct input *input; /* NULL: the step has no LIVE_STDIN */
	uint64_t killed_ns;
	unsigned cpus; /* CPUs that can work for the box at the same time */

	/* The event loop. */
	uint64_t end_only_until; /* until this time, the slot waits for the end of the program and not for its output */
	uint64_t read_at[2]; /* for each stream, the end of a pause after a read; 0: no pause, the stream is read when data arrives */
	uint64_t flush_at; /* when queued output is sent; 0: none is queued */
	bool unkillable; /* the program did not end after the kill */
	bool init_lost; /* the init of the box was killed from outside */

	/* Limits. */
	uint64_t wall_deadline, cpu_check, kernel_check, cpu_budget_usec;
	uint64_t uncharge_by; /* until when the box is frozen at most, so that the kernel can free memory; 0: it is not frozen for that */
	uint64_t uncharge_end; /* the latest value that uncharge_by can get */
	uint64_t uncharge_bytes; /* kernel memory of the box when uncharge_by was last set */
	uint64_t memory_limit; /* the memory limit before stop_growth() lowered it; 0: it was not lowered */
	uint64_t oom_events; /* v1: how often the box was out of memory */
	struct page_tables tables;
	struct lock_checks locks;
	struct kill_helpers kill;
	struct end_progress end;
};

/* ---- supervise.c: one program from its request to its counters ---- */

struct watch new_watch(struct slot *s, struct run *run, int connection);
/* Adds a line to the EVIDENCE_ERRORs of the step. */
void evidence_error(struct outcome *o, const char *what, int err);
/* Binds the programs of the first `programs` elements of the array `w`, and the slot, to as many CPUs as the first request wants. */
int bind_programs(struct watch *w, int programs, struct failure *f);
/* Starts and supervises two programs (pair.c). */
void supervise_pair(struct slot *s, struct run *run[2], struct client *client);
/* Reads a pipe if it is readable, or if its pause is over. Begins a pause if little was read. */
void read_output_if_due(struct watch *w, int *fd, int stream, bool readable);
/* Counts the bytes of a stream, and queues those within its limit. Returns how many these are. */
size_t queue_output(struct watch *w, int stream, const uint8_t *chunk, size_t size);
/* Whether the program has written more to the stream than its limit. */
bool exceeds_output_limit(const struct watch *w, int stream);
/* Reaps a program that has ended, and ends all other processes of its box. */
void end_program(struct watch *w);
/* Reads the rest of the output of a program, and the counters. Call it after end_program(). */
void collect_results(struct watch *w);
/* Reads a file of /proc/PID as a string. Returns -1 if there is nothing to read, as for a process that has ended. */
int read_process(int proc, pid_t process, const char *file, char *text, size_t size);
/* Reads the flags in /proc/PID/stat. Returns -1 with errno if they cannot be read; errno is EBADMSG if the file is malformed. */
int task_flags(int proc, pid_t task, unsigned *flags);

/* ---- limits.c: when a limit is exceeded ---- */

/* Sets the first deadlines after the start. */
void set_deadlines(struct watch *w);
/* Kills the box if a limit is exceeded. */
void check_deadlines(struct watch *w);
/* Returns when the event loop must wake up next, even without an event. `end_only`: end_only_until is such a time as well. */
uint64_t next_check(const struct watch *w, bool end_only);
struct timespec time_until(uint64_t deadline);
/* Returns how often the group has been out of memory so far. Only for v1. */
uint64_t count_oom_events(struct watch *w);

/* ---- kill.c: ends a box soon ---- */

/* Kills the box and records the reason; the first reason stays. */
void kill_for(struct watch *w, enum kill_reason reason);
/* Kills the box, after a last search for address spaces to hold. */
void kill_box(struct watch *w);
/* Returns when help_killed_processes() must be called next, after a kill. */
uint64_t next_killed_check(const struct watch *w);
/* Lets killed processes that exit use idle CPUs, and starts helpers, which end long system calls of the other killed processes. */
void help_killed_processes(struct watch *w);
/*
 * Whether the box should have ended by now. A caller that waits for the end calls this again and again: as long as the box uses CPU
 * time, this function also sends ENDING to the client.
 */
bool end_is_overdue(struct watch *w);
/* Ends all processes that kill.c has started for the box. */
void end_helpers(struct watch *w);
/* Stops or continues all programs of the box. */
void set_frozen(struct watch *w, bool frozen);
/* Lowers the memory limit of the box to little more than it uses, so that the OOM killer ends it if it needs more. */
void stop_growth(struct watch *w);
/* Makes the kernel end the box as out of memory. Does not wait for the end; call it again as long as the box has not ended. */
void force_oom(struct watch *w);
/* Measures page tables, and starts holders for the address spaces that other processes can be reading when the box is killed. */
void search_page_tables(struct watch *w);

/* ---- rename-lock.c: freezes a box that holds a lock which the whole machine needs ---- */

/* Sets the time of the first check, at the start of the program. */
void plan_lock_checks(struct watch *w);
/* Checks whether the box holds the lock, and freezes or continues it. Call it at `locks.at`. */
void check_locks(struct watch *w, uint64_t now);

#endif
