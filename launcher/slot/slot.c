/*
 * A slot: one process, one connection, one step at a time. The launcher forks it for a connection (serve.c).
 *
 *   read STEP -> get a box with its run -> write files -> supervise -> ENDED -> destroy both -> TEARDOWN -> park the next box
 *
 * The sections of this file are the files that a client sends once for many steps, the boxes that are parked between steps, the
 * requests and answers of the connection, and how each kind of request is served. resources.c has what the slot owns for its
 * life, and collect.c reads the files that a step left.
 *
 * A slot that cannot remove all of a box reports that, and exits. The launcher then removes what is left,
 * and the service's next connection gets a new slot.
 */
#define _GNU_SOURCE
#include "slot/slot.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "run/run.h"
#include "seccomp.h"
#include "slot/collect.h"
#include "slot/connection.h"
#include "supervise/supervise.h"
#include "wire/wire.h"

enum {
	BODY_RETAINED_BYTES = 64 * 1024, /* the memory of a larger body is freed after its request */
	RUNTIME_CHECK_MS = 1000,
	PREBUILD_TIMEOUT_MS = 50,
	/*
	 * Each step that leaves a page in a shared work directory leaves a cgroup that the kernel cannot free before the
	 * directory: about 20 KiB, charged to no cgroup. The service needs two steps.
	 */
	STEPS_ON_WORK_MAX = 16,
	IDLE_SHARE = 100, /* a runtime may use 1/IDLE_SHARE of the time that it waits as CPU time, in addition to the limit of its step */
};

/* The sizes of the first box, which proves that boxes can be built. */
static const struct shape first_shape = {1 << 20, 64, 1 << 20, 64};

/* A box whose run waits for a step. */
struct parked {
	struct box box;
	struct run run;
	struct request *request; /* the request for which the run has started a runtime; NULL: there is no runtime */
	struct area body;        /* the frame that `request` points into */
	uint64_t started_ns;     /* when the runtime started */
};

/* Files for later steps (KEEP_FILES). */
struct file_set {
	struct area area; /* the bytes that the entries below point into */
	unsigned files;   /* 0: the set is empty */
	struct bytes name[FILES_MAX], data[FILES_MAX], modes;
};

/* The state of a slot. It is in memory that no process of a box inherits (unforked-memory.h). */
struct session {
	struct slot slot;
	int connection;
	struct queue out;
	struct area body;           /* the frame being served */
	struct request *peer;       /* the PEER that came before the STEP; it points into peer_body. NULL: there is none */
	struct area peer_body;
	struct file_set file_set[FILE_SETS_MAX];
	struct request request;     /* the request being served */
	struct box box[2];          /* those of the step being served, and of its peer */
	struct run run[2];
	struct teardown teardown[2];
	struct input input;
	struct parked on_new_work;  /* waits for a step on a new work directory */
	struct parked on_same_work; /* waits for a step with KEEP_WORK, on the work directory of the step before it */
	bool work_used;             /* a payload has used the work directory */
	unsigned steps_on_work;     /* how many steps have used the work directory or may start on it, including the first */
	struct shape work_shape;    /* sizes of the work directory */
	struct shape new_work_shape, same_work_shape; /* sizes of the last step with a new work directory, and of the last with KEEP_WORK */
	bool has_leftovers;         /* something could not be removed */
};

/*
 * ---- files for later steps ----
 *
 * A client sends the files of a program once for many inputs: KEEP_FILES numbers the set in which the slot stores them.
 */

static size_t file_bytes(const struct request *r)
{
	size_t bytes = r->file_modes.size;
	for (unsigned i = 0; i < r->files; i++)
		bytes += r->file_name[i].size + r->file_data[i].size;
	return bytes;
}

static struct bytes copy_bytes(uint8_t **to, struct bytes from)
{
	struct bytes copied = {*to, from.size};
	if (from.size)
		memcpy(*to, from.data, from.size);
	*to += from.size;
	return copied;
}

static int store_file_set(struct file_set *set, const struct request *r)
{
	area_free(&set->area);
	set->files = 0;
	if (area_grow(&set->area, file_bytes(r)) < 0)
		return -1;
	uint8_t *to = set->area.data;
	set->modes = copy_bytes(&to, r->file_modes);
	for (; set->files < r->files; set->files++) {
		set->name[set->files] = copy_bytes(&to, r->file_name[set->files]);
		set->data[set->files] = copy_bytes(&to, r->file_data[set->files]);
	}
	return 0;
}

/*
 * If a step with KEEP_FILES has files, stores them in its set; otherwise, gives it the files of the set. Returns NULL, or the reason
 * for refusing the step.
 */
static const char *use_file_set(struct session *session, struct request *r)
{
	uint64_t number = r->number[KEY_KEEP_FILES];
	if (!number)
		return NULL;
	struct file_set *set = &session->file_set[number - 1];
	if (r->files && file_bytes(r) > FILE_SET_BYTES)
		return "too large to keep";
	if (r->files)
		return store_file_set(set, r) < 0 ? "out of memory" : NULL;
	if (!set->files)
		return "nothing is kept there";
	r->files = set->files;
	memcpy(r->file_name, set->name, sizeof set->name);
	memcpy(r->file_data, set->data, sizeof set->data);
	r->file_modes = set->modes;
	return NULL;
}

/*
 * ---- parked boxes ----
 *
 * Between steps, the slot parks boxes, which it builds with the last requested sizes. A step then starts with one
 * write, and does not have to wait for namespaces and mounts. If a parked box does not fit a request, the slot builds another one. The
 * box of a second step is built while the first step runs.
 *
 * After a PARK, the program of a parked box can be a runtime that has started and waits for its step. It serves only a step
 * with the same command, environment and limits; any other step gets a new box.
 */

static struct shape request_shape(const struct request *r)
{
	return (struct shape){r->number[KEY_WORK_BYTES], r->number[KEY_WORK_INODES], r->number[KEY_TMP_BYTES],
			      r->number[KEY_TMP_INODES]};
}

static bool same_work(const struct shape *a, const struct shape *b)
{
	return a->work_bytes == b->work_bytes && a->work_inodes == b->work_inodes;
}

static bool same_tmp(const struct shape *a, const struct shape *b)
{
	return a->tmp_bytes == b->tmp_bytes && a->tmp_inodes == b->tmp_inodes;
}

static bool same_bytes(const struct bytes *a, const struct bytes *b, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (a[i].size != b[i].size || memcmp(a[i].data, b[i].data, a[i].size))
			return false;
	return true;
}

/*
 * Whether a runtime that was started for the request A can serve the step B. Their files, their input and KEEP_FILES may differ, and so may
 * STDOUT_BYTES, which only counts for what the program writes after its hand-over.
 */
static bool same_step(const struct request *a, const struct request *b)
{
	for (unsigned key = 0; key < KEY_COUNT; key++)
		if (key != KEY_KEEP_FILES && key != KEY_STDOUT_BYTES && a->number[key] != b->number[key])
			return false;
	return a->args == b->args && a->envs == b->envs &&
	       same_bytes(a->arg, b->arg, a->args) && same_bytes(a->env, b->env, a->envs);
}

static void drop_request(struct parked *p)
{
	free(p->request);
	p->request = NULL;
	area_free(&p->body);
}

static void discard_parked(struct session *session, struct parked *p)
{
	struct teardown t;
	drop_request(p);
	if (!p->box.built)
		return;
	remove_box_and_run(&session->slot, &p->box, &p->run, &t);
	session->has_leftovers = session->has_leftovers || !t.reaped || t.leftovers || t.mounts;
}

static int build_parked(struct session *session, struct parked *p, const struct shape *shape, bool piped, struct failure *f)
{
	return build_box_and_run(&session->slot, &p->box, &p->run, shape, piped, f);
}

static int build_on_new_work(struct session *session, const struct shape *shape, bool piped, struct failure *f)
{
	discard_parked(session, &session->on_same_work);
	discard_parked(session, &session->on_new_work);
	if (work_release(&session->slot, f) < 0)
		return -1;
	session->work_shape = *shape;
	session->work_used = false;
	session->steps_on_work = 1;
	return build_parked(session, &session->on_new_work, shape, piped, f);
}

/* Parks a box on a new work directory. */
static int park_on_new_work(struct session *session, const struct shape *shape, struct failure *f)
{
	return build_on_new_work(session, shape, false, f);
}

/* Parks a box on the work directory of the step before it. That step can be still to come, running, or over. */
static int park_on_same_work(struct session *session, const struct shape *shape, bool piped, struct failure *f)
{
	discard_parked(session, &session->on_same_work);
	if (!session->slot.work_shared && !session->on_new_work.box.built)
		return fail_with(f, ENOENT, "request", "no work directory to keep");
	if (!session->slot.work_shared && work_share(&session->slot, &session->on_new_work.box, f) < 0)
		return -1;
	return build_parked(session, &session->on_same_work, shape, piped, f);
}

/* Whether the parked box has the sizes that a step wants, without regard to its runtime. */
static bool has_shape(const struct session *session, const struct parked *p, const struct shape *want)
{
	return p->box.built && same_tmp(&p->box.shape, want) && (p == &session->on_same_work || same_work(&session->work_shape, want));
}

/* Counts a step that uses the work directory, or a runtime that starts before such a step. */
static int count_step_on_work(struct session *session, struct failure *f)
{
	if (session->steps_on_work >= STEPS_ON_WORK_MAX)
		return fail_with(f, EMLINK, "request", "too many steps on one work directory");
	session->steps_on_work++;
	return 0;
}

/*
 * Returns a parked box that fits the step: with a runtime if one was started for such a step, and otherwise built now if necessary.
 * Returns NULL with the failure if there can be none.
 */
static struct parked *box_for_step(struct session *session, const struct request *r, struct failure *f)
{
	struct shape want = request_shape(r);
	bool keep = r->number[KEY_KEEP_WORK], piped = r->number[KEY_LIVE_STDIN];
	struct parked *p = keep ? &session->on_same_work : &session->on_new_work;
	if (keep && (!session->slot.work_shared || !session->work_used)) {
		fail_with(f, ENOENT, "request", "no work directory to keep");
		return NULL;
	}
	if (keep && count_step_on_work(session, f) < 0)
		return NULL;
	*(keep ? &session->same_work_shape : &session->new_work_shape) = want;
	bool waits = !p->request || (same_step(p->request, r) && run_waits(&p->run));
	/* A box that is parked in advance has no pipe for live input. */
	if (piped || !has_shape(session, p, &want) || !waits) {
		int done = keep ? park_on_same_work(session, &want, piped, f) : build_on_new_work(session, &want, piped, f);
		if (done < 0)
			return NULL;
	}
	drop_request(p);
	return p;
}

/*
 * Builds the boxes of a step and its peer, with runs that have piped inputs, and writes their files. A step with KEEP_WORK gets a box on
 * the work directory of the previous step. Its peer always gets a new work directory. On failure, the caller removes what was built.
 */
static int build_pair(struct session *session, const struct request *r[2], struct failure *f)
{
	bool keep = r[0]->number[KEY_KEEP_WORK];
	if (keep && (!session->slot.work_shared || !session->work_used))
		return fail_with(f, ENOENT, "request", "no work directory to keep");
	discard_parked(session, &session->on_same_work);
	discard_parked(session, &session->on_new_work);
	for (int i = 0; i < 2; i++) {
		struct shape want = request_shape(r[i]);
		struct box *box = &session->box[i];
		if (((i > 0 || !keep) && work_release(&session->slot, f) < 0) ||
		    build_box_and_run(&session->slot, box, &session->run[i], &want, true, f) < 0 ||
		    work_write_files(&session->slot, box, r[i], f) < 0)
			return -1;
	}
	return 0;
}

/* Parks a box for a PARK, and starts the runtime if the request has one. On failure, returns NULL, and there may be no parked box. */
static struct parked *prepare_park(struct session *session, const struct request *r, struct failure *f)
{
	struct shape want = request_shape(r);
	bool keep = r->number[KEY_KEEP_WORK];
	struct parked *p = keep ? &session->on_same_work : &session->on_new_work;
	if (p->request || !has_shape(session, p, &want)) {
		int done = keep ? park_on_same_work(session, &want, false, f) : park_on_new_work(session, &want, f);
		if (done < 0)
			return NULL;
	}
	*(keep ? &session->same_work_shape : &session->new_work_shape) = want;
	if (r->park_args == 0)
		return p;
	if (keep && count_step_on_work(session, f) < 0)
		return NULL;
	p->request = malloc(sizeof *p->request);
	p->started_ns = now_ns();
	if (!p->request || run_start_runtime(&session->slot, &p->run, r, f) < 0) {
		discard_parked(session, p);
		return NULL;
	}
	*p->request = *r;
	p->body = session->body;
	session->body = (struct area){0};
	return p;
}

/*
 * Whether a runtime that waits has used more CPU time, or uses more kernel memory, than the limits of its step permit, because a
 * compromised service can have started any program. The time for which a runtime waits has no limit, so the runtime may also use
 * 1/IDLE_SHARE of that time as CPU time.
 */
static bool exceeds_limits(const struct parked *p)
{
	uint64_t used, kernel, waited_usec = (now_ns() - p->started_ns) / 1000;
	if (run_read(&p->run, FACT_CPU_USEC, &used) < 0 || run_read(&p->run, FACT_KERNEL_NOW, &kernel) < 0)
		return true;
	return used - p->run.base_cpu_usec > p->request->number[KEY_CPU_MS] * 1000 + waited_usec / IDLE_SHARE ||
	       kernel > p->request->number[KEY_KERNEL_BYTES];
}

/* Removes runtimes that exceed their limits. Returns whether any runtime waits. */
static bool check_runtimes(struct session *session)
{
	struct parked *boxes[] = {&session->on_new_work, &session->on_same_work};
	bool waits = false;
	for (int i = 0; i < 2; i++) {
		if (boxes[i]->request && exceeds_limits(boxes[i]))
			discard_parked(session, boxes[i]);
		waits = waits || boxes[i]->request;
	}
	return waits;
}

/*
 * Parks the box of the second step while the first one runs, unless a PARK has already done so. `context` is the session. If this
 * fails, box_for_step() tries again later, and reports a failure then.
 */
static void prebuild_next_box(void *context)
{
	struct session *session = context;
	struct failure unused = {0};
	if (session->on_same_work.box.built || !session->same_work_shape.work_bytes)
		return;
	/* The time is short, because the first step is not supervised meanwhile. */
	session->slot.timeout_ms = PREBUILD_TIMEOUT_MS;
	park_on_same_work(session, &session->same_work_shape, false, &unused);
	session->slot.timeout_ms = BUILD_TIMEOUT_MS;
}

/* Removes the work directory and the boxes that are parked on it. */
static void discard_work(struct session *session)
{
	struct failure f = {0};
	discard_parked(session, &session->on_same_work);
	discard_parked(session, &session->on_new_work);
	if (work_release(&session->slot, &f) < 0)
		session->has_leftovers = true;
}

/* ---- the connection ---- */

/* Skips INPUT and SIGNAL frames, which were for a program that has ended, until the header of another frame has arrived. */
static int skip_input(struct session *session)
{
	struct input *in = &session->input;
	while (in->received < FRAME_HEADER || (input_valid(in) && !input_complete(in))) {
		uint8_t *to;
		size_t wants = input_missing(in, &to);
		if (read_exactly(session->connection, to, wants, in->received ? FRAME_TIMEOUT_MS : -1) < 0)
			return -1;
		in->received += wants;
		if (input_complete(in) && input_valid(in))
			in->received = 0;
	}
	in->begin = in->end = 0;
	in->signal = 0;
	return 0;
}

static int read_request(struct session *session, enum frame *frame, struct request *r)
{
	const uint8_t *header = session->input.header;
	struct refusal why;
	if (skip_input(session) < 0)
		return -1;
	session->input.received = 0;
	size_t size = (size_t)header[0] | (size_t)header[1] << 8 | (size_t)header[2] << 16 | (size_t)header[3] << 24;
	*frame = header[4];
	if (*frame != FRAME_STEP && *frame != FRAME_PARK && *frame != FRAME_PEER)
		return refuse_request(&session->out, session->connection, "unknown frame", "");
	const char *name = *frame == FRAME_STEP ? "STEP" : *frame == FRAME_PARK ? "PARK" : "PEER";
	if (size > FRAME_MAX)
		return refuse_request(&session->out, session->connection, "frame too large", name);
	if (area_grow(&session->body, size > BODY_RETAINED_BYTES ? size : BODY_RETAINED_BYTES) < 0)
		return refuse_request(&session->out, session->connection, "out of memory", name);
	if (read_exactly(session->connection, session->body.data, size, FRAME_TIMEOUT_MS) < 0)
		return -1;
	if (request_parse(*frame, session->body.data, size, r, &why) < 0)
		return refuse_request(&session->out, session->connection, why.reason, why.object);
	if (r->sandbox.size)
		return refuse_request(&session->out, session->connection, "only on the socket of sandboxes", "SANDBOX");
	const char *reason = use_file_set(session, r);
	return reason ? refuse_request(&session->out, session->connection, reason, "KEEP_FILES") : 0;
}

static void drop_peer(struct session *session)
{
	free(session->peer);
	session->peer = NULL;
	area_free(&session->peer_body);
}

/* Waits for the next request, and meanwhile removes runtimes that exceed their limits. */
static int await_request(struct session *session)
{
	for (;;) {
		bool waits = check_runtimes(session);
		if (session->has_leftovers)
			return -1;
		if (await(session->connection, POLLIN, waits ? RUNTIME_CHECK_MS : -1) == 0)
			return 0;
		if (errno != ETIMEDOUT)
			return -1;
	}
}

/*
 * Waits for the next STEP, with a PEER before it if there is one, or PARK. The request points into session->body, which the caller
 * frees. Returns -1 if there is none to serve: the connection then closes.
 */
static int next_request(struct session *session, enum frame *frame, struct request *r)
{
	if (await_request(session) < 0)
		return -1;
	if (read_request(session, frame, r) < 0)
		return -1;
	if (*frame != FRAME_PEER)
		return 0;
	session->peer = malloc(sizeof *session->peer);
	if (!session->peer)
		return refuse_request(&session->out, session->connection, "out of memory", "PEER");
	*session->peer = *r;
	session->peer_body = session->body;
	session->body = (struct area){0};
	if (read_request(session, frame, r) < 0)
		return -1;
	if (*frame != FRAME_STEP)
		return refuse_request(&session->out, session->connection, "a STEP must follow", "PEER");
	if (r->stdin_data.size || r->number[KEY_LIVE_STDIN] || r->number[KEY_MORE] || r->number[KEY_COLLECT])
		return refuse_request(&session->out, session->connection, "with a PEER, a STEP has no input, files to collect, or step after it", "STEP");
	return 0;
}

static void send_parked(struct session *session, const struct parked *p)
{
	uint64_t memory = 0;
	if (p)
		run_read(&p->run, FACT_MEMORY_NOW, &memory);
	queue_frame(&session->out, FRAME_PARKED);
	queue_int(&session->out, KEY_WAITING, p && p->request);
	queue_int(&session->out, KEY_WAITING_BYTES, memory);
	queue_frame_end(&session->out);
}

/* ---- serving requests ---- */

/* Whether the program exited by itself, after all its other processes, so that nothing can still change its files. */
static bool exited_alone(const struct outcome *o)
{
	return !o->failure.step && o->exited && o->reason == KILL_NONE && o->survivors == 0 &&
	       o->known[FACT_PIDS_CURRENT] && o->fact[FACT_PIDS_CURRENT] == 0;
}

/* Sends the files that the request asks for, if all processes that could still change them have ended. */
static void collect_files(const struct request *r, const struct run *run, struct queue *out)
{
	bool feedback = r->number[KEY_COLLECT] == 2;
	if (r->number[KEY_COLLECT] && exited_alone(&run->outcome) && (feedback || run->outcome.code == 0))
		send_files(out, run->box->work, feedback ? "feedback" : "");
}

/* Removes the first or the second box of the request, with its run. */
static void remove_box(struct session *session, int which)
{
	struct teardown *t = &session->teardown[which];
	remove_box_and_run(&session->slot, &session->box[which], &session->run[which], t);
	session->has_leftovers = session->has_leftovers || !t->reaped || t->leftovers || t->mounts || t->pids_left;
}

/* Takes a parked box out of its place, so that another one can be parked there while this one is used. */
static void take_parked(struct parked *p, struct box *box, struct run *run)
{
	*box = p->box;
	*run = p->run;
	run->box = box;
	p->box.built = p->run.built = false;
}

static void serve_step(struct session *session, const struct request *r)
{
	struct box *box = &session->box[0];
	struct run *run = &session->run[0];
	struct failure f = {0};
	bool more = r->number[KEY_MORE];

	struct parked *p = box_for_step(session, r, &f);
	int ready = p ? work_write_files(&session->slot, &p->box, r, &f) : -1;
	if (ready == 0 && more)
		ready = work_share(&session->slot, &p->box, &f);
	if (ready < 0) {
		/* The next user of a parked box must not find files that were written before the failure. */
		discard_work(session);
		run->outcome.failure = f;
	} else {
		take_parked(p, box, run);
		session->work_used = true;
		session->slot.previous_lane = box->lane;
		run->request = r;
		run->out = &session->out;
		struct client client = {
			.connection = session->connection, .holder = -1, .out = &session->out, .input = r->number[KEY_LIVE_STDIN] ? &session->input : NULL,
			.stopping = &slot_stopping, .on_start = more ? prebuild_next_box : NULL, .context = session,
		};
		supervise(&session->slot, &run, 1, &client);
	}
	collect_files(r, run, &session->out);
	outcome_report(run, &session->out);
	queue_flush(&session->out, session->connection);

	if (!more || run->outcome.failure.step) {
		struct failure unused = {0};
		/* This was the last step on the work directory. box_destroy() would otherwise list it as a leftover mount. */
		if (work_release(&session->slot, &unused) < 0)
			session->has_leftovers = true;
		discard_parked(session, &session->on_same_work);
	}
	remove_box(session, 0);
	send_teardown(&session->out, &session->teardown[0]);
}

/* Serves a step with a peer. The frames about the step come first; until then, those about its peer are in a queue of their own. */
static void serve_pair(struct session *session, const struct request *step)
{
	const struct request *r[2] = {step, session->peer};
	struct run *run[2] = {&session->run[0], &session->run[1]};
	struct queue peer_out = {0};
	struct failure f = {0};

	session->work_used = true;
	if (build_pair(session, r, &f) == 0) {
		struct client client = {.connection = session->connection, .holder = -1, .out = &session->out, .stopping = &slot_stopping};
		for (int i = 0; i < 2; i++) {
			run[i]->request = r[i];
			run[i]->out = i == 0 ? &session->out : &peer_out;
		}
		supervise(&session->slot, run, 2, &client);
	} else {
		run[0]->outcome.failure = run[1]->outcome.failure = f;
	}
	collect_files(session->peer, run[1], &peer_out);
	outcome_report(run[0], &session->out);
	outcome_report(run[1], &peer_out);
	queue_flush(&session->out, session->connection);
	discard_work(session);
	remove_box(session, 0);
	remove_box(session, 1);
	send_teardown(&session->out, &session->teardown[0]);
	queue_raw(&session->out, peer_out.area.data, peer_out.size);
	send_teardown(&session->out, &session->teardown[1]);
	queue_free(&peer_out);
	drop_peer(session);
}

/* Serves a PARK. It is no error of the slot if a runtime does not start: the step then runs its command without a runtime. */
static void serve_park(struct session *session, const struct request *r)
{
	struct failure f = {0};
	struct parked *p = prepare_park(session, r, &f);
	if (!p)
		fprintf(stderr, "assay-launcher: slot %u: %s %s: %s\n", session->slot.number, f.step, f.object, strerror(f.err));
	send_parked(session, p);
}

/* Whether something of an earlier box is left, so that this slot must not serve another request. */
static bool leaves_something(const struct session *session)
{
	return session->has_leftovers || session->slot.unclean;
}

int slot_serve(const struct launcher *l, unsigned number, int connection, pid_t launcher)
{
	static struct area area;
	struct session *session = area_of(&area, sizeof *session);
	struct failure f = {0};

	if (begin_process(launcher) < 0)
		return 1;
	session->connection = connection;
	session->new_work_shape = first_shape;

	if (fix_descriptor_table(l, &session->connection, &f) < 0 || slot_prepare(&session->slot, l, number, &f) < 0 ||
	    groups_join(&l->groups, number, &session->slot.cpu_group_tasks, &f) < 0 ||
	    park_on_new_work(session, &session->new_work_shape, &f) < 0) {
		fprintf(stderr, "assay-launcher: slot %u: %s %s: %s\n", number, f.step, f.object, strerror(f.err));
		send_failed(&session->out, session->connection, &f);
		discard_work(session);
		return 1;
	}
	send_hello(&session->out, l, number);
	enum frame frame;
	while (flush_all(&session->out, session->connection) == 0 && !leaves_something(session) && next_request(session, &frame, &session->request) == 0) {
		memset(session->run, 0, sizeof session->run); /* those of the request before, if there was one */
		if (frame == FRAME_PARK)
			serve_park(session, &session->request);
		else if (session->peer)
			serve_pair(session, &session->request);
		else
			serve_step(session, &session->request);
		if (flush_all(&session->out, session->connection) < 0)
			break;
		if (session->body.size > BODY_RETAINED_BYTES)
			area_free(&session->body);
		queue_shrink(&session->out);
		bool next_has_new_work = !session->slot.work_shared || !session->work_used;
		if (next_has_new_work && !session->on_new_work.box.built && !session->has_leftovers &&
		    park_on_new_work(session, &session->new_work_shape, &f) < 0) {
			fprintf(stderr, "assay-launcher: slot %u: %s %s: %s\n", number, f.step, f.object, strerror(f.err));
			break;
		}
	}
	discard_work(session);
	return leaves_something(session);
}
