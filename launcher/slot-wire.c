/* A slot's side of its connection: reads whole requests, queues and sends answers. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "seccomp.h"
#include "slot-parts.h"

enum { FRAME_TIMEOUT_MS = 10000, FLUSH_TIMEOUT_MS = 30000, CHECK_PARKED_MS = 1000 };

volatile int slot_stopping;

/* Waits for `events`. -1 on timeout (ETIMEDOUT), SIGTERM or a closed connection. */
static int await(int fd, short events, int timeout_ms)
{
	struct pollfd on = {.fd = fd, .events = events};
	struct timespec wait = {timeout_ms / 1000, (timeout_ms % 1000) * 1000000L};
	sigset_t none;
	sigemptyset(&none);
	int n;
	errno = ECANCELED;
	if (slot_stopping) /* SIGTERM arrived while a program was watched; no second signal will interrupt this wait */
		return -1;
	while ((n = ppoll(&on, 1, timeout_ms < 0 ? NULL : &wait, &none)) < 0 && errno == EINTR && !slot_stopping)
		continue;
	errno = n == 0 ? ETIMEDOUT : ECANCELED;
	return n > 0 && !slot_stopping && (on.revents & events) ? 0 : -1;
}

int flush_all(struct service *v)
{
	while (queue_flush(&v->out, v->connection) == 0) {
		if (queue_empty(&v->out))
			return 0;
		if (await(v->connection, POLLOUT, FLUSH_TIMEOUT_MS) < 0)
			return -1;
	}
	return -1;
}

static int read_exactly(int fd, uint8_t *to, size_t size, int first_wait_ms)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = recv(fd, to + done, size - done, MSG_DONTWAIT);
		if (n > 0) {
			done += (size_t)n;
			first_wait_ms = FRAME_TIMEOUT_MS;
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

/* Skips frames for a program that had ended when the client sent them. */
static int skip_input(struct service *v)
{
	struct input *in = &v->input;
	while (in->have < FRAME_HEADER || (input_valid(in) && !input_complete(in))) {
		uint8_t *to;
		size_t wants = input_wants(in, &to);
		if (read_exactly(v->connection, to, wants, in->have ? FRAME_TIMEOUT_MS : -1) < 0)
			return -1;
		in->have += wants;
		if (input_complete(in) && input_valid(in))
			in->have = 0;
	}
	in->from = in->to = 0;
	in->signal = 0;
	return 0;
}

static int read_request(struct service *v, enum frame *frame, struct request *r)
{
	const uint8_t *header = v->input.header;
	struct refusal why;
	if (skip_input(v) < 0)
		return -1;
	v->input.have = 0;
	size_t size = (size_t)header[0] | (size_t)header[1] << 8 | (size_t)header[2] << 16 | (size_t)header[3] << 24;
	*frame = header[4];
	if (*frame != FRAME_STEP && *frame != FRAME_PARK && *frame != FRAME_PEER)
		return refuse(v, "unknown frame", "");
	const char *name = *frame == FRAME_STEP ? "STEP" : *frame == FRAME_PARK ? "PARK" : "PEER";
	if (size > FRAME_MAX)
		return refuse(v, "frame too large", name);
	if (area_grow(&v->body, size > BODY_KEPT ? size : BODY_KEPT) < 0)
		return refuse(v, "out of memory", name);
	if (read_exactly(v->connection, v->body.data, size, FRAME_TIMEOUT_MS) < 0)
		return -1;
	if (request_parse(*frame, v->body.data, size, r, &why) < 0)
		return refuse(v, why.reason, why.object);
	const char *reason = kept_files(v, r);
	return reason ? refuse(v, reason, "KEEP_FILES") : 0;
}

void forget_peer(struct service *v)
{
	free(v->peer);
	v->peer = NULL;
	area_free(&v->peer_body);
}

/* Waits for the next request, and looks after the runtimes that wait for one. */
static int await_request(struct service *v)
{
	for (;;) {
		bool waits = check_parked(v);
		if (v->dirty)
			return -1;
		if (await(v->connection, POLLIN, waits ? CHECK_PARKED_MS : -1) == 0)
			return 0;
		if (errno != ETIMEDOUT)
			return -1;
	}
}

int next_request(struct service *v, enum frame *frame, struct request *r)
{
	if (await_request(v) < 0)
		return -1;
	if (read_request(v, frame, r) < 0)
		return -1;
	if (*frame != FRAME_PEER)
		return 0;
	v->peer = malloc(sizeof *v->peer);
	if (!v->peer)
		return refuse(v, "out of memory", "PEER");
	*v->peer = *r;
	v->peer_body = v->body;
	v->body = (struct area){0};
	if (read_request(v, frame, r) < 0)
		return -1;
	if (*frame != FRAME_STEP)
		return refuse(v, "a STEP must follow", "PEER");
	if (r->stdin_data.size || r->number[KEY_LIVE_STDIN] || r->number[KEY_MORE] || r->number[KEY_COLLECT])
		return refuse(v, "with a PEER, a STEP has no input, files to collect, or step after it", "STEP");
	return 0;
}

void send_hello(struct service *v)
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

void send_failed(struct service *v, const struct failure *f)
{
	queue_frame(&v->out, FRAME_FAILED);
	queue_text(&v->out, KEY_STEP_NAME, f->step);
	queue_text(&v->out, KEY_STEP_OBJECT, f->object);
	queue_int(&v->out, KEY_STEP_ERRNO, (uint64_t)f->err);
	queue_frame_end(&v->out);
	flush_all(v);
}

void send_parked(struct service *v, const struct parked *p)
{
	uint64_t memory = 0;
	if (p)
		leaf_read(&v->slot.launcher->groups, p->box.leaf, FACT_MEMORY_NOW, &memory);
	queue_frame(&v->out, FRAME_PARKED);
	queue_int(&v->out, KEY_WAITING, p && p->request);
	queue_int(&v->out, KEY_WAITING_BYTES, memory);
	queue_frame_end(&v->out);
}

void send_teardown(struct queue *out, const struct teardown *t)
{
	queue_frame(out, FRAME_TEARDOWN);
	queue_int(out, KEY_REAPED, t->reaped);
	if (t->populated >= 0)
		queue_int(out, KEY_POPULATED, (uint64_t)t->populated);
	queue_int(out, KEY_PIDS_LEFT, t->pids_left);
	queue_int(out, KEY_ZOMBIES, (uint64_t)t->zombies);
	for (unsigned i = 0; i < t->mounts; i++)
		queue_text(out, KEY_RESIDUAL_MOUNT, t->mount[i]);
	for (unsigned i = 0; i < t->left_count; i++)
		queue_text(out, KEY_GROUP_LEFT, t->left[i]);
	for (unsigned i = 0; i < t->errors; i++)
		queue_text(out, KEY_COLLECTION_ERROR, t->error[i]);
	queue_frame_end(out);
}
