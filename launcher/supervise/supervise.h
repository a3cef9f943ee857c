#ifndef ASSAY_SUPERVISE_H
#define ASSAY_SUPERVISE_H

#include "run/run.h"

enum { PROGRAMS_MAX = 2 }; /* programs that are supervised together: a pair */

/* The INPUT, SIGNAL or RESIZE frame that is being received on a connection. The end of a run can come between two parts of a frame. */
struct input {
	uint8_t header[FRAME_HEADER], body[INPUT_MAX];
	size_t received;   /* bytes of the frame that have arrived, with its header */
	size_t begin, end; /* the part of the body that has not been written to the program */
	unsigned signal;   /* a signal that waits for the exec; 0: none */
};

enum { HOLDER_PAUSED = 1, HOLDER_RESUMED, HOLDER_STAY, HOLDER_ENDS };

/* The client whose step is supervised. */
struct client {
	int connection;                  /* -1: there is none, or the client has left */
	int holder;                      /* in a sandbox: the connection to its holder; otherwise -1 */
	/*
	 * Reads a message of the holder. Returns 0, HOLDER_PAUSED or HOLDER_RESUMED, or -1 if the sandbox ends. After on_left(), HOLDER_STAY says that the
	 * step goes on without a client, its output being discarded, and HOLDER_ENDS that it does not.
	 */
	int (*on_holder)(void *context, int holder);
	void (*on_left)(void *context);  /* called once if the client closes its connection; NULL: the step ends with its client */
	bool stays;                      /* the step goes on without a client */
	bool left;                       /* the client has left, so the programs are ended */
	struct queue *out;               /* frames for the client, with those of the first program */
	struct input *input;             /* of a step with LIVE_STDIN; otherwise NULL */
	const volatile int *stopping;    /* a signal handler can set it, which ends the programs as well */
	void (*on_start)(void *context); /* called once, right after the start; NULL: nothing is called */
	void *context;
	bool sending;                    /* the queue is being sent, as fast as the client takes it */
};

/*
 * Starts parked programs and supervises them to their end: forwards output as frames (output beyond the limits is read and
 * discarded), enforces deadlines, and reads the counters when all processes of the runs are dead. There are one or two runs, each
 * with its request and its queue. Two have piped inputs: each reads the output of the other, up to the limit of that output, and for its
 * limit of wall time, only the time counts in which it is at work. The first is then the program, the second the interactor.
 */
void supervise(struct slot *s, struct run *run[], int runs, struct client *client);

/* Returns how many bytes are missing from the header or, if it is complete, from the body; `to` receives where they go. */
size_t input_missing(struct input *in, uint8_t **to);
/* Whether what has been received can be the beginning of an INPUT, SIGNAL or RESIZE frame. */
bool input_valid(const struct input *in);
/* Whether the whole frame has been received. */
bool input_complete(const struct input *in);

/*
 * Checks whether a sandbox holds the lock for renames although no slot watches all of its processes, and freezes it for a time or continues it.
 * `leaf` is the group of the sandbox. Returns when the next check is due (left.c).
 */
uint64_t left_check_locks(struct slot *s, const struct box *b, struct leaf *leaf);
/* Ends these checks. If the sandbox is frozen for one, it continues, unless it is to stay `frozen` for another reason. */
void left_end_checks(bool frozen);
/*
 * Returns the product of page tables and tasks that is bounded for a step (WALKABLE_BYTES), for these processes with `tasks` tasks together
 * (kill.c).
 */
uint64_t walkable_bytes_of(int proc, const pid_t *process, int processes, uint64_t tasks);

/* Measures how many nanoseconds a look-up of a file name takes if it waits for nothing (rename-lock.c). */
uint64_t baseline_lookup_ns(int proc);

#endif
