/*
 * A slot: one process, one connection, one step at a time. Between steps it keeps
 * a box parked, built for the shape that was asked for last, so that a step starts
 * with one write and not with namespaces and mounts. A box that does not fit, or a
 * submission's second step, is built when it is known: the latter while the first
 * still runs.
 *
 *   read STEP -> fit a box -> files -> supervise -> ENDED -> destroy -> TORN -> park the next
 *
 * A slot that could not clean up ends after its report: the launcher sweeps, and
 * the service's next connection gets a fresh one.
 */
#define _GNU_SOURCE
#include "slot.h"

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

#include "seccomp.h"
#include "supervise.h"

enum { FRAME_PATIENCE_MS = 10000, FLUSH_PATIENCE_MS = 30000, BESIDE_PATIENCE_MS = 50 };

/* Only for the box that proves, at the start, that boxes can be built. */
static const struct shape first_shape = {1 << 20, 64, 1 << 20, 64};

static volatile int stopping;

struct service {
	struct slot slot;
	int connection;
	struct queue out;
	uint8_t *body; /* the frame being served */
	struct box parked;
	bool parked_on_work;   /* the parked box holds the work directory of the step before */
	bool work_used;        /* a payload has had the mounted work directory */
	struct shape work;     /* what the mounted work directory was made for */
	struct shape fresh, following; /* last shapes seen: of first steps, of steps that keep the work */
	bool dirty;
};

static void stop(int sig)
{
	(void)sig;
	stopping = 1;
}

struct shape request_shape(const struct request *r)
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

/* ---- the wire ---- */

/* Waits for `events`; -1 on a time-out, a stop or a closed connection. */
static int await(int fd, short events, int timeout_ms)
{
	struct pollfd on = {.fd = fd, .events = events};
	struct timespec wait = {timeout_ms / 1000, (timeout_ms % 1000) * 1000000L};
	sigset_t none;
	sigemptyset(&none);
	int n;
	if (stopping) /* let in while a program was watched: no second signal will wake us here */
		return -1;
	while ((n = ppoll(&on, 1, timeout_ms < 0 ? NULL : &wait, &none)) < 0 && errno == EINTR && !stopping)
		continue;
	return n > 0 && !stopping && (on.revents & events) ? 0 : -1;
}

static int flush_all(struct service *v)
{
	while (queue_flush(&v->out, v->connection) == 0) {
		if (queue_empty(&v->out))
			return 0;
		if (await(v->connection, POLLOUT, FLUSH_PATIENCE_MS) < 0)
			return -1;
	}
	return -1;
}

static int read_whole(int fd, uint8_t *to, size_t size, int first_wait_ms)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = recv(fd, to + done, size - done, MSG_DONTWAIT);
		if (n > 0) {
			done += (size_t)n;
			first_wait_ms = FRAME_PATIENCE_MS;
		} else if (n == 0 || (errno != EAGAIN && errno != EINTR) || await(fd, POLLIN, first_wait_ms) < 0) {
			return -1;
		}
	}
	return 0;
}

static int refuse(struct service *v, const char *reason, const char *object)
{
	queue_frame(&v->out, FRAME_REFUSED);
	queue_text(&v->out, KEY_REASON, reason);
	queue_text(&v->out, KEY_OBJECT, object);
	queue_frame_end(&v->out);
	flush_all(v);
	return -1;
}

static int next_request(struct service *v, struct request *r)
{
	uint8_t header[FRAME_HEADER];
	struct refusal why;
	if (read_whole(v->connection, header, sizeof header, -1) < 0)
		return -1;
	size_t size = (size_t)header[0] | (size_t)header[1] << 8 | (size_t)header[2] << 16 | (size_t)header[3] << 24;
	if (header[4] != FRAME_STEP)
		return refuse(v, "unknown frame", "");
	if (size > FRAME_LARGEST)
		return refuse(v, "frame too large", "STEP");
	v->body = malloc(size ? size : 1);
	if (!v->body)
		return refuse(v, "out of memory", "STEP");
	if (read_whole(v->connection, v->body, size, FRAME_PATIENCE_MS) < 0)
		return -1;
	if (request_parse(v->body, size, r, &why) < 0)
		return refuse(v, why.reason, why.object);
	return 0;
}

static void say_hello(struct service *v)
{
	const struct launcher *l = v->slot.launcher;
	queue_frame(&v->out, FRAME_HELLO);
	queue_int(&v->out, KEY_PROTOCOL, PROTOCOL_VERSION);
	queue_text(&v->out, KEY_BUILD, l->build);
	queue_int(&v->out, KEY_SLOT, v->slot.number);
	queue_text(&v->out, KEY_BACKEND, groups_backend(&l->groups));
	queue_text(&v->out, KEY_SIGNAL_SOURCE, l->signal_map >= 0 ? "bpf" : "none");
	queue_int(&v->out, KEY_PRESSURE, l->groups.pressure);
	queue_text(&v->out, KEY_SECCOMP_POLICY, SECCOMP_POLICY);
	queue_text(&v->out, KEY_PIDFD_MODE, "native");
	queue_text(&v->out, KEY_KERNEL, l->kernel);
	queue_frame_end(&v->out);
}

static void say_failed(struct service *v, const struct failure *f)
{
	queue_frame(&v->out, FRAME_FAILED);
	queue_text(&v->out, KEY_STEP_NAME, f->step);
	queue_text(&v->out, KEY_STEP_OBJECT, f->object);
	queue_int(&v->out, KEY_STEP_ERRNO, (uint64_t)f->err);
	queue_frame_end(&v->out);
	flush_all(v);
}

static void say_torn(struct service *v, const struct teardown *t)
{
	queue_frame(&v->out, FRAME_TORN);
	queue_int(&v->out, KEY_REAPED, t->reaped);
	if (t->populated >= 0)
		queue_int(&v->out, KEY_POPULATED, (uint64_t)t->populated);
	queue_int(&v->out, KEY_PIDS_LEFT, t->pids_left);
	queue_int(&v->out, KEY_ZOMBIES, (uint64_t)t->zombies);
	for (unsigned i = 0; i < t->mounts; i++)
		queue_text(&v->out, KEY_RESIDUAL_MOUNT, t->mount[i]);
	for (unsigned i = 0; i < t->lefts; i++)
		queue_text(&v->out, KEY_GROUP_LEFT, t->left[i]);
	for (unsigned i = 0; i < t->errors; i++)
		queue_text(&v->out, KEY_COLLECTION_ERROR, t->error[i]);
	queue_frame_end(&v->out);
}

/* ---- boxes ---- */

static void discard_parked(struct service *v)
{
	struct teardown t;
	if (!v->parked.built)
		return;
	box_destroy(&v->slot, &v->parked, &t);
	v->dirty = v->dirty || !t.reaped || t.lefts || t.mounts;
}

static int park_fresh(struct service *v, const struct shape *shape, struct failure *f)
{
	discard_parked(v);
	if (work_mount(&v->slot, shape, f) < 0)
		return -1;
	v->work = *shape;
	v->work_used = false;
	v->parked_on_work = false;
	return box_build(&v->slot, &v->parked, shape, f);
}

/* A box on the work directory that the step before is using, or has left. */
static int park_following(struct service *v, const struct shape *shape, struct failure *f)
{
	discard_parked(v);
	v->parked_on_work = true;
	return box_build(&v->slot, &v->parked, shape, f);
}

static int fit_box(struct service *v, const struct request *r, struct failure *f)
{
	struct shape want = request_shape(r);
	if (r->number[KEY_KEEP_WORK]) {
		v->following = want;
		if (!v->slot.work_mounted || !v->work_used)
			return fail_with(f, ENOENT, "request", "no work directory to keep");
		if (v->parked.built && v->parked_on_work && same_tmp(&v->parked.shape, &want))
			return 0;
		return park_following(v, &want, f);
	}
	v->fresh = want;
	if (v->parked.built && !v->parked_on_work && same_work(&v->work, &want) && same_tmp(&v->parked.shape, &want))
		return 0;
	return park_fresh(v, &want, f);
}

/* While the first step runs: the box of the second. A failure shows when it is asked for. */
static void prepare_following(void *context)
{
	struct service *v = context;
	struct failure unused = {0};
	if (!v->following.work_bytes)
		return;
	/* The first step is not watched meanwhile. */
	v->slot.patience_ms = BESIDE_PATIENCE_MS;
	park_following(v, &v->following, &unused);
	v->slot.patience_ms = BUILD_PATIENCE_MS;
}

static void abandon_work(struct service *v)
{
	struct failure f = {0};
	discard_parked(v);
	if (work_unmount(&v->slot, &f) < 0)
		v->dirty = true;
}

static void serve_step(struct service *v, const struct request *r)
{
	struct outcome o = {0};
	struct teardown t = {.reaped = true, .populated = -1};
	struct box box = {.built = false};
	bool more = r->number[KEY_MORE];

	int ready = fit_box(v, r, &o.failure);
	for (unsigned i = 0; ready == 0 && i < r->files; i++) {
		char name[65];
		snprintf(name, sizeof name, "%.*s", (int)r->file_name[i].size, (const char *)r->file_name[i].data);
		ready = work_write(&v->slot, name, r->file_data[i].data, r->file_data[i].size, &o.failure);
	}
	/* What was written before the failure must not be found by whoever gets a box of this shape next. */
	if (ready < 0)
		abandon_work(v);
	if (ready == 0) {
		box = v->parked;
		v->parked.built = false;
		v->work_used = true;
		v->slot.before = box.lane;
		supervise(&v->slot, &box, r, &v->out, v->connection, &stopping, more ? prepare_following : NULL, v, &o);
	}
	outcome_report(&o, &box, &v->out);
	queue_flush(&v->out, v->connection);

	if (!more || o.failure.step) {
		struct failure f = {0};
		/* Before the mounts are listed: the work directory goes with its last step. */
		if (work_unmount(&v->slot, &f) < 0)
			v->dirty = true;
		if (v->parked.built && v->parked_on_work)
			discard_parked(v);
	}
	if (box.built)
		box_destroy(&v->slot, &box, &t);
	v->dirty = v->dirty || !t.reaped || t.lefts || t.mounts || t.pids_left;
	say_torn(v, &t);
}

/*
 * Within its share of the CPU, before the 64 programs that it may have to kill. Not
 * for its children. Where root may not (a container), a kill comes some slices later.
 */
static void go_first(void)
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

int slot_serve(const struct launcher *l, unsigned number, int connection, pid_t launcher)
{
	static struct service service;
	static struct request request;
	struct service *v = &service;
	struct failure f = {0};
	struct sigaction action = {.sa_handler = stop};
	sigset_t term;

	sigaction(SIGTERM, &action, NULL);
	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL); /* let in only where we wait */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != launcher) /* it died before that was set */
		return 1;
	prctl(PR_SET_DUMPABLE, 0);
	v->connection = connection;
	v->fresh = first_shape;
	go_first();

	if (groups_join(&l->groups, number, &f) < 0 || slot_prepare(&v->slot, l, number, &f) < 0 || park_fresh(v, &v->fresh, &f) < 0) {
		fprintf(stderr, "assay-launcher: slot %u: %s %s: %s\n", number, f.step, f.object, strerror(f.err));
		say_failed(v, &f);
		discard_parked(v);
		return 1;
	}
	say_hello(v);
	while (flush_all(v) == 0 && !v->dirty && next_request(v, &request) == 0) {
		serve_step(v, &request);
		if (flush_all(v) < 0)
			break;
		free(v->body);
		v->body = NULL;
		queue_shrink(&v->out);
		if (!request.number[KEY_MORE] && !v->dirty && park_fresh(v, &v->fresh, &f) < 0) {
			fprintf(stderr, "assay-launcher: slot %u: %s %s: %s\n", number, f.step, f.object, strerror(f.err));
			break;
		}
	}
	discard_parked(v);
	work_unmount(&v->slot, &f);
	return v->dirty;
}
