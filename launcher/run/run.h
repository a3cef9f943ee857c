#ifndef ASSAY_RUN_H
#define ASSAY_RUN_H

#include "box/box.h"
#include "run/samples.h"
#include "wire/wire.h"

/*
 * Sizes of pipes. The slot sends a signal only after it has written all input that the client sent before the signal. The pipe of
 * live input must therefore have space for all input of a run, 256 KiB, even if pieces of it each leave half of a page unused.
 */
enum { PIPE_BYTES = 256 * 1024, INPUT_PIPE_BYTES = 2 * PIPE_BYTES };
/* In a sandbox, the slot tells the client when input was taken, so the pipe may be small. */
enum { SANDBOX_INPUT_PIPE_BYTES = 64 * 1024 };

enum control {
#define CONTROL(name) CONTROL_##name,
#define SANDBOX_CONTROL(name) CONTROL(name)
#include "controls.def"
#undef CONTROL
#undef SANDBOX_CONTROL
	CONTROL_COUNT
};

enum kill_reason { KILL_NONE, KILL_WALL, KILL_CPU, KILL_OOM, KILL_CLIENT };

/* Everything known about a run after its end. */
struct outcome {
	struct failure failure;  /* a failure of the platform: if there is one (`failure.step`), the step has no result */
	bool exited;
	int code;   /* the exit code, or the signal if the program did not exit */
	enum kill_reason reason; /* recorded before the kill; the first reason stays */
	uint64_t wall_ns;        /* from the exec, or the step of a runtime, to the end of the program */
	uint64_t ended_ns;       /* the time at which the program ended */
	bool paired;             /* the program ran with another one; only then the next three fields have a meaning */
	bool ended_first;        /* the program ended, or was killed, before the other one */
	bool exceeded_first;     /* its output exceeded its limit, while the other program ran and had not exceeded its own limit */
	uint64_t waited_ns;      /* the part of wall_ns in which the program was not at work (supervise/pair.c) */
	uint64_t output_bytes[2]; /* bytes of stdout and stderr, forwarded or not */
	uint64_t last_output_ns; /* the time of the last output; 0: there was none */
	bool read_error;         /* a pipe could not be read to its end */
	uint64_t processes_left; /* in a sandbox: processes and threads that run on after the step */
	uint64_t survivors;      /* processes and threads of the run that were left when the program ended by itself */
	uint64_t kernel_bytes;   /* the largest reading of the kernel memory of the run */
	uint64_t walkable_bytes; /* the largest product of page tables and tasks that was read in the run (supervise/limits.c) */
	uint64_t kept_bytes;     /* files that the previous step left in /box */
	uint64_t end_ns;         /* from the kill, or the end of the program, to the end of the last process */
	uint64_t fact[FACT_COUNT];
	bool known[FACT_COUNT];
	uint64_t file_size_signals, cpu_time_signals;
	struct samples samples;
	unsigned sent_signal;    /* the last signal of a SIGNAL frame that the program was sent; 0: none */
	struct rlimit rlimit[RLIM_NLIMITS];
	char error[8][160];
	unsigned errors;
};

/*
 * A run: one program in a box, with the cgroups that count what it uses, its pipes, its limits and its outcome. The program is parked
 * first: it waits, in its cgroups, unprivileged, without capabilities, with no_new_privs and seccomp, for the start signal.
 */
struct run {
	bool built;
	struct box *box;  /* in which the program runs */
	struct run_lane *lane;
	struct leaf *leaf;           /* that of the run lane */
	struct exec_args *exec_args; /* that of the run lane */
	pid_t program;
	int program_fd;              /* pidfd */
	int go, ready;               /* eventfds */
	int stdin_fd, out_fd, err_fd; /* memfd of the input, which the program gets sealed, or in a sandbox a copy of it; read ends of pipes */
	int input_pipe; /* in a sandbox, the pipe of live input as a place (O_PATH), which keeps neither end open; otherwise -1 */
	int in_fd; /* write end of the pipe that a program with piped input reads in place of stdin_fd; otherwise -1 */
	bool reaped; /* the program has been reaped */
	bool runtime; /* the program is a runtime that has started and waits for its step */
	const char *control[CONTROL_COUNT]; /* "": the control holds; NULL: it was not read; otherwise the reason why it is missing */
	uint64_t base_cpu_usec, base_full_usec, base_some_usec; /* counters at the start of the step: see read_baseline() */
	/*
	 * Values that the leaf had before this run, which run_read() subtracts: in a sandbox, a leaf serves one execution after the other, and
	 * files of earlier ones stay charged to it. Otherwise all are 0.
	 */
	uint64_t base[FACT_COUNT];
	bool leaf_unfit; /* the leaf must serve no further run, because its peak cannot be reset */
	uint64_t earlier_peak; /* the peak of memory that the leaf had before this run, if it cannot begin anew; otherwise 0 */
	uint64_t earlier_pids_peak; /* the peak of processes that the leaf had before this run */
	bool terminal; /* out_fd and in_fd are the terminal of the program */
	bool leaves; /* processes that outlive the program stay (LEAVE_PROCESSES) */
	int base_errno; /* the errno if one of these counters could not be read; otherwise 0 */
	const struct request *request; /* what the program executes, and its limits; set before run_prepare() */
	struct queue *out;             /* where the output is queued; set before run_start() */
	uint64_t start_ns;             /* when the start signal was sent */
	struct outcome outcome;
};

/* ---- run.c: from the parked program to its last process ---- */

/*
 * Parks a program in a box, and reads back which controls hold. If `piped`, the standard input of the program is a pipe from the slot.
 * Returns -1 with the failure, after which the caller ends and destroys what was built.
 */
int run_build(struct slot *s, struct run *run, struct box *b, bool piped, struct failure *f);
/* The standard input of a program: a file without content, a file, or a pipe from the slot. */
enum run_input { INPUT_EMPTY, INPUT_FILE, INPUT_PIPED };
/* The size of a terminal. */
struct terminal_size {
	uint16_t rows, columns;
};
/*
 * Parks a program in a sandbox, in the leaf whose name the run lane has. It has a terminal if `size` is not NULL, and otherwise an `input`. Apart from that, the
 * same holds as for run_build().
 */
int run_build_attached(struct slot *s, struct run *run, struct box *b, enum run_input input, const struct terminal_size *size, struct failure *f);
/* Gives the terminal of the run another size. */
void run_resize(const struct run *run, struct terminal_size size);
/* Kills all processes of the run, and does not wait for their end. */
void run_kill(struct run *run);
/* Kills all processes of the run, and reaps its program. */
void run_end(struct run *run, struct teardown *t);
/*
 * Frees the run lane and the pipes of a run that has ended, and lists what is left of its groups. Call it after box_destroy(), because the
 * files of the box are charged to the run.
 */
void run_destroy(const struct slot *s, struct run *run, struct teardown *t);

/* Builds a box and, in it, its only run. Returns -1 with the failure, after which nothing is left to destroy. */
int build_box_and_run(struct slot *s, struct box *b, struct run *run, const struct shape *shape, bool piped, struct failure *f);
/* Ends and destroys both, and lists everything that could not be removed. */
void remove_box_and_run(struct slot *s, struct box *b, struct run *run, struct teardown *t);

/*
 * Starts the runtime of a PARK in a parked program, and returns when it waits for its step. The runtime has the limits of the step. Its
 * CPU time and wall time before the step are not counted, nor is its memory peak, where the kernel can reset that (leaf_reset_peak()).
 * Returns -1 with the failure, after which the run must be destroyed.
 */
int run_start_runtime(const struct slot *s, struct run *run, const struct request *r, struct failure *f);
/* Whether the runtime is alive, has written nothing, and has reached no limit whose counter would be evidence of the step. */
bool run_waits(const struct run *run);
/* Passes the request to the parked program, and sets the limits of its groups. */
int run_prepare(struct run *run, struct failure *f);
/* Sends the start signal. */
int run_start(struct run *run, struct failure *f);

/* Reads a fact of the run, without what the leaf had before it. Returns -1 with errno on failure, like leaf_read(). */
static inline int run_read(const struct run *run, enum fact fact, uint64_t *value)
{
	if (leaf_read(run->box->groups, run->leaf, fact, value) < 0)
		return -1;
	if (*value != UINT64_MAX)
		*value -= *value < run->base[fact] ? *value : run->base[fact];
	return 0;
}

/* ---- controls.c ---- */

/*
 * Records the namespaces of the slot, and how many filters it has before its own, for comparison in controls_read(). Returns -1 if
 * these cannot be read.
 */
int controls_prepare(struct slot *s);
/* Reads from /proc which controls hold for the parked program. */
void controls_read(const struct slot *s, struct run *run);
/* Records that a control holds (`why_missing` is NULL), or why it is missing. */
void control_note(struct run *run, enum control control, const char *why_missing);
bool control_applied(const struct run *run, enum control control);
/* Whether all controls hold. */
bool controls_applied(const struct run *run);
extern const char *const control_name[CONTROL_COUNT];
/* Whether a run of this kind has the control. */
bool control_belongs(const struct run *run, enum control control);
/* The name of the control in reports about this run, which is another one in a sandbox (controls.def). */
const char *control_name_of(const struct run *run, enum control control);

/* ---- report.c ---- */

/* Queues the ENDED frame of a step. */
void outcome_report(const struct run *run, struct queue *out);

#endif
