#ifndef ASSAY_SUPERVISE_PARTS_H
#define ASSAY_SUPERVISE_PARTS_H

#include "supervise.h"

/* Shared by the supervise*.c files only. */

enum {
	READ_AT_ONCE = 64 * 1024,
	READS_PER_ROUND = 8, /* then the deadlines are checked again */
	/* The end can take 2 s of CPU time; on a busy CPU that must not count as a failure of the platform. */
	END_TIMEOUT_MS = 15000,
	HURRY_MS = 10, /* after a kill, the processes that are left are looked at so often */
	HELPERS_MAX = 128,
	HOLDERS_MAX = 128,
};

/* The address space of a program that a process executed. */
struct space {
	pid_t task; /* the process, or the first of its threads that has not ended */
	uint64_t started, stack;
};

/* supervise-hurry.c */
struct holder {
	struct space space;
	pid_t process; /* 0: it has ended, because the address space is gone or another one holds it */
	bool used;
	bool seen; /* by the search that is under way */
};

/* supervise-locks.c */
struct lock_checks {
	uint64_t at; /* the next check */
	uint64_t cpu_usec, asked_ns; /* CPU time of the box when it was last read, and that time */
	uint64_t count_at; /* when its files are counted next */
	bool deep; /* whether it had enough of them for a deep directory */
	int suspected_checks; /* checks for which a slow one is remembered */
	int calm_checks; /* checks in a row that were not slow */
	uint64_t pause_ns; /* the last freeze */
	uint64_t random;
	bool frozen; /* until the next check */
};

struct watch {
	struct slot *slot;
	struct box *box;
	const struct request *request;
	struct queue *out;
	struct outcome *o;
	int connection;
	struct input *input; /* NULL: not LIVE_STDIN */
	uint64_t start_ns, quiet_until, wall_deadline, cpu_check, kernel_check, cpu_budget_usec, killed_ns;
	unsigned cpus; /* CPUs that can work for the box at the same time */
	uint64_t settled_by;   /* end of the time for which the box is frozen to free kernel memory; 0: not frozen */
	uint64_t settle_end, settle_bytes; /* the latest such end; use when it was last extended */
	uint64_t memory_limit; /* limit before kernel memory caused it to be lowered; 0: not lowered */
	uint64_t oom_events; /* v1: count of OOM events */
	/* When this stream, which was just read, is read next; 0: when data arrives. */
	uint64_t paused_until[2];
	uint64_t held_until; /* when queued output is sent; 0: none is queued */
	bool unkillable; /* the program did not end after the kill */
	bool lost;       /* its init was ended from outside */
	struct lock_checks locks;
	uint64_t hurried_ns;
	int helpers;
	pid_t releaser; /* 0: none */
	uint64_t release_ns; /* when it began */
	pid_t helper[HELPERS_MAX], helped[HELPERS_MAX];
	uint64_t search_at; /* the earliest time of the next search for address spaces to hold */
	uint64_t hurried_search_at; /* that of one for page tables that may exceed the bound */
	uint64_t table_bytes; /* page tables of the process whose walk costs most, at the last search; shared ones count several times */
	uint64_t end_bytes; /* what the end of all processes costs, in such bytes */
	uint64_t searched_bytes; /* all kernel memory then */
	struct holder holder[HOLDERS_MAX];
	bool *opened; /* shared with the holders: which of them have opened their address space; NULL: there is none yet */
	int end_event;
	pid_t exhauster; /* v1: takes the rest of the memory of the box; 0: none */
	uint64_t exhaust_ns; /* when it began */
	uint64_t exhausted_ns; /* the time of those that have ended */
};

/* Stops or continues all programs of the box. */
void set_frozen(struct watch *w, bool frozen);

void evidence_error(struct outcome *o, const char *what, int err);

/* v1: number of times that the group was out of memory so far. */
uint64_t count_oom_events(struct watch *w);

struct watch new_watch(struct slot *s, struct box *b, const struct request *r, struct queue *out, int connection, struct outcome *o);
/* Passes the request to the parked program, and sets its limits. */
int prepare_program(struct watch *w, struct failure *f);
/* Binds this program, or this one and the next, to the CPUs of the first request. */
int bind_programs(struct watch *w, int programs, struct failure *f);
int start_program(struct watch *w, struct failure *f);
/* Reaps a program that has ended, and ends all others of its box. */
void end_program(struct watch *w);
/* Then: reads the rest of its output, and the counters. */
void read_rest(struct watch *w);

/* Whether its pipe is empty and one of its tasks waits for input while no other runs. */
bool waits_for_input(const struct watch *w);

/* Sets the first deadlines after the start. */
void set_deadlines(struct watch *w);
/* Kills the box if a limit is exceeded. */
void check_deadlines(struct watch *w);
/* The time of the next check. */
uint64_t next_check(const struct watch *w, bool quiet);
struct timespec time_until(uint64_t deadline);
/* Sets the time of the first sample; the latest time of the next one; takes it if it is due. */
void plan_samples(struct watch *w);
uint64_t next_sample(const struct watch *w);
void sample_if_due(struct watch *w, uint64_t now);
/*
 * Called every HURRY_MS after a kill. Processes that exit may use idle CPUs; long system calls of the others are ended by
 * helpers, which end_helpers ends.
 */
void hurry_end(struct watch *w);
/*
 * Called while the box runs, with its kernel memory: starts holders for the address spaces that others can be reading when
 * it is killed, and bounds the page tables that its tasks can walk.
 */
void check_page_tables(struct watch *w, uint64_t kernel_bytes);
/* Sets the first check; freezes the box for a time if it holds a lock that the whole machine needs. */
void plan_lock_checks(struct watch *w);
void check_locks(struct watch *w, uint64_t now);
/* Kills the box, after a last search for address spaces to hold. */
void kill_box(struct watch *w);
/* Ends helpers and holders. */
void end_helpers(struct watch *w);
/* Lowers the memory limit of the box to what it has, so that it ends if it needs more. */
void stop_growth(struct watch *w);
/* Lets the kernel end the box as out of memory. Does not wait for it. */
void exhaust_memory(struct watch *w);
/* Kills the box and records the reason; the first reason stays. */
void kill_for(struct watch *w, enum kill_reason reason);

/* Reads one pipe, at most that many times; false at its end. */
bool forward_output(struct watch *w, int *fd, int stream, int rounds);
/* The same when there is data, but pauses after small amounts. */
void read_if_due(struct watch *w, int *fd, int stream, bool readable);
/* Counts the bytes, and queues them up to the limit. Returns the number within the limit. */
size_t queue_output(struct watch *w, int stream, const uint8_t *chunk, size_t size);
/* Whether the rest of the stream is counted and discarded; whether some of it was. */
bool past_output_limit(const struct watch *w, int stream);
bool exceeds_output_limit(const struct watch *w, int stream);
/* Reads the rest of both pipes after the death of every writer. */
void drain_pipes(struct watch *w);

/* Whether the program has not taken all of the last frame. */
bool input_holds(const struct input *in);
void input_pass(struct watch *w);
/* Sends a signal that waits for the exec, if it has come. */
void input_signal(struct watch *w);
/* Reads and serves frames without blocking. -1 if the client has left, or sent another frame. */
int input_read(struct watch *w);

/* Reaps the program, and records how it ended and its progress before the exec. */
void reap_program(struct watch *w);
/* Reads a file of /proc/PID as a string. -1 if there is nothing to read, as of a process that has ended. */
int read_process(int proc, pid_t process, const char *file, char *text, size_t size);
/* Reads the flags of /proc/PID/stat. */
int task_flags(int proc, pid_t task, unsigned *flags);
/* Whether the init of the box was killed from outside. */
bool init_is_exiting(const struct watch *w);
/* Kills the processes that outlived the program, and waits for the end of all. */
void kill_survivors(struct watch *w);
/* Reads the final counters. */
void read_counters(struct watch *w);

#endif
