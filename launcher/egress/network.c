/* The network namespace of a sandbox that may reach something (network.h). */
#define _GNU_SOURCE
#include "egress/network.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "box/box.h"
#include "bpf.h"
#include "descriptors.h"

/* 198.18.0.53, which is no address of the Internet; the name server of a sandbox has it (sandbox/root.c). */
#define RESOLVER 198, 18, 0, 53
enum { LOOPBACK_INDEX = 1, DNS_PORT = 53, LISTENER_PORT = 1, BACKLOG = 128 };

/* A request of rtnetlink, and the largest part of an answer. */
struct netlink_request {
	struct nlmsghdr header;
	union {
		struct rtmsg route;
		struct ifinfomsg link;
	} body;
	char attributes[64];
};
enum { ANSWER_BYTES = 32 << 10 };

struct network network_none(void) { return (struct network){-1, -1, -1, -1, -1, 0}; }

void network_close(struct network *n)
{
	close_fd(&n->listener);
	close_fd(&n->datagrams);
	close_fd(&n->diag);
	close_fd(&n->routes);
	close_fd(&n->link);
}

/* ---- routes ---- */

static void add_attribute(struct netlink_request *r, uint16_t type, const void *data, size_t size)
{
	struct rtattr *a = (struct rtattr *)((char *)r + NLMSG_ALIGN(r->header.nlmsg_len));
	a->rta_type = type;
	a->rta_len = (unsigned short)RTA_LENGTH(size);
	memcpy(RTA_DATA(a), data, size);
	r->header.nlmsg_len = NLMSG_ALIGN(r->header.nlmsg_len) + RTA_ALIGN(a->rta_len);
}

/* Makes all addresses of a family local. Returns -1 with errno. */
static int add_route(int netlink, unsigned char family)
{
	struct netlink_request r;
	memset(&r, 0, sizeof r);
	r.header = (struct nlmsghdr){
		.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)), .nlmsg_type = RTM_NEWROUTE, .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK,
	};
	r.body.route = (struct rtmsg){
		.rtm_family = family, .rtm_table = RT_TABLE_LOCAL, .rtm_protocol = RTPROT_STATIC, .rtm_type = RTN_LOCAL,
		.rtm_scope = family == AF_INET ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE,
	};
	static const int loopback = LOOPBACK_INDEX;
	union {
		struct nlmsghdr header;
		char bytes[1024];
	} answer;
	add_attribute(&r, RTA_OIF, &loopback, sizeof loopback);
	if (send(netlink, &r, r.header.nlmsg_len, 0) < 0)
		return -1;
	ssize_t n = recv(netlink, &answer, sizeof answer, 0);
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr)) || answer.header.nlmsg_type != NLMSG_ERROR) {
		errno = n < 0 ? errno : EBADMSG;
		return -1;
	}
	errno = -((struct nlmsgerr *)NLMSG_DATA(&answer.header))->error;
	return errno ? -1 : 0;
}

static int make_routes(struct network *n, struct failure *f)
{
	n->routes = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (n->routes < 0 || add_route(n->routes, AF_INET) < 0)
		return fail(f, "network", "routes of the sandbox");
	/* A kernel without IPv6 needs no route for it. */
	if (add_route(n->routes, AF_INET6) < 0 && errno != EAFNOSUPPORT && errno != EOPNOTSUPP)
		return fail(f, "network", "routes of the sandbox for IPv6");
	return 0;
}

/* ---- sockets ---- */

/*
 * A socket for both versions of IP. It gets what the BPF program gives to it, so its own address is one that nobody else uses, and programs can bind each port of
 * each address of the loopback interface. The address is one of IPv4, because the kernel lets a socket with one of IPv6 have no packet of IPv4.
 */
static int bound_socket(int type, uint16_t port)
{
	static const int no = 0, yes = 1;
	const struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr.s6_addr = {[10] = 0xff, 0xff, RESOLVER}};
	int fd = socket(AF_INET6, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	bool done = setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no) == 0;
	/* An answer comes from the address that was asked, which is none of the interface. */
	if (type == SOCK_DGRAM)
		done = done && setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &yes, sizeof yes) == 0 && setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &yes, sizeof yes) == 0;
	done = done && bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 && (type == SOCK_DGRAM || listen(fd, BACKLOG) == 0);
	if (done)
		return fd;
	int err = errno;
	close(fd);
	errno = err;
	return -1;
}

/*
 * Makes the listener in the group of the relay, so that the connections that it accepts are counted as ends of the sandbox (loopback.h). A socket is of the group
 * of the process that makes it, for ever, so a child makes it, which has the descriptors of this process and no others. Returns -1 with errno.
 */
static int listener_of(int group)
{
	int pidfd = -1, number = open("/dev/null", O_RDONLY | O_CLOEXEC); /* reserves the number of the descriptor */
	siginfo_t info = {0};
	if (number < 0)
		return -1;
	pid_t pid = clone_into(CLONE_FILES, &pidfd, group);
	if (pid == 0) {
		int made = bound_socket(SOCK_STREAM, LISTENER_PORT), err = made < 0 || dup3(made, number, O_CLOEXEC) < 0 ? errno : 0;
		close_fd(&made);
		_exit(err);
	}
	int err = pid < 0 ? errno : 0;
	if (pid > 0)
		err = waitid((idtype_t)3 /* P_PIDFD */, (id_t)pidfd, &info, WEXITED) < 0 ? errno : info.si_code != CLD_EXITED ? ECHILD : info.si_status;
	close_fd(&pidfd);
	if (err)
		close_fd(&number);
	errno = err;
	return number;
}

static int make_sockets(struct network *n, int group, struct failure *f)
{
	n->listener = listener_of(group);
	n->datagrams = n->listener < 0 ? -1 : bound_socket(SOCK_DGRAM, DNS_PORT);
	n->diag = n->datagrams < 0 ? -1 : socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
	return n->diag < 0 ? fail(f, "network", "sockets of the relay") : 0;
}

/* ---- who gets a connection ---- */

enum { PASS, IS_IPV4, IS_OUTSIDE, CHOOSE, REFUSE };
#define FIELD(name) (int)offsetof(struct bpf_sk_lookup, name)

static int load_lookup(int sockets, struct failure *f)
{
	const struct bpf_insn code[] = {
		COPY(R6, R1),
		GET(BPF_W, R1, R6, FIELD(family)),
		IF(BPF_JEQ, R1, AF_INET, IS_IPV4),
		GET(BPF_W, R1, R6, FIELD(local_ip6[0])), IF(BPF_JNE, R1, 0, IS_OUTSIDE),
		GET(BPF_W, R1, R6, FIELD(local_ip6[1])), IF(BPF_JNE, R1, 0, IS_OUTSIDE),
		GET(BPF_W, R1, R6, FIELD(local_ip6[2])), IF(BPF_JNE, R1, 0, IS_OUTSIDE),
		GET(BPF_W, R1, R6, FIELD(local_ip6[3])), IF(BPF_JEQ, R1, (int)htonl(1), PASS), /* ::1 */
		GOTO(IS_OUTSIDE),
		LABEL(IS_IPV4),
		GET(BPF_W, R1, R6, FIELD(local_ip4)), /* in the order of the network, so the first byte is the lowest one */
		AND(R1, 0xff),
		IF(BPF_JEQ, R1, 127, PASS),
		LABEL(IS_OUTSIDE),
		GET(BPF_W, R1, R6, FIELD(protocol)),
		SET(R2, 0),
		IF(BPF_JEQ, R1, IPPROTO_TCP, CHOOSE),
		GET(BPF_W, R1, R6, FIELD(local_port)),
		IF(BPF_JNE, R1, DNS_PORT, PASS), /* unless a program has bound this very address, there is no socket */
		SET(R2, 1),
		LABEL(CHOOSE),
		PUT(BPF_W, FP, -4, R2),
		MAP(R1, sockets), COPY(R2, FP), ADD(R2, -4), CALL(BPF_FUNC_map_lookup_elem),
		IF(BPF_JEQ, R0, 0, REFUSE),
		COPY(R7, R0),
		COPY(R1, R6), COPY(R2, R7), SET(R3, 0), CALL(BPF_FUNC_sk_assign),
		COPY(R8, R0),
		COPY(R1, R7), CALL(BPF_FUNC_sk_release),
		IF(BPF_JNE, R8, 0, REFUSE),
		LABEL(PASS),
		SET(R0, SK_PASS), RETURN,
		LABEL(REFUSE),
		SET(R0, SK_DROP), RETURN,
	};
	const struct bpf_program program = {"lookup of sockets", BPF_PROG_TYPE_SK_LOOKUP, BPF_SK_LOOKUP, code, sizeof code / sizeof *code, false};
	return bpf_load(&program, f);
}

static int attach_lookup(struct network *n, int namespace, struct failure *f)
{
	const int socket_of[] = {n->listener, n->datagrams};
	int sockets = bpf_map(BPF_MAP_TYPE_SOCKMAP, sizeof(uint32_t), sizeof(uint64_t), 2, 0, f), program = -1;
	bool done = sockets >= 0;
	for (uint32_t i = 0; done && i < 2; i++) {
		uint64_t value = (uint64_t)socket_of[i];
		done = bpf_element(BPF_MAP_UPDATE_ELEM, sockets, &i, &value) == 0 || (fail(f, "bpf", "sockets of the relay"), false);
	}
	done = done && (program = load_lookup(sockets, f)) >= 0;
	if (done) {
		union bpf_attr attr;
		memset(&attr, 0, sizeof attr);
		attr.link_create.prog_fd = (uint32_t)program;
		attr.link_create.target_fd = (uint32_t)namespace;
		attr.link_create.attach_type = BPF_SK_LOOKUP;
		n->link = (int)bpf_call(BPF_LINK_CREATE, &attr);
		done = n->link >= 0 || (fail(f, "bpf", "lookup of sockets in the namespace"), false);
	}
	const int opened[] = {sockets, program}; /* the link keeps them */
	for (size_t i = 0; i < sizeof opened / sizeof *opened; i++)
		if (opened[i] >= 0)
			close(opened[i]);
	return done ? 0 : -1;
}

int network_make(struct network *n, int namespace, int group, struct failure *f)
{
	struct stat st;
	*n = network_none();
	if (fstat(namespace, &st) < 0)
		return fail(f, "network", "namespace of the sandbox");
	n->inode = st.st_ino;
	if (make_routes(n, f) == 0 && make_sockets(n, group, f) == 0 && attach_lookup(n, namespace, f) == 0)
		return 0;
	network_close(n);
	return -1;
}

/* ---- what the kernel says of it ---- */

/* Asks for all objects of a kind. Returns whether `check` accepts each of them. */
static bool each(const struct network *n, uint16_t type, bool (*check)(const struct nlmsghdr *))
{
	struct netlink_request r;
	memset(&r, 0, sizeof r);
	r.header = (struct nlmsghdr){
		.nlmsg_len = NLMSG_LENGTH(type == RTM_GETLINK ? sizeof(struct ifinfomsg) : sizeof(struct rtmsg)), .nlmsg_type = type, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
	};
	static _Alignas(struct nlmsghdr) char answer[ANSWER_BYTES];
	bool good = send(n->routes, &r, r.header.nlmsg_len, 0) >= 0, over = false;
	while (good && !over) {
		ssize_t size = recv(n->routes, answer, sizeof answer, MSG_TRUNC);
		good = size > 0 && size <= (ssize_t)sizeof answer;
		size_t left = good ? (size_t)size : 0;
		for (const struct nlmsghdr *h = (const struct nlmsghdr *)answer; good && !over && NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
			over = h->nlmsg_type == NLMSG_DONE;
			good = over || (h->nlmsg_type != NLMSG_ERROR && check(h));
		}
	}
	return good;
}

static bool is_loopback(const struct nlmsghdr *h)
{
	const struct ifinfomsg *link = NLMSG_DATA(h);
	return link->ifi_index == LOOPBACK_INDEX && link->ifi_flags & IFF_LOOPBACK;
}

static bool stays_inside(const struct nlmsghdr *h)
{
	const struct rtmsg *route = NLMSG_DATA(h);
	int left = (int)RTM_PAYLOAD(h);
	bool inside = route->rtm_type == RTN_UNREACHABLE || route->rtm_type == RTN_PROHIBIT || route->rtm_type == RTN_BLACKHOLE;
	for (const struct rtattr *a = RTM_RTA(route); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		int interface;
		if (a->rta_type == RTA_GATEWAY || a->rta_type == RTA_VIA || a->rta_type == RTA_MULTIPATH || a->rta_type == RTA_ENCAP)
			return false;
		if (a->rta_type != RTA_OIF)
			continue;
		memcpy(&interface, RTA_DATA(a), sizeof interface);
		if (interface != LOOPBACK_INDEX)
			return false;
		inside = true;
	}
	return inside;
}

const char *network_leak(const struct network *n)
{
	struct bpf_link_info info = {0};
	if (!each(n, RTM_GETLINK, is_loopback))
		return "there is an interface besides lo, or they cannot be read";
	if (!each(n, RTM_GETROUTE, stays_inside))
		return "there is a route out, or they cannot be read";
	if (bpf_info(n->link, &info, sizeof info) < 0 || info.type != BPF_LINK_TYPE_NETNS || info.netns.netns_ino != n->inode)
		return "the lookup of sockets is not attached";
	return NULL;
}
