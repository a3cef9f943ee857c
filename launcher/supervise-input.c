/*
 * The input of a running step with LIVE_STDIN: INPUT and SIGNAL frames, which the client sends while the program runs. The
 * slot holds one frame at a time and reads the next one when the program's pipe has taken it, so that a client that sends
 * faster than the program reads has to wait.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "supervise-parts.h"

static size_t body_size(const struct input *in)
{
	const uint8_t *h = in->header;
	return (size_t)h[0] | (size_t)h[1] << 8 | (size_t)h[2] << 16 | (size_t)h[3] << 24;
}

size_t input_wants(struct input *in, uint8_t **to)
{
	if (in->have < FRAME_HEADER) {
		*to = in->header + in->have;
		return FRAME_HEADER - in->have;
	}
	size_t done = in->have - FRAME_HEADER;
	*to = in->body + done;
	return body_size(in) - done;
}

bool input_valid(const struct input *in)
{
	if (in->have < FRAME_HEADER)
		return true;
	return in->header[4] == FRAME_INPUT ? body_size(in) <= INPUT_MAX : in->header[4] == FRAME_SIGNAL && body_size(in) == 1;
}

bool input_complete(const struct input *in)
{
	return in->have >= FRAME_HEADER && in->have - FRAME_HEADER == body_size(in);
}

bool input_holds(const struct input *in) { return in->from < in->to; }

/* Passes on what is held, or discards it if the program reads no more. */
void input_pass(struct watch *w)
{
	struct input *in = w->input;
	int *to = &w->box->in_fd;
	while (input_holds(in) && *to >= 0) {
		ssize_t n = write(*to, in->body + in->from, in->to - in->from);
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			close_fd(to);
		else
			in->from += (size_t)n;
	}
	in->from = in->to = 0;
}

/* None that the kernel sends for a limit: it would count as evidence where BPF does not tell the sender. */
static int take_signal(struct watch *w, unsigned number)
{
	static const unsigned signals = 1u << SIGHUP | 1u << SIGINT | 1u << SIGQUIT | 1u << SIGKILL | 1u << SIGUSR1 | 1u << SIGUSR2 | 1u << SIGTERM;
	if (number > SIGNAL_MAX || !(signals >> number & 1))
		return -1;
	w->input->signal = number;
	input_signal(w);
	return 0;
}

/* Before its exec, the signal would end the parked process: a failure of the platform, after which the step is run again. */
void input_signal(struct watch *w)
{
	unsigned number = w->input->signal;
	if (!number || !w->box->lane->exec_args->exec_ns)
		return;
	w->input->signal = 0;
	if (syscall(__NR_pidfd_send_signal, w->box->program_fd, number, NULL, 0) == 0)
		w->o->sent_signal = number;
}

static int take_frame(struct watch *w)
{
	struct input *in = w->input;
	size_t size = body_size(in);
	in->have = 0;
	if (in->header[4] == FRAME_SIGNAL) {
		return take_signal(w, in->body[0]);
	} else if (size == 0) {
		close_fd(&w->box->in_fd);
	} else {
		in->to = size;
		input_pass(w);
	}
	return 0;
}

int input_read(struct watch *w)
{
	struct input *in = w->input;
	for (int rounds = READS_PER_ROUND; rounds > 0 && !input_holds(in) && !in->signal; rounds--) {
		uint8_t *to;
		size_t wants = input_wants(in, &to);
		ssize_t n = recv(w->connection, to, wants, MSG_DONTWAIT);
		if (n <= 0)
			return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
		in->have += (size_t)n;
		if (!input_valid(in) || (input_complete(in) && take_frame(w) < 0))
			return -1;
	}
	return 0;
}
