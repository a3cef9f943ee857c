#ifndef ASSAY_SLOT_PARTS_H
#define ASSAY_SLOT_PARTS_H

#include "box.h"
#include "wire.h"

/* Shared by slot.c, slot-wire.c and slot-park.c only. */

struct service {
	struct slot slot;
	int connection;
	struct queue out;
	uint8_t *body; /* body of the STEP being served */
	struct box parked;
	bool parked_on_work;   /* the parked box was built on the work directory of the previous step */
	bool work_used;        /* a payload has used the mounted work directory */
	unsigned steps_on_work; /* steps that have used this work directory, plus the next one */
	struct shape work;     /* sizes of the mounted work directory */
	struct shape fresh, following; /* last shapes seen: of first steps; of steps with KEEP_WORK */
	bool dirty;
};

/* Set by SIGTERM; ends every wait. */
extern volatile int slot_stopping;

/* Sends the whole queue. -1 if the client has disconnected or does not read, or after SIGTERM. */
int flush_all(struct service *v);
/* Waits for the next STEP. Its bytes point into `v->body`, which the caller frees. -1 if there is none to serve. */
int next_request(struct service *v, struct request *r);
void send_hello(struct service *v);
void send_failed(struct service *v, const struct failure *f);
void send_teardown(struct service *v, const struct teardown *t);

void discard_parked(struct service *v);
/* Parks a box on a new work directory. */
int park_fresh(struct service *v, const struct shape *shape, struct failure *f);
/* Ensures that the parked box fits the request. */
int fit_box(struct service *v, const struct request *r, struct failure *f);
/*
 * Takes a struct service. Called while a first step runs: parks the box of the second. A failure is reported when that
 * box is requested.
 */
void park_next_step(void *context);
/* Removes the work directory and the box that is parked on it. */
void discard_work(struct service *v);

#endif
