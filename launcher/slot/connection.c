/* What every process of a slot does at its start and with its connection (connection.h). */
#define _GNU_SOURCE
#include "slot/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "seccomp.h"

enum { FLUSH_TIMEOUT_MS = 30000 };

volatile int slot_stopping;

static void stop(int sig)
{
	(void)sig;
	slot_stopping = 1;
}

/*
 * Gives the slot the highest priority, for hosts without the cpu controller: a slot must get CPU time to kill its box, even if 64
 * programs run there. Children do not inherit the priority. Where root may not set it either (in a container), a kill comes some time
 * slices later.
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

int begin_process(pid_t launcher)
{
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
		return -1;
	prctl(PR_SET_DUMPABLE, 0);
	raise_priority();
	return 0;
}

int fix_descriptor_table(const struct launcher *l, int *connection, struct failure *f)
{
	enum { HIGHEST = 255 };
	/* The launcher has a descriptor of each connection. Those of others are closed by now, so there is a lower number. */
	if (*connection >= HIGHEST) {
		int lower = fcntl(*connection, F_DUPFD_CLOEXEC, 0);
		if (lower < 0)
			return fail(f, "slot", "descriptor of the connection");
		close(*connection);
		*connection = lower;
	}
	return dup3(l->proc, HIGHEST, O_CLOEXEC) == HIGHEST ? 0 : fail(f, "slot", "descriptor %d", HIGHEST);
}

int await(int fd, short events, int timeout_ms)
{
	struct pollfd on = {.fd = fd, .events = events};
	struct timespec wait = {timeout_ms / 1000, (timeout_ms % 1000) * 1000000L};
	sigset_t none;
	sigemptyset(&none);
	int n;
	errno = ECANCELED;
	if (slot_stopping) /* if SIGTERM arrived earlier, no second signal will interrupt this wait */
		return -1;
	while ((n = ppoll(&on, 1, timeout_ms < 0 ? NULL : &wait, &none)) < 0 && errno == EINTR && !slot_stopping)
		continue;
	errno = n == 0 ? ETIMEDOUT : ECANCELED;
	return n > 0 && !slot_stopping && (on.revents & events) ? 0 : -1;
}

int flush_all(struct queue *out, int connection)
{
	while (queue_flush(out, connection) == 0) {
		if (queue_empty(out))
			return 0;
		if (await(connection, POLLOUT, FLUSH_TIMEOUT_MS) < 0)
			return -1;
	}
	return -1;
}

int read_exactly(int fd, uint8_t *to, size_t size, int first_wait_ms)
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

int refuse_request(struct queue *out, int connection, const char *reason, const char *object)
{
	queue_frame(out, FRAME_REFUSED);
	queue_text(out, KEY_REASON, reason);
	queue_text(out, KEY_OBJECT, object);
	queue_frame_end(out);
	flush_all(out, connection);
	return -1;
}

void send_hello(struct queue *out, const struct launcher *l, unsigned number)
{
	queue_frame(out, FRAME_HELLO);
	queue_int(out, KEY_PROTOCOL, PROTOCOL_VERSION);
	queue_text(out, KEY_BUILD, l->build);
	queue_int(out, KEY_SLOT, number);
	queue_text(out, KEY_LAUNCHER, l->name);
	queue_text(out, KEY_BACKEND, groups_backend(&l->groups));
	queue_text(out, KEY_SIGNAL_SOURCE, l->signal_map >= 0 ? "bpf" : "none");
	queue_int(out, KEY_PRESSURE, l->groups.pressure);
	queue_text(out, KEY_SECCOMP_POLICY, SECCOMP_POLICY);
	queue_text(out, KEY_PIDFD_MODE, "native");
	queue_text(out, KEY_KERNEL, l->kernel);
	queue_frame_end(out);
}

void send_failed(struct queue *out, int connection, const struct failure *f)
{
	queue_frame(out, FRAME_FAILED);
	queue_text(out, KEY_STEP_NAME, f->step);
	queue_text(out, KEY_STEP_OBJECT, f->object);
	queue_int(out, KEY_STEP_ERRNO, (uint64_t)f->err);
	queue_frame_end(out);
	flush_all(out, connection);
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
	for (unsigned i = 0; i < t->leftovers; i++)
		queue_text(out, KEY_GROUP_LEFT, t->leftover[i]);
	for (unsigned i = 0; i < t->errors; i++)
		queue_text(out, KEY_COLLECTION_ERROR, t->error[i]);
	queue_frame_end(out);
}
