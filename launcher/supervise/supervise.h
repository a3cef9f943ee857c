#ifndef ASSAY_SUPERVISE_H
#define ASSAY_SUPERVISE_H

#include "box/box.h"
#include "supervise/samples.h"
#include "wire/wire.h"

enum kill_reason { KILL_NONE, KILL_WALL, KILL_CPU, KILL_OOM, KILL_CLIENT };

/* The INPUT or SIGNAL frame that is being received on a connection: its parts may arrive in two runs. */
struct input {
	uint8_t header[FRAME_HEADER], body[INPUT_MAX];
	size_t received;   /* bytes of the frame that have arrived, with its header */
	size_t begin, end; /* the part of the body that the program has not taken */
	unsigned signal;   /* a signal that waits for the exec; 0: none */
};

/* Everything known about a step after its end. */
struct outcome {
	struct failure failure;
	bool exited;
	int code;   /* exit code, or the signal if it did not exit */
	enum kill_reason reason; /* recorded before the kill; the first reason stays */
	uint64_t wall_ns, ended_ns;
	bool paired;             /* it ran with another program; only then the next three count */
	bool ended_first;        /* it ended, or was killed, before the other */
	bool exceeded_first;     /* its output exceeded its limit while the other ran and was within its own */
	uint64_t waited_ns;      /* the part of wall_ns in which the other was at work */
	uint64_t output_bytes[2]; /* bytes of stdout and stderr, forwarded or not */
	uint64_t last_output_ns; /* 0: there was no output */
	bool read_error;
	uint64_t survivors;
	uint64_t kernel_bytes;   /* largest reading of the run */
	uint64_t walkable_bytes; /* largest reading of the run (limits.c) */
	uint64_t kept_bytes;     /* files that the previous step left in /box */
	uint64_t end_ns;         /* from the kill, or the end of the program, to the end of the last process */
	uint64_t fact[FACT_COUNT];
	bool known[FACT_COUNT];
	uint64_t file_size_signals, cpu_time_signals;
	struct samples samples;
	unsigned sent_signal;    /* the last signal that the client sent; 0: none */
	struct rlimit rlimit[RLIM_NLIMITS];
	char error[8][160];
	unsigned errors;
};

/*
 * Starts the parked program and supervises it to its end: forwards output as frames (beyond the limits it is read and
 * discarded), enforces deadlines, and reads the counters when every process except the init is dead. `on_start` (may
 * be NULL) is called once, right after the start. `input` is for a step with LIVE_STDIN, otherwise NULL.
 */
void supervise(struct slot *s, struct box *b, const struct request *r, struct queue *out, int connection, struct input *input,
	       const volatile int *stopping, void (*on_start)(void *), void *context, struct outcome *o);

/*
 * Supervises two programs with piped inputs: each reads the output of the other, up to the limit of that output. The limit
 * of wall time of each counts only while it is at work. The output of the second goes to another queue.
 */
void supervise_pair(struct slot *s, struct box *b[2], const struct request *r[2], struct queue *out[2], int connection,
		    const volatile int *stopping, struct outcome *o[2]);

/*
 * Starts the runtime of a PARK in a parked box, and returns when it waits for its step. It has the limits of the step; its
 * own CPU time, memory peak and wall time are not counted. -1: the box must be destroyed.
 */
int start_runtime(const struct slot *s, struct box *b, const struct request *r, struct failure *f);
/* Whether it is alive, has written nothing, and has met no limit that would count as the step's. */
bool runtime_waits(const struct slot *s, const struct box *b);

/* Where the next bytes of the frame go, and how many are missing. */
size_t input_missing(struct input *in, uint8_t **to);
/* Whether what has been received can be the beginning of an INPUT or SIGNAL frame. */
bool input_valid(const struct input *in);
/* Whether the whole frame has been received. */
bool input_complete(const struct input *in);

/* Queues the ENDED frame. */
void outcome_report(const struct outcome *o, const struct box *b, struct queue *out);

/* The time of a look-up of a file name that waits for nothing (rename-lock.c). */
uint64_t baseline_lookup_ns(int proc);

#endif
