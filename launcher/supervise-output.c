/* Output of the program: read, counted, and forwarded up to its limit. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "clock.h"
#include "seccomp.h"
#include "supervise-parts.h"

enum { READS_PER_FRAME = 256 };

static void count_output(struct watch *w, int stream, size_t size)
{
	w->o->seen[stream] += size;
	w->o->last_output_ns = now_ns();
}

static uint64_t output_limit(const struct watch *w, int stream)
{
	return w->request->number[stream == 0 ? KEY_STDOUT_BYTES : KEY_STDERR_BYTES];
}

size_t queue_output(struct watch *w, int stream, const uint8_t *chunk, size_t size)
{
	uint64_t limit = output_limit(w, stream);
	uint64_t kept = w->o->seen[stream] < limit ? limit - w->o->seen[stream] : 0;
	if (kept > size)
		kept = size;
	if (kept) {
		queue_frame(w->out, stream == 0 ? FRAME_STDOUT : FRAME_STDERR);
		queue_raw(w->out, chunk, (size_t)kept);
		queue_frame_end(w->out);
	}
	count_output(w, stream, size);
	return (size_t)kept;
}

bool past_output_limit(const struct watch *w, int stream)
{
	return w->o->seen[stream] >= output_limit(w, stream);
}

bool exceeds_output_limit(const struct watch *w, int stream)
{
	return w->o->seen[stream] > output_limit(w, stream);
}

/*
 * Past the limit nothing is copied: the pages of the pipe go to /dev/null. The key of the filter (seccomp.h) is the length,
 * because the call has no other argument left; a pipe never holds as much. Returns like read().
 */
static ssize_t discard_output(const struct watch *w, int fd)
{
	return syscall(__NR_splice, fd, NULL, w->slot->null, NULL, seccomp_key, SPLICE_F_NONBLOCK);
}

/*
 * Reads one pipe and forwards the data up to the limit. Returns false at its end. A program can switch its pipe to
 * packet mode, in which each read returns one write. Several reads therefore share a frame: a frame for each byte would
 * keep the service busy.
 */
bool forward_output(struct watch *w, int *fd, int stream, int rounds)
{
	static struct area area;
	uint8_t *chunk = area_of(&area, READ_AT_ONCE);
	size_t away = 0; /* bytes past the limit: no more than a pipe holds, since a writer refills it meanwhile */
	while (*fd >= 0 && rounds-- > 0 && away < PIPE_BYTES) {
		size_t used = 0;
		ssize_t n = 0;
		for (int pieces = 0; pieces < READS_PER_FRAME && used < READ_AT_ONCE; pieces++) {
			bool past = used == 0 && past_output_limit(w, stream);
			n = past ? discard_output(w, *fd) : read(*fd, chunk + used, READ_AT_ONCE - used);
			if (n <= 0)
				break;
			if (!past) {
				used += (size_t)n;
				continue;
			}
			count_output(w, stream, (size_t)n);
			away += (size_t)n;
			if (away >= PIPE_BYTES)
				break;
		}
		int err = errno;
		if (used)
			queue_output(w, stream, chunk, used);
		if (n > 0 || (n < 0 && err == EINTR))
			continue;
		if (n < 0 && err == EAGAIN)
			return true;
		if (n < 0)
			w->o->write_error = true;
		close(*fd);
		*fd = -1;
	}
	return *fd >= 0;
}

/*
 * Every writer is dead, so the pipes end, although later if they are in a cycle of sockets. A deadline guards this
 * assumption.
 */
void drain_pipes(struct watch *w)
{
	uint64_t deadline = now_ns() + END_TIMEOUT_MS * 1000000ull;
	int *fd[] = {&w->box->out_fd, &w->box->err_fd};
	for (int stream = 0; stream < 2; stream++)
		while (forward_output(w, fd[stream], stream, READS_PER_ROUND)) {
			struct pollfd more = {.fd = *fd[stream], .events = POLLIN};
			if (now_ns() >= deadline) {
				evidence_error(w->o, stream == 0 ? "stdout" : "stderr", ETIMEDOUT);
				w->o->write_error = true;
				break;
			}
			collect_socket_cycles();
			poll(&more, 1, 10);
		}
}
