/*
 * Watches what executions of a sandbox have left behind. The holder of the sandbox calls this, because no slot supervises these processes any more.
 *
 * The lock for renames (rename-lock.c) concerns the whole machine. The holder checks it for the sandbox as a whole, and so freezes the whole sandbox:
 * as long as processes are left, their leaves cannot be told from those of executions that a slot watches as well. Page tables are checked
 * for each leaf.
 */
#define _GNU_SOURCE
#include "clock.h"
#include "supervise/watch.h"
#include "unforked-memory.h"

/* A sandbox as a run: its leaf is the group of the sandbox. */
struct whole {
	struct box box;
	struct run run;
	struct watch watch;
	struct kill_helpers helpers; /* stays empty: nothing is killed here */
	bool watched;
};

static struct whole *whole(void)
{
	static struct area area;
	return area_of(&area, sizeof(struct whole));
}

uint64_t left_check_locks(struct slot *s, const struct box *b, struct leaf *leaf)
{
	struct whole *h = whole();
	struct watch *w = &h->watch;
	uint64_t now = now_ns();
	if (!h->watched) {
		h->box = *b;
		h->box.attached = true;
		h->run = (struct run){.box = &h->box, .leaf = leaf, .start_ns = now};
		*w = (struct watch){.slot = s, .run = &h->run, .o = &h->run.outcome, .kill = &h->helpers};
		if (run_read(&h->run, FACT_CPU_USEC, &h->run.base_cpu_usec) < 0)
			h->run.base_cpu_usec = 0;
		plan_lock_checks(w);
		h->watched = true;
	}
	if (now >= w->deadline[DEADLINE_LOCKS]) {
		check_locks(w, now);
		w->o->errors = 0; /* the next check tries again what has failed */
	}
	return w->deadline[DEADLINE_LOCKS];
}

void left_end_checks(bool frozen)
{
	struct whole *h = whole();
	if (h->watched && h->watch.locks.frozen && !frozen)
		set_frozen(&h->watch, false);
	h->watched = false;
}
