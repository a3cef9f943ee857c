/*
 * The relay of a sandbox (relay.h). It is one process with one loop, which waits for all of its sockets at once and never blocks on one of them. What it holds is
 * bounded: STREAMS_MAX connections with a buffer for each direction, and QUERIES_MAX queries that wait for an answer. While a buffer is full, its source is
 * not read, so the kernel holds back whoever writes to it.
 */
#define _GNU_SOURCE
#include "egress/relay.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "calls.h"
#include "clock.h"
#include "descriptors.h"
#include "seccomp.h"

#define PROXY_SOCKET "egress.sock"

enum {
	STREAMS_MAX = 128, BUFFER_BYTES = 64 << 10,
	QUERIES_MAX = 128, QUERY_BYTES = 4096, DNS_PORT = 53, ANSWER_BYTES = 4096,
	DECISION_TIMEOUT_MS = 60000, /* the proxy resolves and dials meanwhile, and has limits of its own */
	PROXY_RETRY_MS = 100,
	VERSION = 1, STREAM = 1, CONTROL = 2,
	FRAME_QUERY = 1, FRAME_ANSWER = 2, FRAME_RESET = 3,
};

/* One direction of a connection. */
struct half {
	uint8_t *data;
	size_t begin, end;
	bool over;   /* the source has no more */
	bool passed; /* and the destination was told so */
};

struct stream {
	int program, proxy; /* sockets; -1: the stream is free */
	bool permitted;
	uint64_t id, begun_ns;
	struct half up, down;
};

struct query {
	bool waits;
	struct sockaddr_in6 from;
	struct in6_pktinfo to; /* the address that the program asked, from which the answer comes */
};

/* What precedes the message of DNS in a query, and in an answer. A reset is like an answer without a message. The size counts what follows it. */
struct query_frame {
	uint16_t size;
	uint8_t kind, reserved;
	uint16_t source_port, unused;
	uint64_t number, group;
} __attribute__((packed));
struct answer_frame {
	uint16_t size;
	uint8_t kind, reserved;
	uint32_t unused;
	uint64_t number; /* of the query, or of the stream that is to be reset */
} __attribute__((packed));
_Static_assert(sizeof(struct query_frame) == 24 && sizeof(struct answer_frame) == 16, "as src/egress/protocol.ts has them");

static struct relay relay;
static struct stream stream[STREAMS_MAX];
static struct query query[QUERIES_MAX];
static uint64_t streams_begun, queries_begun;
static int control = -1;
static uint64_t control_tried_ns;
static bool is_permitted; /* whether the proxy has answered on the control connection */
static uint8_t received[sizeof(struct answer_frame) + ANSWER_BYTES]; /* of the control connection */
static size_t received_bytes;

/* ---- the proxy ---- */

/* Connects to the proxy, and sends the header. Returns -1 if there is none, or if it has too many connections that it has not accepted. */
static int connect_proxy(const struct relay_header *header)
{
	static const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = PROXY_SOCKET}; /* in the working directory */
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
	    send(fd, header, sizeof *header, MSG_NOSIGNAL) == (ssize_t)sizeof *header)
		return fd;
	close(fd);
	return -1;
}

static struct relay_header header_of(uint8_t kind)
{
	struct relay_header header = {.magic = {'A', 'S', 'E', 'G'}, .version = VERSION, .kind = kind};
	memcpy(header.token, relay.token, sizeof header.token);
	return header;
}

static void end_stream(struct stream *s, bool with_reset);

/* Without a control connection, no stream may go on: its proxy has ended, or has forgotten the sandbox. */
static void lose_control(void)
{
	close_fd(&control);
	is_permitted = false;
	received_bytes = 0;
	memset(query, 0, sizeof query);
	for (struct stream *s = stream; s < stream + STREAMS_MAX; s++)
		if (s->program >= 0)
			end_stream(s, true);
}

/* Opens the control connection if there is none, but does not try that all the time. */
static bool has_control(void)
{
	uint64_t now = now_ns();
	if (control >= 0 || now - control_tried_ns < PROXY_RETRY_MS * 1000000ull)
		return control >= 0;
	struct relay_header header = header_of(CONTROL);
	control_tried_ns = now;
	control = connect_proxy(&header);
	return control >= 0;
}

/* ---- streams ---- */

/* Closes a connection so that its other end sees a reset. The filter of programs, which the relay has as well, lets no close linger (seccomp.def). */
static void reset(int fd)
{
	static const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
	connect(fd, &nowhere, sizeof nowhere);
	close(fd);
}

static void end_stream(struct stream *s, bool with_reset)
{
	if (with_reset)
		reset(s->program);
	else
		close(s->program);
	close(s->proxy);
	/* What has passed is of no use to anybody, and its memory is charged to the sandbox. */
	madvise(s->up.data, 2 * BUFFER_BYTES, MADV_DONTNEED);
	*s = (struct stream){.program = -1, .proxy = -1, .up = {.data = s->up.data}, .down = {.data = s->down.data}};
}

/* Asks the kernel which group has made the socket of a program that has sent from one address to the other. Returns 0 if it does not say. */
static uint64_t group_of(uint8_t protocol, const struct sockaddr_in6 *from, const struct sockaddr_in6 *to)
{
	struct {
		struct nlmsghdr header;
		struct inet_diag_req_v2 body;
	} request = {
		{.nlmsg_len = sizeof request, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
		{.sdiag_family = AF_INET6, .sdiag_protocol = protocol, .idiag_states = ~0u},
	};
	union {
		struct nlmsghdr header;
		char bytes[4096];
	} answer;
	struct inet_diag_sockid *id = &request.body.id;
	/* The kernel looks for a socket of UDP with the address that its datagrams come to as the destination, and for one of TCP as the source. */
	const struct sockaddr_in6 *source = protocol == IPPROTO_UDP ? to : from, *destination = protocol == IPPROTO_UDP ? from : to;
	bool mapped = IN6_IS_ADDR_V4MAPPED(&from->sin6_addr);
	id->idiag_sport = source->sin6_port;
	id->idiag_dport = destination->sin6_port;
	id->idiag_cookie[0] = id->idiag_cookie[1] = (uint32_t)INET_DIAG_NOCOOKIE;
	if (mapped)
		request.body.sdiag_family = AF_INET;
	memcpy(id->idiag_src, (const char *)&source->sin6_addr + (mapped ? 12 : 0), mapped ? 4 : 16);
	memcpy(id->idiag_dst, (const char *)&destination->sin6_addr + (mapped ? 12 : 0), mapped ? 4 : 16);
	if (send(relay.diag, &request, sizeof request, MSG_DONTWAIT) < 0)
		return 0;
	ssize_t n = recv(relay.diag, &answer, sizeof answer, MSG_DONTWAIT);
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(struct inet_diag_msg)) || !NLMSG_OK(&answer.header, (size_t)n) || answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return 0;
	/* If the socket is gone, the kernel may find the listener in its place. */
	const struct inet_diag_msg *found = NLMSG_DATA(&answer.header);
	if (found->id.idiag_sport != from->sin6_port || (protocol == IPPROTO_TCP && found->id.idiag_dport != to->sin6_port))
		return 0;
	int left = (int)(answer.header.nlmsg_len - NLMSG_LENGTH(sizeof(struct inet_diag_msg)));
	for (const struct rtattr *a = (const struct rtattr *)(found + 1); RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == INET_DIAG_CGROUP_ID && RTA_PAYLOAD(a) == sizeof(uint64_t)) {
			uint64_t group;
			memcpy(&group, RTA_DATA(a), sizeof group);
			return group;
		}
	return 0;
}

static struct stream *free_stream(void)
{
	for (struct stream *s = stream; s < stream + STREAMS_MAX; s++)
		if (s->program < 0)
			return s;
	return NULL;
}

static void accept_program(void)
{
	struct sockaddr_in6 from, to;
	socklen_t from_size = sizeof from, to_size = sizeof to;
	int yes = 1, program = accept4(relay.listener, (struct sockaddr *)&from, &from_size, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (program < 0)
		return;
	struct stream *s = free_stream();
	if (!s || from_size != sizeof from || getsockname(program, (struct sockaddr *)&to, &to_size) < 0 || to_size != sizeof to || !has_control()) {
		reset(program);
		return;
	}
	struct relay_header header = header_of(STREAM);
	s->id = ++streams_begun;
	s->begun_ns = now_ns();
	header.stream = htobe64(s->id);
	header.group = htobe64(group_of(IPPROTO_TCP, &from, &to));
	memcpy(header.address, &to.sin6_addr, sizeof header.address);
	header.port = to.sin6_port;
	header.source_port = from.sin6_port;
	setsockopt(program, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
	s->program = program;
	if ((s->proxy = connect_proxy(&header)) < 0) {
		reset(program);
		s->program = -1;
	}
}

/* Moves bytes of one direction as far as that is possible now. Returns -1 if a socket has failed. */
static int pass(struct half *h, int from, int to)
{
	if (h->begin == h->end && !h->over) {
		ssize_t n = recv(from, h->data, BUFFER_BYTES, MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		h->over = n == 0;
		h->begin = 0;
		h->end = (size_t)n;
	}
	while (h->begin < h->end) {
		ssize_t n = send(to, h->data + h->begin, h->end - h->begin, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		h->begin += (size_t)n;
	}
	if (h->over && !h->passed) {
		h->passed = true;
		return shutdown(to, SHUT_WR) < 0 && errno != ENOTCONN ? -1 : 0;
	}
	return 0;
}

/* What a direction waits for: to read, or to write what it has. */
static void wait_for(const struct half *h, struct pollfd *from, struct pollfd *to)
{
	if (h->begin < h->end)
		to->events |= POLLOUT;
	else if (!h->over)
		from->events |= POLLIN;
}

static void wait_for_stream(const struct stream *s, struct pollfd *program, struct pollfd *proxy)
{
	*program = (struct pollfd){.fd = s->program};
	*proxy = (struct pollfd){.fd = s->proxy};
	if (s->program < 0)
		return;
	if (!s->permitted) {
		proxy->events = POLLIN;
		return;
	}
	wait_for(&s->up, program, proxy);
	wait_for(&s->down, proxy, program);
	/* A socket that has failed, and for which no direction waits, would wake the loop for ever. */
	if (!program->events)
		program->fd = -1;
	if (!proxy->events)
		proxy->fd = -1;
}

/* Whether the proxy has closed its socket, and not only the direction to the program: then it has ended. */
static bool has_closed(int proxy)
{
	struct pollfd socket = {.fd = proxy};
	return poll(&socket, 1, 0) > 0 && socket.revents & (POLLHUP | POLLERR);
}

static void serve_stream(struct stream *s, const struct pollfd *program, const struct pollfd *proxy)
{
	if (s->program < 0 || (!program->revents && !proxy->revents && s->permitted))
		return;
	if (!s->permitted) {
		uint8_t decision;
		ssize_t n = proxy->revents ? recv(s->proxy, &decision, 1, MSG_DONTWAIT) : -1;
		bool waits = n < 0 && (!proxy->revents || errno == EAGAIN || errno == EINTR);
		bool left = program->revents & (POLLERR | POLLHUP);
		if (n == 1 && decision == RELAY_PERMITTED && !left)
			s->permitted = true;
		else if (left || !waits || now_ns() - s->begun_ns > DECISION_TIMEOUT_MS * 1000000ull)
			end_stream(s, true);
		return;
	}
	bool was_over = s->down.over;
	if (pass(&s->up, s->program, s->proxy) < 0 || pass(&s->down, s->proxy, s->program) < 0 || (s->down.over && !was_over && !s->up.over && has_closed(s->proxy)))
		end_stream(s, true);
	else if (s->up.passed && s->down.passed)
		end_stream(s, false);
}

/* ---- DNS and resets ---- */

/* Sends a query of a program to the proxy. One for which there is no room is dropped, as a network may; the program asks again. */
static void pass_query(void)
{
	struct {
		struct query_frame frame;
		uint8_t message[QUERY_BYTES];
	} __attribute__((packed)) sent = {.frame = {.kind = FRAME_QUERY}};
	union {
		struct cmsghdr align;
		char bytes[256];
	} about;
	struct query *q = &query[queries_begun % QUERIES_MAX];
	struct query asked = {.waits = true};
	struct iovec data = {sent.message, sizeof sent.message};
	struct msghdr header = {
		.msg_name = &asked.from, .msg_namelen = sizeof asked.from, .msg_iov = &data, .msg_iovlen = 1, .msg_control = about.bytes, .msg_controllen = sizeof about.bytes,
	};
	ssize_t n = recvmsg(relay.datagrams, &header, MSG_DONTWAIT);
	bool known = false;
	if (n <= 0 || header.msg_flags & MSG_TRUNC)
		return;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&header); c; c = CMSG_NXTHDR(&header, c))
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			memcpy(&asked.to, CMSG_DATA(c), sizeof asked.to);
			known = true;
		}
	if (!known || !has_control())
		return;
	const struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_port = htons(DNS_PORT), .sin6_addr = asked.to.ipi6_addr};
	size_t size = sizeof sent.frame + (size_t)n;
	*q = asked;
	sent.frame.size = htobe16((uint16_t)(size - sizeof sent.frame.size));
	sent.frame.source_port = asked.from.sin6_port;
	sent.frame.number = htobe64(queries_begun++);
	sent.frame.group = htobe64(group_of(IPPROTO_UDP, &asked.from, &to));
	ssize_t done = send(control, &sent, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (done < 0 && errno == EAGAIN)
		q->waits = false;
	else if (done != (ssize_t)size)
		lose_control();
}

static void answer_query(uint64_t number, const uint8_t *message, size_t size)
{
	struct query *q = &query[number % QUERIES_MAX];
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	} about;
	struct iovec data = {(void *)(uintptr_t)message, size};
	struct msghdr header = {
		.msg_name = &q->from, .msg_namelen = sizeof q->from, .msg_iov = &data, .msg_iovlen = 1, .msg_control = about.bytes, .msg_controllen = sizeof about.bytes,
	};
	if (number >= queries_begun || queries_begun - number > QUERIES_MAX || !q->waits)
		return;
	q->waits = false;
	if (size == 0) /* the program gets no answer */
		return;
	memset(&about, 0, sizeof about);
	about.align = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof q->to), .cmsg_level = IPPROTO_IPV6, .cmsg_type = IPV6_PKTINFO};
	memcpy(CMSG_DATA(&about.align), &q->to, sizeof q->to);
	sendmsg(relay.datagrams, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void reset_stream(uint64_t id)
{
	for (struct stream *s = stream; s < stream + STREAMS_MAX; s++)
		if (s->program >= 0 && s->id == id)
			end_stream(s, true);
}

/* Serves the frames that have arrived as a whole. Returns -1 if the proxy does not follow the protocol. */
static int serve_frames(void)
{
	size_t at = 0;
	if (!is_permitted && received_bytes > 0) {
		if (received[at++] != RELAY_PERMITTED)
			return -1;
		is_permitted = true;
	}
	while (received_bytes - at >= sizeof(struct answer_frame)) {
		struct answer_frame frame;
		memcpy(&frame, received + at, sizeof frame);
		size_t size = sizeof frame.size + be16toh(frame.size);
		if (size < sizeof frame || size > sizeof received)
			return -1;
		if (received_bytes - at < size)
			break;
		if (frame.kind == FRAME_ANSWER)
			answer_query(be64toh(frame.number), received + at + sizeof frame, size - sizeof frame);
		else if (frame.kind == FRAME_RESET)
			reset_stream(be64toh(frame.number));
		else
			return -1;
		at += size;
	}
	memmove(received, received + at, received_bytes - at);
	received_bytes -= at;
	return 0;
}

static void serve_control(void)
{
	ssize_t n = recv(control, received + received_bytes, sizeof received - received_bytes, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		received_bytes += (size_t)n;
	if (n <= 0 || serve_frames() < 0)
		lose_control();
}

/* ---- the process ---- */

static void serve(void)
{
	enum { ON_LISTENER, ON_DATAGRAMS, ON_CONTROL, ON_STREAMS, EVENTS = ON_STREAMS + 2 * STREAMS_MAX };
	for (;;) {
		struct pollfd on[EVENTS];
		bool decides = false;
		/* Beyond the streams that there may be, connections wait. */
		on[ON_LISTENER] = (struct pollfd){.fd = free_stream() ? relay.listener : -1, .events = POLLIN};
		on[ON_DATAGRAMS] = (struct pollfd){.fd = relay.datagrams, .events = POLLIN};
		on[ON_CONTROL] = (struct pollfd){.fd = control, .events = POLLIN};
		for (int i = 0; i < STREAMS_MAX; i++) {
			wait_for_stream(&stream[i], &on[ON_STREAMS + 2 * i], &on[ON_STREAMS + 2 * i + 1]);
			decides = decides || (stream[i].program >= 0 && !stream[i].permitted);
		}
		if (poll(on, EVENTS, decides ? DECISION_TIMEOUT_MS : -1) < 0)
			continue;
		if (on[ON_CONTROL].revents)
			serve_control();
		for (int i = 0; i < STREAMS_MAX; i++)
			serve_stream(&stream[i], &on[ON_STREAMS + 2 * i], &on[ON_STREAMS + 2 * i + 1]);
		if (on[ON_DATAGRAMS].revents)
			pass_query();
		if (on[ON_LISTENER].revents && free_stream())
			accept_program();
	}
}

static void must(bool done)
{
	if (!done)
		_exit(1);
}

_Noreturn void become_relay(const struct relay *r)
{
	/*
	 * It can make Unix sockets, but its network namespace is empty, so that there are no abstract names, and its working directory has no socket but that of the
	 * proxy. It is not the namespace of the sandbox: the proxy's ends of these connections are of the same one, and would keep it as long as the proxy has them.
	 */
	static const struct seccomp_call calls[] = {
		{__NR_poll, -1}, {__NR_ppoll, -1}, {__NR_accept4, -1}, {__NR_getsockname, -1}, {__NR_setsockopt, -1}, {__NR_socket, AF_UNIX}, {__NR_connect, -1},
		{__NR_sendto, -1}, {__NR_recvfrom, -1}, {__NR_sendmsg, -1}, {__NR_recvmsg, -1}, {__NR_shutdown, -1}, {__NR_close, -1}, {__NR_madvise, -1},
		{__NR_clock_gettime, -1}, {__NR_restart_syscall, -1}, {__NR_exit, -1}, {__NR_exit_group, -1},
	};
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct none[2] = {{0}};
	relay = *r;
	must(prctl(PR_SET_NAME, "assay-relay", 0, 0, 0) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && getppid() == relay.holder);
	must(fchdir(relay.directory) == 0 && keyed(setns, relay.namespace, CLONE_NEWNET) == 0);
	must(close_all_but((int[]){relay.listener, relay.datagrams, relay.diag, relay.ready}, 4) == 0);
	must(keyed(setresgid, relay.gid, relay.gid, relay.gid) == 0 && keyed(setresuid, relay.uid, relay.uid, relay.uid) == 0);
	must(keyed(capset, &header, none) == 0);
	must(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && getppid() == relay.holder); /* the change of the user has cleared it */
	must(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	uint8_t *buffers = mmap(NULL, (size_t)2 * STREAMS_MAX * BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(buffers != MAP_FAILED);
	for (int i = 0; i < STREAMS_MAX; i++) {
		uint8_t *own = buffers + (size_t)2 * i * BUFFER_BYTES;
		stream[i] = (struct stream){.program = -1, .proxy = -1, .up = {.data = own}, .down = {.data = own + BUFFER_BYTES}};
	}
	must(seccomp_permit_only(calls, sizeof calls / sizeof *calls) == 0);
	seccomp_key = 0;
	must(relay.ready < 0 || send(relay.ready, "", 1, MSG_NOSIGNAL) == 1);
	close_fd(&relay.ready);
	serve();
	_exit(1);
}
