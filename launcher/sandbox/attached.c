/*
 * An attached slot (sandbox.h): runs the steps of one connection in a sandbox, one after the other. The first STEP names the sandbox. In its place, a REJOIN
 * makes the connection that of the holder. A step is
 * supervised like that of a submission; its program is born in a leaf of the sandbox, enters the namespaces of the sandbox and has its user.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cgroup/sandboxes.h"
#include "clock.h"
#include "descriptors.h"
#include "sandbox/sandbox.h"
#include "seccomp.h"
#include "slot/connection.h"
#include "supervise/supervise.h"

enum { HOLDER_TIMEOUT_MS = 10000, BODY_RETAINED_BYTES = 64 * 1024, LEAVES_TRIED = 3, REJOIN_BODY_MAX = 256 };

/* The state of an attached slot, in memory that no program inherits. */
struct attached_slot {
	struct slot slot;
	struct box box;     /* the parts of the sandbox that runs need */
	struct groups groups;
	struct run run;
	int connection, holder;
	int leaf; /* whose groups are open in the run lane, because the next step often has the same leaf; -1: none yet */
	bool network; /* the sandbox has one */
	char token[TOKEN_BYTES + 1]; /* of the sandbox; empty: there was no STEP yet */
	struct queue out;
	struct area body;
	struct request request;
	struct input input;
	char named[TOKEN_BYTES + 1]; /* the token of the last STEP */
	char rejoined[TOKEN_BYTES + 1]; /* the token of a REJOIN; empty: there was none */
};

/* ---- the holder ---- */

static int connect_holder(const struct launcher *l, const char *token)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0 || fchdir(l->sockets) < 0)
		return -1;
	snprintf(address.sun_path, sizeof address.sun_path, "%s", token);
	int done = connect(fd, (struct sockaddr *)&address, sizeof address), err = errno;
	explicit_bzero(&address, sizeof address); /* programs are born with a copy of this stack */
	if (chdir("/") < 0)
		_exit(1);
	if (done == 0)
		return fd;
	close(fd);
	errno = err;
	return -1;
}

/* Waits for a message of this kind. Others concern only a step that runs. Returns -1 with errno if the sandbox ends. */
static int await_message(struct attached_slot *a, enum held_kind kind, struct held_message *m, struct held_descriptors *d)
{
	for (;;) {
		if (await(a->holder, POLLIN, HOLDER_TIMEOUT_MS) < 0)
			return -1;
		if (held_receive(a->holder, m, d) < 0) {
			if (errno == EAGAIN || errno == EINTR)
				continue;
			return -1;
		}
		if (m->kind == kind)
			return 0;
	}
}

/* Reads a message while a program is supervised. */
static int on_holder(void *context, int holder)
{
	struct attached_slot *a = context;
	struct held_message m;
	if (held_receive(holder, &m, NULL) < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	const struct held_message started = {.kind = HELD_STARTED};
	switch (m.kind) {
	case HELD_ASK: held_send(holder, &started, NULL); return 0; /* the step was started, or there is none any more */
	case HELD_PAUSED: return HOLDER_PAUSED;
	case HELD_RESUMED: return HOLDER_RESUMED;
	case HELD_ENDS: return HOLDER_ENDS;
	case HELD_STAY: a->slot.launcher->notes[a->slot.number].stays_with = m.number + 1; return HOLDER_STAY;
	default: return 0;
	}
}

static void give_back(struct attached_slot *a, int number, bool left, bool reusable)
{
	const struct leaf *leaf = &a->slot.run_lane[0].leaf;
	struct held_message m = {
		.kind = HELD_GIVE, .leaf = number, .left = left, .reusable = reusable, .killed = leaf->killed, .as_new = reusable && !left && leaf_is_as_new(&a->groups, leaf),
	};
	if (leaf_read(&a->groups, leaf, FACT_MEMORY_NOW, &m.charged) < 0)
		m.charged = UINT64_MAX;
	held_send(a->holder, &m, NULL); /* if it fails, the sandbox ends */
}

/* Gets the sandbox with this token from its holder. */
static int attach(struct attached_slot *a, const char *token, struct failure *f)
{
	struct held_message m;
	struct held_descriptors d;
	const struct launcher *l = a->slot.launcher;
	const struct held_message join = {.kind = HELD_JOIN};
	a->holder = connect_holder(l, token);
	if (a->holder < 0)
		return fail_with(f, ENOENT, "sandbox", "there is none with this token");
	if (held_send(a->holder, &join, NULL) < 0 || await_message(a, HELD_BOX, &m, &d) < 0 || d.init < 0 || d.terminals < 0 || d.groups[TREE_UNIFIED] < 0)
		return fail_with(f, EAGAIN, "sandbox", "has too many connections, or ends");
	struct lane *lane = &a->slot.lane[0];
	lane->uid = m.uid;
	memcpy(lane->namespace_fd, d.namespaces, sizeof lane->namespace_fd);
	a->groups = l->groups;
	memcpy(a->groups.dir, d.groups, sizeof a->groups.dir);
	a->slot.cpu_group_tasks = d.cpu_tasks;
	a->box = (struct box){
		.built = true, .attached = true, .groups = &a->groups, .lane = lane, .init = m.init, .init_fd = d.init, .mount_ns = -1, .lifeline = -1,
		.work = -1, .terminals = d.terminals,
	};
	leaf_name(&a->slot.run_lane[0].leaf, LEAF_OF_HOLDER, "");
	a->leaf = -1;
	a->network = m.network != 0;
	snprintf(a->token, sizeof a->token, "%s", token);
	return 0;
}

/* Passes the connection to the holder of this sandbox, which answers the client. */
static int rejoin(struct attached_slot *a, const char *token, struct failure *f)
{
	struct held_message m = {.kind = HELD_REJOIN, .number = a->slot.number};
	struct held_descriptors d = held_none();
	d.connection = a->connection;
	a->holder = connect_holder(a->slot.launcher, token);
	if (a->holder < 0)
		return fail_with(f, ENOENT, "sandbox", "there is none with this token");
	if (held_send(a->holder, &m, &d) < 0 || await_message(a, HELD_REJOINED, &m, NULL) < 0)
		return fail_with(f, EAGAIN, "sandbox", "has too many connections, or ends");
	return m.err ? fail_with(f, m.err, "sandbox", m.err == EPERM ? "is not kept" : "ends") : 0;
}

/* ---- a step ---- */

/*
 * Says that a failure to build a run is one of the sandbox if its own programs can cause it: they can kill or stop a program that is being
 * parked, take its terminal, and use up the processes and the memory of the sandbox.
 */
static void attribute(struct failure *f)
{
	static const int theirs[] = {ESRCH, ETIMEDOUT, EAGAIN, ENOMEM};
	for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++)
		if (!strcmp(f->step, "box") && (f->err == theirs[i] || !strncmp(f->object, "terminal", strlen("terminal"))))
			f->step = "sandbox";
}

/* Lets the run lane have this leaf. What is open of the groups that the slot has had before stays open: to open them costs as much as to start a program. */
static void use_leaf(struct attached_slot *a, int number, unsigned same)
{
	struct leaf *leaf = &a->slot.run_lane[0].leaf;
	char name[16];
	leaf_close_all_but(&a->groups, leaf, number == a->leaf ? same : 0);
	leaf->frozen = leaf->killed = false;
	if (number != a->leaf) {
		pool_name(number, name);
		leaf_name(leaf, LEAF_OF_HOLDER, name);
	}
	a->leaf = number;
}

/* Builds the run of a step in a leaf of the sandbox. Returns the number of the leaf, or -1 with the failure. */
static int build_run(struct attached_slot *a, const struct request *r, struct failure *f)
{
	struct terminal_size size = {(uint16_t)r->number[KEY_ROWS], (uint16_t)r->number[KEY_COLUMNS]};
	const enum run_input input = r->number[KEY_LIVE_STDIN] ? INPUT_PIPED : r->stdin_data.size ? INPUT_FILE : INPUT_EMPTY;
	for (int tries = 0; tries < LEAVES_TRIED; tries++) {
		struct held_message take = {.kind = HELD_TAKE, .while_frozen = r->number[KEY_WHILE_FROZEN] != 0}, m;
		struct teardown t = {.reaped = true};
		if (held_send(a->holder, &take, NULL) < 0 || await_message(a, HELD_LEAF, &m, NULL) < 0)
			return fail_with(f, ECONNRESET, "sandbox", "has ended");
		if (m.err || m.leaf < 0)
			return fail_with(f, m.err, "sandbox", m.err == EBUSY ? "is paused" : m.err == ENOTSUP ? "is not frozen" : "no leaf for the step");
		use_leaf(a, m.leaf, m.same);
		*f = (struct failure){0};
		if (run_build_attached(&a->slot, &a->run, &a->box, input, size.rows ? &size : NULL, f) == 0)
			return m.leaf;
		bool unfit = a->run.leaf_unfit;
		run_end(&a->run, &t);
		run_destroy(&a->slot, &a->run, &t);
		give_back(a, m.leaf, false, false);
		if (!unfit) {
			attribute(f);
			return -1;
		}
	}
	return -1;
}

/* Asks whether the step goes on without a client. */
static void on_left(void *context)
{
	struct attached_slot *a = context;
	struct held_message m = {.kind = HELD_LEFT};
	held_send(a->holder, &m, NULL); /* if it fails, the sandbox ends */
}

/* Tells the client by which group the connections of the step are known, before there can be one. Returns -1 if the client does not read that. */
static int announce(struct attached_slot *a)
{
	queue_frame(&a->out, FRAME_BEGUN);
	queue_int(&a->out, KEY_GROUP_ID, a->run.leaf->id);
	queue_frame_end(&a->out);
	return flush_all(&a->out, a->connection);
}

/* Runs a step. Returns false if the slot must end, because something of the step is left, or because its client has left before it began. */
static bool serve_step(struct attached_slot *a, const struct request *r)
{
	struct failure f = {0};
	struct teardown t = {.reaped = true, .populated = -1};
	struct run *run = &a->run;
	memset(run, 0, sizeof *run);
	int leaf = build_run(a, r, &f);
	if (leaf < 0) {
		memset(run, 0, sizeof *run);
		run->outcome.failure = f;
		outcome_report(run, &a->out);
		send_teardown(&a->out, &t);
		return true;
	}
	if (a->network && announce(a) < 0) {
		run_end(run, &t);
		run_destroy(&a->slot, run, &t);
		give_back(a, leaf, false, !run->leaf_unfit);
		return false;
	}
	run->request = r;
	run->out = &a->out;
	run->leaves = r->number[KEY_LEAVE_PROCESSES];
	struct client client = {
		.connection = a->connection, .holder = a->holder, .on_holder = on_holder, .out = &a->out,
		.input = r->number[KEY_LIVE_STDIN] ? &a->input : NULL, .stopping = &slot_stopping, .context = a,
		.on_left = r->number[KEY_LEAVE_PROCESSES] && !r->number[KEY_PACED] ? on_left : NULL,
	};
	supervise(&a->slot, &run, 1, &client);
	outcome_report(run, &a->out);
	queue_flush(&a->out, a->connection); /* nobody gets the report of a step that has stayed */
	bool left = run->outcome.processes_left > 0;
	if (!left)
		run_end(run, &t);
	run_destroy(&a->slot, run, &t);
	give_back(a, leaf, left, !run->leaf_unfit);
	send_teardown(&a->out, &t);
	return t.reaped && client.holder >= 0;
}

/* ---- the connection ---- */

/* Waits for a request, or for the end of the sandbox. */
static int await_request(struct attached_slot *a)
{
	for (;;) {
		struct pollfd on[] = {{.fd = a->connection, .events = POLLIN}, {.fd = a->holder, .events = POLLIN}};
		sigset_t none;
		sigemptyset(&none);
		if (slot_stopping)
			return -1;
		if (ppoll(on, 2, NULL, &none) < 0) {
			if (errno == EINTR)
				continue;
			return -1;
		}
		if (on[1].revents && on_holder(a, a->holder) < 0)
			return -1;
		if (on[0].revents)
			return on[0].revents & POLLIN ? 0 : -1;
	}
}

static int read_rejoin(struct attached_slot *a, size_t size)
{
	uint8_t body[REJOIN_BODY_MAX];
	struct refusal why;
	if (size > sizeof body)
		return refuse_request(&a->out, a->connection, "frame too large", "REJOIN");
	if (read_exactly(a->connection, body, size, FRAME_TIMEOUT_MS) < 0)
		return -1;
	if (rejoin_parse(body, size, a->rejoined, &why) < 0)
		return refuse_request(&a->out, a->connection, why.reason, why.object);
	return 0;
}

/* Reads the next STEP, or as the first frame a REJOIN, and skips input for a program that has ended. Returns -1 if the connection closes. */
static int read_step(struct attached_slot *a)
{
	struct input *in = &a->input;
	struct refusal why;
	for (;;) {
		while (in->received < FRAME_HEADER || (input_valid(in) && !input_complete(in))) {
			uint8_t *to;
			size_t wants = input_missing(in, &to);
			if (!in->received && await_request(a) < 0)
				return -1;
			if (read_exactly(a->connection, to, wants, FRAME_TIMEOUT_MS) < 0)
				return -1;
			in->received += wants;
		}
		if (!input_valid(in))
			break;
		in->received = 0;
	}
	in->received = in->begin = in->end = 0;
	in->signal = 0;
	const uint8_t *header = in->header;
	size_t size = (size_t)header[0] | (size_t)header[1] << 8 | (size_t)header[2] << 16 | (size_t)header[3] << 24;
	if (header[4] == FRAME_REJOIN && !a->token[0])
		return read_rejoin(a, size);
	if (header[4] != FRAME_STEP)
		return refuse_request(&a->out, a->connection, "unknown frame", "");
	if (size > FRAME_MAX)
		return refuse_request(&a->out, a->connection, "frame too large", "STEP");
	if (area_grow(&a->body, size > BODY_RETAINED_BYTES ? size : BODY_RETAINED_BYTES) < 0)
		return refuse_request(&a->out, a->connection, "out of memory", "STEP");
	if (read_exactly(a->connection, a->body.data, size, FRAME_TIMEOUT_MS) < 0)
		return -1;
	if (request_parse(FRAME_STEP, a->body.data, size, &a->request, &why) < 0)
		return refuse_request(&a->out, a->connection, why.reason, why.object);
	if (!a->request.sandbox.size)
		return refuse_request(&a->out, a->connection, "missing key", "SANDBOX");
	if (a->token[0] && memcmp(a->token, a->request.sandbox.data, TOKEN_BYTES))
		return refuse_request(&a->out, a->connection, "another than before", "SANDBOX");
	return 0;
}

int attached_serve(const struct launcher *l, unsigned number, int connection, pid_t launcher)
{
	static struct area area;
	struct attached_slot *a = area_of(&area, sizeof *a);
	struct failure f = {0};

	if (begin_process(launcher) < 0)
		return 1;
	a->connection = connection;
	a->holder = -1;
	if (fix_descriptor_table(l, &a->connection, &f) < 0 || groups_join(&l->sandboxes.below, number, NULL, &f) < 0 ||
	    slot_prepare_attached(&a->slot, l, number, &f) < 0) {
		send_failed(&a->out, a->connection, &f);
		return 1;
	}
	send_hello(&a->out, l, number);
	while (flush_all(&a->out, a->connection) == 0 && read_step(a) == 0) {
		if (a->rejoined[0]) {
			if (rejoin(a, a->rejoined, &f) < 0)
				send_failed(&a->out, a->connection, &f);
			break;
		}
		memcpy(a->named, a->request.sandbox.data, TOKEN_BYTES);
		if (!a->token[0] && attach(a, a->named, &f) < 0) {
			send_failed(&a->out, a->connection, &f);
			break;
		}
		bool goes_on = serve_step(a, &a->request);
		if (flush_all(&a->out, a->connection) < 0 || !goes_on)
			break;
		if (a->body.size > BODY_RETAINED_BYTES)
			area_free(&a->body);
		queue_shrink(&a->out);
	}
	return 0;
}
