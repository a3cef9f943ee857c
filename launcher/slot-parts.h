#ifndef ASSAY_SLOT_PARTS_H
#define ASSAY_SLOT_PARTS_H

#include "box.h"
#include "supervise.h"
#include "wire.h"

/* Shared by slot*.c only. */

/* A box that waits for a step. */
struct parked {
	struct box box;
	/* The request for which its runtime has started, and the frame that it points into; NULL: there is no runtime. */
	struct request *request;
	struct area body;
	uint64_t since_ns; /* start of its runtime */
};

/* A larger body is freed after its step. */
enum { BODY_KEPT = 64 * 1024 };

/* Files for later steps: their bytes, and the files in them. */
struct kept {
	struct area area;
	unsigned files;
	struct bytes name[FILES_MAX], data[FILES_MAX], modes;
};

struct service {
	struct slot slot;
	int connection;
	struct queue out;
	struct area body; /* of the frame being served */
	struct request *peer; /* the PEER for the next STEP, and the frame that it points into; otherwise NULL */
	struct area peer_body;
	struct kept kept[KEPT_PLACES];
	struct request request;     /* the one being served */
	struct outcome outcome[2];  /* of the step, and of its peer */
	struct teardown teardown[2];
	struct input input;
	struct parked fresh;     /* waits for a step on a new work directory */
	struct parked following; /* waits for the step after that, on the same work directory */
	bool work_used;          /* a payload has used the work directory */
	unsigned steps_on_work;  /* steps that have used this work directory, plus the next one */
	struct shape work;       /* sizes of the work directory */
	struct shape last_fresh, last_following; /* last shapes seen: of first steps; of steps with KEEP_WORK */
	bool dirty;
};

/* Set by SIGTERM; ends every wait. */
extern volatile int slot_stopping;

/* Sends the whole queue. -1 if the client has disconnected or does not read, or after SIGTERM. */
int flush_all(struct service *v);
/*
 * Waits for the next STEP, with a PEER before it if there is one, or PARK. Its bytes point into `v->body`, which the caller
 * frees. -1 if there is none to serve.
 */
int next_request(struct service *v, enum frame *frame, struct request *r);
void forget_peer(struct service *v);
void send_hello(struct service *v);
void send_failed(struct service *v, const struct failure *f);
void send_parked(struct service *v, const struct parked *p);
void send_teardown(struct queue *out, const struct teardown *t);

/* Queues FILE frames with the files of a work directory, or of this directory in it, all or none (slot-collect.c). */
void send_files(struct queue *out, int work, const char *path);

/* Serves KEEP_FILES: keeps the files of the step, or gives it those that are kept. Returns NULL or why it cannot (slot-kept.c). */
const char *kept_files(struct service *v, struct request *r);

void discard(struct service *v, struct parked *p);
/* Parks a box on a new work directory. */
int park_fresh(struct service *v, const struct shape *shape, struct failure *f);
/* Returns the parked box that fits the step, with its runtime if that was started for such a step. NULL with the failure. */
struct parked *fit_box(struct service *v, const struct request *r, struct failure *f);
/*
 * Builds the boxes of a step and its peer with piped inputs, and writes their files. /box is then that of the peer. On
 * failure, the caller destroys those that are built.
 */
int build_pair(struct service *v, const struct request *r[2], struct box box[2], struct failure *f);
int write_files(struct service *v, const struct request *r, const struct box *b, struct failure *f);
/* Serves a PARK: parks a box that fits, and starts its runtime. NULL with the failure, after which a box may be missing. */
struct parked *park_for(struct service *v, const struct request *r, struct failure *f);
/*
 * Takes a struct service. Called while a first step runs: parks the box of the second, unless a PARK has. A failure is
 * reported when that box is requested.
 */
void park_next_step(void *context);
/* Removes runtimes that use more than a step may. Returns whether any waits. */
bool check_parked(struct service *v);
/* Removes the work directory and the boxes that are parked on it. */
void discard_work(struct service *v);

#endif
