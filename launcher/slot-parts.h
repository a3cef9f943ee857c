#ifndef ASSAY_SLOT_PARTS_H
#define ASSAY_SLOT_PARTS_H

#include "box.h"
#include "wire.h"

/* What slot.c, slot-wire.c and slot-park.c share, and no other file needs. */

struct service {
	struct slot slot;
	int connection;
	struct queue out;
	uint8_t *body; /* the frame being served */
	struct box parked;
	bool parked_on_work;   /* the parked box holds the work directory of the step before */
	bool work_used;        /* a payload has had the mounted work directory */
	unsigned steps_on_work; /* that have had this work directory, and the one that is next */
	struct shape work;     /* what the mounted work directory was made for */
	struct shape fresh, following; /* last shapes seen: of first steps, of steps that keep the work */
	bool dirty;
};

/* Set by SIGTERM; waits end with it. */
extern volatile int slot_stopping;

/* Sends all that is queued. -1 when the client is gone or reads nothing, or on a stop. */
int flush_all(struct service *v);
/* Waits for the next STEP. Its bytes point into `v->body`, which the caller frees. -1 when there is none to be served. */
int next_request(struct service *v, struct request *r);
void say_hello(struct service *v);
void say_failed(struct service *v, const struct failure *f);
void say_torn(struct service *v, const struct teardown *t);

void discard_parked(struct service *v);
/* Parks a box on a fresh work directory. */
int park_fresh(struct service *v, const struct shape *shape, struct failure *f);
/* Makes the parked box one that the request can be run in. */
int fit_box(struct service *v, const struct request *r, struct failure *f);
/* Of a struct service, while the first step runs: parks the box of the second. A failure shows when that box is asked for. */
void prepare_following(void *context);
/* Removes the work directory and the box that is parked on it. */
void abandon_work(struct service *v);

#endif
