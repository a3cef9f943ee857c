#define _GNU_SOURCE
#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../launcher/clock.h"
#include "message.h"

enum { BUFFER = 65536, PLAIN_MS = 5000, FILE_MS = 60000, RETRY_MS = 100 };

struct relay {
	pid_t pid; /* 0: there is none */
	bool is_plain; /* plain text, for a person */
};
static struct relay relays[2];

static bool is_passed_on(int fd)
{
	struct stat found, null;
	if (fstat(fd, &found) < 0)
		return true; /* it is closed */
	return S_ISFIFO(found.st_mode) ||
	       (S_ISCHR(found.st_mode) && stat("/dev/null", &null) == 0 && found.st_rdev == null.st_rdev);
}

static bool is_same(int one, int other)
{
	struct stat first, second;
	return fstat(one, &first) == 0 && fstat(other, &second) == 0 && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

/*
 * Replaces control characters by question marks: those of ASCII, and those of Unicode, which are 0xc2 and 0x80 to 0x9f in UTF-8. Other
 * bytes of UTF-8 stay: a terminal that is not in UTF-8 mode can still interpret 0x80 to 0x9f as control characters.
 */
struct plain_text {
	bool clears_terminal;
	bool after_c2; /* the last byte was 0xc2, and is not in the result yet */
};

static size_t to_plain_text(struct plain_text *t, const unsigned char *from, size_t length, char *result)
{
	static const char clear[] = "\033[H\033[J";
	size_t n = 0;
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = from[i];
		if (t->after_c2) {
			t->after_c2 = false;
			if (byte >= 0x80 && byte <= 0x9f) {
				result[n++] = '?';
				continue;
			}
			result[n++] = (char)0xc2;
		}
		if (byte == 0xc2) {
			t->after_c2 = true;
		} else if (byte == '\f' && t->clears_terminal) {
			memcpy(result + n, clear, sizeof clear - 1);
			n += sizeof clear - 1;
		} else {
			result[n++] = (byte >= ' ' && byte != 0x7f) || byte == '\t' || byte == '\n' ? (char)byte : '?';
		}
	}
	return n;
}

/* Returns false with errno if not all of it was written. */
static bool write_all(int fd, const char *text, size_t length)
{
	while (length > 0) {
		ssize_t written = write(fd, text, length);
		if (written < 0 && errno == EAGAIN) { /* another process has made the terminal or socket non-blocking */
			struct pollfd wait = {.fd = fd, .events = POLLOUT};
			poll(&wait, 1, -1);
			continue;
		}
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return false;
		text += written;
		length -= (size_t)written;
	}
	return true;
}

/* The relay. Returns its exit status: 1 if output to a file was lost and the relay does not go on. */
static int copy(int from, int to, bool is_plain, bool to_terminal, const struct relay_options *o)
{
	static unsigned char part[BUFFER];
	static char plain[6 * BUFFER + 1]; /* the longest replacement, and a byte of the part before */
	struct plain_text text = {.clears_terminal = o->clears_terminal};
	uint64_t most = o->most;
	bool open = true;
	for (;;) {
		ssize_t got = read(from, part, sizeof part);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			if (text.after_c2 && open)
				write_all(to, "?", 1);
			return 0;
		}
		size_t length = (uint64_t)got < most ? (size_t)got : (size_t)most;
		most -= length;
		if (!open || length == 0)
			continue;
		bool done = is_plain ? write_all(to, plain, to_plain_text(&text, part, length, plain))
						    : write_all(to, (const char *)part, length);
		if (done)
			continue;
		if (to_terminal) {
			open = false; /* it was closed; the writer must not block */
		} else if (o->goes_on) {
			poll(NULL, 0, RETRY_MS);
		} else {
			say("error: cannot write the output: %s", strerror(errno));
			return 1;
		}
	}
}

static int start(int number, const struct relay_options *o, int *write_end)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	bool to_terminal = isatty(number + 1);
	relays[number].is_plain = to_terminal || o->plain;
	pid_t pid = fork();
	if (pid < 0)
		return -1;
	if (pid == 0) {
		/* In a session of its own, Ctrl-C does not end it before the service. It has no descriptor that it could keep open. */
		setsid();
		sigset_t none;
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		int from = fcntl(ends[0], F_DUPFD, 3), to = fcntl(number + 1, F_DUPFD, 3), errors = fcntl(2, F_DUPFD, 3);
		if (from < 0 || to < 0 || errors < 0 || dup2(from, 0) < 0 || dup2(to, 1) < 0 || dup2(errors, 2) < 0)
			_exit(1);
		closefrom(3);
		_exit(copy(0, 1, relays[number].is_plain, to_terminal, o));
	}
	relays[number].pid = pid;
	close(ends[0]);
	*write_end = ends[1];
	return 0;
}

int relays_open(const struct relay_options *options, int to[2])
{
	for (int i = 0; i < 2; i++) {
		if (is_passed_on(i + 1) && !options->plain && options->most == UINT64_MAX)
			continue;
		if (i == 1 && to[0] >= 0 && is_same(1, 2))
			to[1] = to[0];
		else if (start(i, options, &to[i]) < 0)
			return -1;
	}
	return 0;
}

bool relays_close(int to[2])
{
	bool complete = true;
	uint64_t closed = now_ns();
	if (to[1] >= 0 && to[1] != to[0])
		close(to[1]);
	if (to[0] >= 0)
		close(to[0]);
	for (int i = 0; i < 2; i++) {
		if (relays[i].pid == 0)
			continue;
		uint64_t end = closed + (uint64_t)(relays[i].is_plain ? PLAIN_MS : FILE_MS) * 1000000;
		int status = 0;
		/* A process of the service's user that does not end can hold the pipe open. */
		while (waitpid(relays[i].pid, &status, WNOHANG) == 0) {
			if (now_ns() >= end)
				kill(relays[i].pid, SIGKILL);
			poll(NULL, 0, 5);
		}
		if (!relays[i].is_plain && status != 0)
			complete = false;
	}
	if (!complete)
		say("not all output was written");
	return complete;
}
