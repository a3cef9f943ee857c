#ifndef ASSAY_SUPERVISE_H
#define ASSAY_SUPERVISE_H

#include "box/box.h"
#include "supervise/samples.h"
#include "wire/wire.h"

enum kill_reason { KILL_NONE, KILL_WALL, KILL_CPU, KILL_OOM, KILL_CLIENT };

/* The INPUT or SIGNAL frame that is being received on a connection. The end of a run can come between two parts of a frame. */
struct input {
	uint8_t header[FRAME_HEADER], body[INPUT_MAX];
	size_t received;   /* bytes of the frame that have arrived, with its header */
	size_t begin, end; /* the part of the body that has not been written to the program */
	unsigned signal;   /* a signal that waits for the exec; 0: none */
};

/* Everything known about a step after its end. */
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
	uint64_t waited_ns;      /* the part of wall_ns in which the program was not at work (pair.c) */
	uint64_t output_bytes[2]; /* bytes of stdout and stderr, forwarded or not */
	uint64_t last_output_ns; /* the time of the last output; 0: there was none */
	bool read_error;         /* a pipe could not be read to its end */
	uint64_t survivors;      /* processes and threads of the box that were left when the program ended by itself */
	uint64_t kernel_bytes;   /* the most kernel memory of the box that was read in the run */
	uint64_t walkable_bytes; /* the largest product of page tables and tasks that was read in the run (limits.c) */
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
 * Starts the parked program and supervises it to its end: forwards output as frames (output beyond the limits is read and
 * discarded), enforces deadlines, and reads the counters when all processes of the box are dead. `on_start` (may
 * be NULL) is called once with `context`, right after the start. `input` is for a step with LIVE_STDIN, otherwise NULL. A signal
 * handler can set `stopping`, which ends the program.
 */
void supervise(struct slot *s, struct box *b, const struct request *r, struct queue *out, int connection, struct input *input,
	       const volatile int *stopping, void (*on_start)(void *), void *context, struct outcome *o);

/*
 * Supervises two programs with piped inputs: each reads the output of the other, up to the limit of that output. For its limit of
 * wall time, only the time counts in which a program is at work. All arrays have the program first and then the interactor.
 */
void supervise_pair(struct slot *s, struct box *b[2], const struct request *r[2], struct queue *out[2], int connection,
		    const volatile int *stopping, struct outcome *o[2]);

/*
 * Starts the runtime of a PARK in a parked box, and returns when it waits for its step. The runtime has the limits of the step. Its CPU
 * time and wall time before the step are not counted, nor is its memory peak, where the kernel can reset that (leaf_reset_peak()).
 * Returns -1 with the failure, after which the box must be destroyed.
 */
int start_runtime(const struct slot *s, struct box *b, const struct request *r, struct failure *f);
/* Whether the runtime in this box is alive, has written nothing, and has reached no limit whose counter would be evidence of the step. */
bool runtime_waits(const struct slot *s, const struct box *b);

/* Returns how many bytes are missing from the header or, if it is complete, from the body; `to` receives where they go. */
size_t input_missing(struct input *in, uint8_t **to);
/* Whether what has been received can be the beginning of an INPUT or SIGNAL frame. */
bool input_valid(const struct input *in);
/* Whether the whole frame has been received. */
bool input_complete(const struct input *in);

/* Queues the ENDED frame of a step. */
void outcome_report(const struct outcome *o, const struct box *b, struct queue *out);

/* Measures how many nanoseconds a look-up of a file name takes if it waits for nothing (rename-lock.c). */
uint64_t baseline_lookup_ns(int proc);

#endif
