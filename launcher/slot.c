/*
 * A slot: one process, one connection, one step at a time.
 *
 *   read STEP -> get a box -> write files -> supervise -> ENDED -> destroy -> TEARDOWN -> park the next box
 *
 * slot-wire.c reads requests and sends answers, slot-park.c keeps a box ready,
 * slot-resources.c holds the mounts, networks and work directory for boxes,
 * slot-collect.c reads the files that a step left, slot-kept.c keeps files for later steps.
 *
 * A slot that cannot clean up exits after its report. The launcher then sweeps,
 * and the service's next connection gets a new slot.
 */
#define _GNU_SOURCE
#include "slot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "slot-parts.h"

/* For the first box, which proves that boxes can be built. */
static const struct shape first_shape = {1 << 20, 64, 1 << 20, 64};

static void stop(int sig)
{
	(void)sig;
	slot_stopping = 1;
}

/* Whether the program exited with 0 after all its processes, so that nothing can still change its files. */
static bool exited_alone(const struct outcome *o)
{
	return !o->failure.step && o->exited && o->reason == KILL_NONE && o->survivors == 0 &&
	       o->known[FACT_PIDS_CURRENT] && o->fact[FACT_PIDS_CURRENT] == 0;
}

/* The files that the step asks for, if the program has not left them in doubt. */
static void collect_files(const struct service *v, const struct request *r, const struct outcome *o, struct queue *out)
{
	bool of_feedback = r->number[KEY_COLLECT] == 2;
	if (r->number[KEY_COLLECT] && exited_alone(o) && (of_feedback || o->code == 0))
		send_files(out, v->slot.work, of_feedback ? "feedback" : "");
}

static void forget_results(struct service *v)
{
	for (int i = 0; i < 2; i++) {
		v->outcome[i] = (struct outcome){0};
		v->teardown[i] = (struct teardown){.reaped = true, .populated = -1};
	}
}

static void remove_box(struct service *v, struct box *box, struct teardown *t)
{
	if (box->built)
		box_destroy(&v->slot, box, t);
	v->dirty = v->dirty || !t->reaped || t->left_count || t->mounts || t->pids_left;
}

static void serve_step(struct service *v, const struct request *r)
{
	struct outcome *o = v->outcome;
	struct box box = {.built = false};
	bool more = r->number[KEY_MORE];

	struct parked *p = fit_box(v, r, &o->failure);
	int ready = p ? write_files(v, r, &p->box, &o->failure) : -1;
	if (ready == 0 && more)
		ready = work_share(&v->slot, &p->box, &o->failure);
	/* The next user of a parked box must not find files that were written before the failure. */
	if (ready < 0)
		discard_work(v);
	if (ready == 0) {
		box = p->box;
		p->box.built = false;
		v->work_used = true;
		v->slot.before = box.lane;
		supervise(&v->slot, &box, r, &v->out, v->connection, r->number[KEY_LIVE_STDIN] ? &v->input : NULL, &slot_stopping,
			  more ? park_next_step : NULL, v, o);
	}
	collect_files(v, r, o, &v->out);
	outcome_report(o, &box, &v->out);
	queue_flush(&v->out, v->connection);

	if (!more || o->failure.step) {
		struct failure f = {0};
		/* Before box_destroy() lists the mounts: the work directory goes with its last step. */
		if (work_leave(&v->slot, &f) < 0)
			v->dirty = true;
		discard(v, &v->following);
	}
	remove_box(v, &box, v->teardown);
	send_teardown(&v->out, v->teardown);
}

/* All about the step comes first, then all about its peer, which is queued apart until then. */
static void serve_pair(struct service *v, const struct request *step)
{
	const struct request *r[2] = {step, v->peer};
	struct outcome *o = v->outcome;
	struct teardown *t = v->teardown;
	struct box box[2] = {0};
	struct queue of_peer = {0};

	v->work_used = true;
	if (build_pair(v, r, box, &o[0].failure) == 0)
		supervise_pair(&v->slot, (struct box *[]){&box[0], &box[1]}, r, (struct queue *[]){&v->out, &of_peer}, v->connection,
			       &slot_stopping, (struct outcome *[]){&o[0], &o[1]});
	else
		o[1].failure = o[0].failure;
	collect_files(v, v->peer, &o[1], &of_peer);
	outcome_report(&o[0], &box[0], &v->out);
	outcome_report(&o[1], &box[1], &of_peer);
	queue_flush(&v->out, v->connection);
	discard_work(v);
	remove_box(v, &box[0], &t[0]);
	remove_box(v, &box[1], &t[1]);
	send_teardown(&v->out, &t[0]);
	queue_raw(&v->out, of_peer.area.data, of_peer.size);
	send_teardown(&v->out, &t[1]);
	queue_free(&of_peer);
	forget_peer(v);
}

/* A runtime that does not start is not an error of the slot: its step will start it. */
static void serve_park(struct service *v, const struct request *r)
{
	struct failure f = {0};
	struct parked *p = park_for(v, r, &f);
	if (!p)
		fprintf(stderr, "assay-launcher: slot %u: %s %s: %s\n", v->slot.number, f.step, f.object, strerror(f.err));
	send_parked(v, p);
}

/*
 * Highest priority, for hosts without the cpu controller: a slot may have to kill 64 programs of its own box. Not inherited.
 * Where root may not set it either (a container), a kill comes some time slices later.
 */
static void raise_priority(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attributes = {.size = sizeof attributes, .flags = 1 /* reset on fork */, .nice = -20};
	syscall(__NR_sched_setattr, 0, &attributes, 0);
}

/*
 * A process gets a table of descriptors of the size that the highest descriptor of its parent needs, and can read that size
 * (FDSize in /proc/self/status). One descriptor that is always higher than the others makes it the same for all programs;
 * otherwise it would tell how many runtimes and files this slot holds for other clients.
 */
static int fix_descriptor_table(const struct launcher *l, struct failure *f)
{
	enum { HIGHEST = 255 };
	return dup3(l->proc, HIGHEST, O_CLOEXEC) == HIGHEST ? 0 : fail(f, "slot", "descriptor %d", HIGHEST);
}

int slot_serve(const struct launcher *l, unsigned number, int connection, pid_t launcher)
{
	static struct area area;
	struct service *v = area_of(&area, sizeof *v);
	struct failure f = {0};
	struct sigaction action = {.sa_handler = stop};
	sigset_t term;

	sigaction(SIGTERM, &action, NULL);
	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL); /* unblocked only in ppoll() */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != launcher) /* the launcher died before PR_SET_PDEATHSIG */
		return 1;
	prctl(PR_SET_DUMPABLE, 0);
	v->connection = connection;
	v->last_fresh = first_shape;
	raise_priority();

	if (fix_descriptor_table(l, &f) < 0 || slot_prepare(&v->slot, l, number, &f) < 0 ||
	    groups_join(&l->groups, number, &v->slot.cpu_tasks, &f) < 0 || park_fresh(v, &v->last_fresh, &f) < 0) {
		fprintf(stderr, "assay-launcher: slot %u: %s %s: %s\n", number, f.step, f.object, strerror(f.err));
		send_failed(v, &f);
		discard_work(v);
		return 1;
	}
	send_hello(v);
	enum frame frame;
	while (flush_all(v) == 0 && !v->dirty && next_request(v, &frame, &v->request) == 0) {
		forget_results(v);
		if (frame == FRAME_PARK)
			serve_park(v, &v->request);
		else if (v->peer)
			serve_pair(v, &v->request);
		else
			serve_step(v, &v->request);
		if (flush_all(v) < 0)
			break;
		if (v->body.size > BODY_KEPT)
			area_free(&v->body);
		queue_shrink(&v->out);
		bool next_is_fresh = !v->slot.work_shared || !v->work_used;
		if (next_is_fresh && !v->fresh.box.built && !v->dirty && park_fresh(v, &v->last_fresh, &f) < 0) {
			fprintf(stderr, "assay-launcher: slot %u: %s %s: %s\n", number, f.step, f.object, strerror(f.err));
			break;
		}
	}
	discard_work(v);
	return v->dirty;
}
