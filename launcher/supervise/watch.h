#ifndef ASSAY_WATCH_H
#define ASSAY_WATCH_H

#include "supervise/supervise.h"

/*
 * The state of a run while the slot supervises it, and what the files of supervise/ do with it. Only they include this file.
 * supervise.c has the event loop. When an event or a deadline has come, it calls limits.c, which decides when a limit is exceeded,
 * kill.c, which ends the run, rename-lock.c, and pair.c, which has what only two programs that talk to each other need. left.c uses parts of
 * this for processes that no slot supervises.
 */

#define NEVER UINT64_MAX /* the time of a deadline that is not set */

enum {
	READ_AT_ONCE = 64 * 1024,
	READS_PER_ROUND = 8, /* after so many reads of a stream, the deadlines are checked again */
	/*
	 * A killed run has failed to end if it has used no CPU time for END_TIMEOUT_MS, or after END_LONGEST_MS. Processes that are in
	 * long system calls end later than others, on a busy machine by many seconds, and that is no failure of the platform.
	 */
	END_TIMEOUT_MS = 15000, END_LONGEST_MS = 90000,
	HELPERS_MAX = 128,
	HOLDERS_MAX = 128,
	/* A run with less kernel memory does not have enough page tables to matter. */
	PAGE_TABLES_KERNEL_BYTES = 2 << 20,
	/*
	 * For a page table entry that maps a page, a walk takes four times as long as for an empty entry, and the end of the process ten
	 * times as long: the kernel reads and changes its data about the page, which are in no cache if the pages lie in random order.
	 * Pages of shared memory, and of files that the run has written, can be mapped many times in one process; private pages at most
	 * once, and again in each child of a fork. Pages of the image lie in order.
	 */
	SHARED_WALK = 4, PAGE_END = 10,
	TASKS_COUNTED_AT_LEAST = 8, /* more tasks can begin before the next check */
};

/*
 * What the slot does for a run at a certain time, even without an event. If several times have come, it acts in this order;
 * act_on_deadlines() in supervise.c says how. Each action sets the next time of its deadline, if there is to be one.
 */
enum deadline {
	/* Limits, until the end or the kill of the program. If it exceeds several, the first one is the reason of the kill. */
	DEADLINE_OOM,           /* v1, after an OOM event: looks whether the kernel has counted a kill */
	DEADLINE_WALL,          /* the limit of wall time. Not of a pair: DEADLINE_TURN */
	DEADLINE_CPU,           /* reads the CPU time */
	DEADLINE_KERNEL_MEMORY, /* reads the kernel memory, which has no event, and the page tables */
	DEADLINE_LOCKS,         /* looks whether the run holds a lock that the whole machine needs, or ends a freeze */
	DEADLINE_SAMPLE,        /* takes a sample */
	DEADLINES_OF_LIMITS,
	/* From the kill to the end of the last process. */
	DEADLINE_HELP = DEADLINES_OF_LIMITS, /* helps killed processes to end */
	DEADLINE_PROGRESS,      /* looks whether the killed run still uses CPU time, and gives it up if it takes too long */
	/* The streams of the program, and its client. */
	DEADLINE_FIRST_READ,    /* the output of a program is read from now on; before, only its end is awaited */
	DEADLINE_STDOUT,        /* the end of a pause after a read of this stream */
	DEADLINE_STDERR,
	DEADLINE_SIGNAL,        /* looks whether the exec has come, for which a signal of the client waits */
	DEADLINE_FLUSH,         /* sends queued output */
	/* Of a pair (pair.c). */
	DEADLINE_CLOSE,         /* ends the input of the other program, after this one has closed its output */
	DEADLINE_TURN,          /* decides whose turn it is. Only the program has this deadline, not the interactor */
	DEADLINES,
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

/* Processes that the slot starts so that a run ends soon after its kill (kill.c). Between two runs, all of it is zero. */
struct kill_helpers {
	bool used; /* a process was started for this run */
	int helpers;
	pid_t helper[HELPERS_MAX], helper_target[HELPERS_MAX];
	pid_t releaser; /* 0: none */
	uint64_t releaser_ns; /* when the releaser began */
	struct holder holder[HOLDERS_MAX];
	bool *opened; /* shared with the holders: which of them have opened their address space; NULL: no holder was started yet */
	int kill_event; /* an eventfd that tells the holders of the kill */
	pid_t oom_forcer; /* v1: a process that takes the rest of the memory of the run; 0: none */
	uint64_t oom_forcer_ns; /* when the last such process began; 0: there was none */
	uint64_t oom_forced_ns; /* how long all earlier such processes ran together */
};

/* How the end of a killed run proceeds (kill.c). */
struct end_progress {
	uint64_t cpu_usec; /* CPU time of the run at the last check */
	uint64_t seen_ns; /* when a check last found that the CPU time had grown, or when the run was killed */
	uint64_t reported_ns; /* when the client was last sent an ENDING, or when the run was killed */
};

/* Page tables of the run at the last search, in bytes of tables (limits.c). */
struct page_tables {
	uint64_t walk_bytes; /* those of the process whose walk takes longest; tables of shared memory count SHARED_WALK times */
	uint64_t exit_bytes; /* those of all processes that map pages, counted PAGE_END times: the work of the kernel at their end */
	uint64_t kernel_bytes; /* all kernel memory of the run */
	uint64_t search_at; /* the earliest time of the next search */
	uint64_t urgent_search_at; /* the earliest time of the next search if the page tables may exceed the bound */
};

/* Whether the run holds the kernel's lock for renames (rename-lock.c). */
struct lock_checks {
	uint64_t cpu_usec, cpu_read_ns; /* the CPU time of the run at its last reading, and when that was */
	uint64_t count_files_at; /* when the files of its box are counted next */
	bool deep; /* whether the box had enough files for a deep directory when they were last counted */
	int suspected_checks; /* for how many more checks the last slow one is remembered */
	int calm_checks; /* checks in a row that were not slow */
	uint64_t freeze_ns; /* the length of the last freeze; 0: the next one is the first, or comes after many calm checks */
	uint64_t random; /* the state of random_below() */
	bool frozen; /* the run is frozen until the next check */
};

/* A running program; a program that has ended, while the other processes of its run end; and a run without processes. */
enum state { RUNNING, ENDING, ENDED };

struct watch {
	struct slot *slot;
	struct run *run;
	const struct request *request; /* that of the run */
	struct outcome *o;             /* that of the run */
	struct client *client;         /* shared by both programs of a pair */
	struct pair *pair;             /* NULL: the program runs alone */
	unsigned cpus; /* CPUs that can work for the run at the same time */
	enum state state;
	uint64_t deadline[DEADLINES];
	uint64_t killed_ns; /* when the run was killed; 0: it was not */
	bool unkillable; /* the program did not end after the kill */
	bool init_lost; /* the init of the box was killed from outside */
	unsigned quick_reads; /* how many small reads are not followed by a pause, because the program has just been given input */
	uint64_t terminal_due; /* when what was read of the terminal should have been read, at the rate of pace_terminal() */
	unsigned oom_checks; /* how often check_oom() has found no kill since the last event */
	uint64_t paced_limit; /* how many bytes of a paced stream are forwarded at most: unlimited until the end of the run */
	uint64_t paused_at; /* when the sandbox was paused; 0: it is not */
	uint64_t paused_ns; /* how long it was paused during this run, until it was resumed last */

	/* Limits. */
	uint64_t cpu_budget_usec;
	uint64_t idle_cpu_usec, idle_pause_ns; /* in a sandbox: the CPU time at the last check of kernel memory, and the pause after it */
	uint64_t uncharge_by; /* until when the run is frozen at most, so that the kernel can free memory; 0: it is not frozen for that */
	uint64_t uncharge_end; /* the latest value that uncharge_by can get */
	uint64_t uncharge_bytes; /* kernel memory of the run when uncharge_by was last set */
	uint64_t memory_limit; /* the memory limit before stop_growth() lowered it; 0: it was not lowered */
	uint64_t oom_events; /* v1: how often the run was out of memory */
	struct page_tables tables;
	struct lock_checks locks;
	struct kill_helpers *kill;
	struct end_progress end;
};

/* ---- supervise.c: a run from its start to its counters ---- */

/* Adds a line to the EVIDENCE_ERRORs of the step. */
void evidence_error(struct outcome *o, const char *what, int err);
/* Reads a pipe and forwards what is within the limit. Begins a pause, DEADLINE_STDOUT or DEADLINE_STDERR, if little was read. */
void read_stream(struct watch *w, int stream);
/* Counts the bytes of a stream, and queues those within its limit. Returns how many these are. */
size_t queue_output(struct watch *w, int stream, const uint8_t *chunk, size_t size);
/* Whether the program has written more to the stream than its limit. */
bool exceeds_output_limit(const struct watch *w, int stream);
/* Notes that the client has left. The event loop then ends the programs. */
void client_left(struct client *c);
/* Gives up a killed run that does not end: reports a failure, or an error of the evidence if the program itself has ended. */
void give_up(struct watch *w);
/* Reads a file of /proc/PID as a string. Returns -1 if there is nothing to read, as for a process that has ended. */
int read_process(int proc, pid_t process, const char *file, char *text, size_t size);
/* Reads the flags in /proc/PID/stat. Returns -1 with errno if they cannot be read; errno is EBADMSG if the file is malformed. */
int task_flags(int proc, pid_t task, unsigned *flags);

/* ---- limits.c: when a limit is exceeded. Each check kills the run, or lowers its memory limit, if it exceeds the limit ---- */

/* Sets the first deadlines of limits, at the start of the program. */
void set_limits(struct watch *w);
/* Ends the deadlines of limits: the program has ended or was killed. */
void clear_limits(struct watch *w);
void check_oom(struct watch *w, uint64_t now);
void check_wall(struct watch *w, uint64_t now);
void check_cpu(struct watch *w, uint64_t now);
void check_kernel_memory(struct watch *w, uint64_t now);
/* The sandbox was paused, or resumed. No limit passes meanwhile: wall time stands still, and so do all other deadlines of limits. */
void pause_limits(struct watch *w, uint64_t now);
void resume_limits(struct watch *w, uint64_t now);
/* Records a sample of what the run uses; it checks no limit. */
void take_sample(struct watch *w, uint64_t now);
/* Returns how often the group has been out of memory so far. Only for v1. */
uint64_t count_oom_events(struct watch *w);

/* ---- kill.c: ends a run soon ---- */

/* Kills a run whose program has not ended, and records the reason; the first reason stays. */
void kill_for(struct watch *w, enum kill_reason reason);
/* Kills the run, after a last search for address spaces to hold. */
void kill_processes(struct watch *w);
/* Lets killed processes that exit use idle CPUs, and starts helpers, which end long system calls of the other killed processes. */
void help_killed_processes(struct watch *w);
/* Looks whether the killed run uses CPU time. As long as it does, this sends ENDING to the client; otherwise, it gives up at last. */
void check_progress(struct watch *w, uint64_t now);
/* Ends all processes that kill.c has started for the run. */
void end_helpers(struct watch *w);
/* Stops or continues all processes of the run. */
void set_frozen(struct watch *w, bool frozen);
/* Lowers the memory limit of the run to little more than it uses, so that the OOM killer ends it if it needs more. */
void stop_growth(struct watch *w);
/* Makes the kernel end the run as out of memory. Does not wait for the end; call it again as long as the run has not ended. */
void force_oom(struct watch *w);
/* Measures page tables, and starts holders for the address spaces that other processes can be reading when the run is killed. */
void search_page_tables(struct watch *w);

/* ---- rename-lock.c: freezes a run that holds a lock which the whole machine needs ---- */

/* Sets the time of the first check, at the start of the program. */
void plan_lock_checks(struct watch *w);
/* Checks whether the run holds the lock, and freezes or continues it. */
void check_locks(struct watch *w, uint64_t now);

/* ---- pair.c: two programs that talk to each other ---- */

struct relay;
struct pair {
	struct watch *watch; /* of the program and of its interactor */
	struct relay *relay; /* by the side that writes */
	int turn, first_ended;
	uint64_t attributed_until; /* the time up to which work_ns is counted */
	uint64_t work_ns[PROGRAMS_MAX]; /* how long each side has been at work */
};

/* Makes the two elements of `w` a pair, before their start. */
void pair_programs(struct pair *p, struct watch *w);
/* Begins to count, after the start of both. */
void begin_turns(struct pair *p);
/* Passes the output of a side on, up to its limit. At the end of the output, or beyond the limit, the other's input ends. */
void relay_output(struct watch *w, bool readable);
/* Whether output of this side waits until the other side takes what its pipe contains. */
bool relay_is_pending(const struct watch *w);
/* Whether input for this side waits until it takes what its pipe contains. */
bool relayed_input_is_pending(const struct watch *w);
void check_turn(struct watch *w, uint64_t now);
/* Kills a side that exceeds its limit of wall time, and records which side was killed first. */
void check_sides(struct pair *p);
/* Records that the program of a side has ended. */
void record_end(struct watch *w);
/* Passes on what a side has left, after its last process has ended. */
void relay_rest(struct watch *w);
/* Adds to both outcomes what only pairs have. */
void report_pair(const struct pair *p);

#endif
