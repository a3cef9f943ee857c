/* Sockets on the loopback interface of a sandbox (loopback.h). prepare.c loads the programs, and sandbox/holder.c attaches them. */
#define _GNU_SOURCE
#include "loopback.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bpf.h"

/* The priority of a socket that a program has made, by which it is told from an accepted one. Programs cannot set priorities. */
enum { MADE = 0x61737361 };
enum { DONE, UNDO, UNDO_BOTH, DENY, LOST, OPENED, KNOWN, SETTLED };
/* Cells on the stack of a program. */
enum { KEY = -8, GROUP = -16, VALUE = -32 /* and -24 */ };

/*
 * The maps of the programs. A program on a group finds the number of the group in storage that belongs to the group, and with it the counts. The
 * program at the tracepoint has only the address of a socket, for which `ends` has a struct end.
 */
struct maps {
	int group, counts, ends;
};

struct end {
	uint64_t group;
	uint64_t waits; /* 1 while the connection is not established: the other end is then counted with this one */
};

#define FIELD(name) (int)offsetof(struct loopback_counts, name)
#define OF(type, name) (int)offsetof(struct type, name)
#define CHANGE(name, by) SET(R1, by), ATOMIC_ADD(R7, FIELD(name), R1)
/* R6: the context; R8: the number of the group, in the storage of that; R7: the counts of the sandbox. The label is for a group that has none. */
#define BEGIN(m, label) \
	COPY(R6, R1), \
	MAP(R1, (m)->group), SET(R2, 0), CALL(BPF_FUNC_get_local_storage), COPY(R8, R0), \
	MAP(R1, (m)->counts), COPY(R2, R8), CALL(BPF_FUNC_map_lookup_elem), COPY(R7, R0), \
	IF(BPF_JEQ, R7, 0, label)
/* Reserves one; the label is for the case that there are already as many as there may be. */
#define RESERVE(name, label) SET(R1, 1), FETCH_ADD(R7, FIELD(name), R1), GET(BPF_DW, R2, R7, FIELD(most_##name)), IF_REGISTER(BPF_JGE, R1, R2, label)
#define PERMIT SET(R0, 1), RETURN
#define REFUSE_WITH(err) SET(R1, -(err)), CALL(BPF_FUNC_set_retval), SET(R0, 0), RETURN

static int load_create(const struct maps *m, struct failure *f)
{
	const struct bpf_insn code[] = {
		BEGIN(m, DENY),
		RESERVE(sockets, UNDO),
		GET(BPF_W, R3, R6, OF(bpf_sock, protocol)),
		IF(BPF_JEQ, R3, IPPROTO_TCP, DONE),
		IF(BPF_JNE, R3, IPPROTO_UDP, UNDO), /* the filter refuses others already */
		RESERVE(datagrams, UNDO_BOTH),
		LABEL(DONE),
		SET(R1, MADE),
		PUT(BPF_W, R6, OF(bpf_sock, priority), R1),
		PERMIT,
		LABEL(UNDO_BOTH),
		CHANGE(datagrams, -1),
		LABEL(UNDO),
		CHANGE(sockets, -1),
		LABEL(DENY),
		REFUSE_WITH(ENOBUFS),
	};
	const struct bpf_program program = {"sockets that are made", BPF_PROG_TYPE_CGROUP_SOCK, BPF_CGROUP_INET_SOCK_CREATE, code, sizeof code / sizeof *code, false};
	return bpf_load(&program, f);
}

static int load_release(const struct maps *m, struct failure *f)
{
	const struct bpf_insn code[] = {
		BEGIN(m, DONE),
		GET(BPF_W, R1, R6, OF(bpf_sock, priority)),
		IF(BPF_JNE, R1, MADE, DONE),
		CHANGE(sockets, -1),
		GET(BPF_W, R1, R6, OF(bpf_sock, protocol)),
		IF(BPF_JNE, R1, IPPROTO_UDP, DONE),
		CHANGE(datagrams, -1),
		LABEL(DONE),
		PERMIT,
	};
	const struct bpf_program program = {"sockets that are closed", BPF_PROG_TYPE_CGROUP_SOCK, BPF_CGROUP_INET_SOCK_RELEASE, code, sizeof code / sizeof *code, false};
	return bpf_load(&program, f);
}

/* A connection has two ends here, of which the second is made when the first one's SYN is accepted. */
static int load_connect(const struct maps *m, enum bpf_attach_type version, struct failure *f)
{
	const struct bpf_insn code[] = {
		BEGIN(m, DENY),
		GET(BPF_W, R1, R6, OF(bpf_sock_addr, protocol)),
		IF(BPF_JNE, R1, IPPROTO_TCP, DONE),
		GET(BPF_DW, R1, R7, FIELD(ends)),
		ADD(R1, 2),
		GET(BPF_DW, R2, R7, FIELD(most_ends)),
		IF_REGISTER(BPF_JGT, R1, R2, DENY),
		LABEL(DONE),
		PERMIT,
		LABEL(DENY),
		REFUSE_WITH(ENOBUFS),
	};
	const struct bpf_program program = {"connections", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, version, code, sizeof code / sizeof *code, false};
	return bpf_load(&program, f);
}

/*
 * Counts an end when it connects, or is made for a connection. Its address is then in `ends` until its socket is destroyed, so that none is counted
 * twice: a socket can connect, be disconnected and connect again. One that connects also counts for the other end until the connection is
 * established, because a listener can accept it much later. If there is no memory for the entry, the end stays counted for ever.
 */
static int load_states(const struct maps *m, struct failure *f)
{
	const struct bpf_insn code[] = {
		BEGIN(m, DONE),
		GET(BPF_W, R9, R6, OF(bpf_sock_ops, op)),
		IF(BPF_JEQ, R9, BPF_SOCK_OPS_TCP_CONNECT_CB, OPENED),
		IF(BPF_JEQ, R9, BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB, OPENED),
		IF(BPF_JEQ, R9, BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB, OPENED),
		LABEL(DONE),
		PERMIT,
		LABEL(OPENED),
		GET(BPF_DW, R1, R6, OF(bpf_sock_ops, sk)),
		IF(BPF_JEQ, R1, 0, LOST),
		PUT(BPF_DW, FP, KEY, R1),
		GET(BPF_DW, R1, R8, 0),
		PUT(BPF_DW, FP, VALUE, R1),
		SET(R1, 0),
		PUT(BPF_DW, FP, VALUE + 8, R1),
		MAP(R1, m->ends), COPY(R2, FP), ADD(R2, KEY), COPY(R3, FP), ADD(R3, VALUE), SET(R4, BPF_NOEXIST), CALL(BPF_FUNC_map_update_elem),
		IF(BPF_JEQ, R0, -EEXIST, KNOWN),
		IF(BPF_JNE, R0, 0, LOST),
		CHANGE(ends, 1),
		LABEL(KNOWN),
		MAP(R1, m->ends), COPY(R2, FP), ADD(R2, KEY), CALL(BPF_FUNC_map_lookup_elem),
		IF(BPF_JEQ, R0, 0, DONE),
		GET(BPF_DW, R3, R0, offsetof(struct end, waits)),
		SET(R2, 0),
		IF(BPF_JNE, R9, BPF_SOCK_OPS_TCP_CONNECT_CB, SETTLED),
		SET(R2, 1),
		LABEL(SETTLED),
		PUT(BPF_DW, R0, offsetof(struct end, waits), R2),
		OP(BPF_ALU64 | BPF_SUB | BPF_X, R2, R3, 0, 0),
		ATOMIC_ADD(R7, FIELD(ends), R2),
		GOTO(DONE),
		LABEL(LOST),
		CHANGE(ends, 1),
		GOTO(DONE),
	};
	const struct bpf_program program = {"ends of connections", BPF_PROG_TYPE_SOCK_OPS, BPF_CGROUP_SOCK_OPS, code, sizeof code / sizeof *code, false};
	return bpf_load(&program, f);
}

/*
 * The end of a socket of TCP, after which the kernel frees its data. The state CLOSE comes earlier: what an end has received stays after a reset until a
 * program closes it, or the listener that has not accepted it.
 */
static int trace_destruction(const struct maps *m, struct failure *f)
{
	const struct bpf_insn code[] = {
		GET(BPF_DW, R1, R1, 0),
		PUT(BPF_DW, FP, KEY, R1),
		MAP(R1, m->ends), COPY(R2, FP), ADD(R2, KEY), CALL(BPF_FUNC_map_lookup_elem),
		IF(BPF_JEQ, R0, 0, DONE),
		GET(BPF_DW, R1, R0, offsetof(struct end, group)),
		PUT(BPF_DW, FP, GROUP, R1),
		GET(BPF_DW, R8, R0, offsetof(struct end, waits)),
		MAP(R1, m->ends), COPY(R2, FP), ADD(R2, KEY), CALL(BPF_FUNC_map_delete_elem),
		IF(BPF_JNE, R0, 0, DONE), /* the entry stays, and is that of the next socket at this address */
		MAP(R1, m->counts), COPY(R2, FP), ADD(R2, GROUP), CALL(BPF_FUNC_map_lookup_elem),
		IF(BPF_JEQ, R0, 0, DONE),
		SET(R1, -1),
		OP(BPF_ALU64 | BPF_SUB | BPF_X, R1, R8, 0, 0),
		ATOMIC_ADD(R0, FIELD(ends), R1),
		LABEL(DONE),
		SET(R0, 0),
		RETURN,
	};
	const struct bpf_program program = {"sockets that are destroyed", BPF_PROG_TYPE_RAW_TRACEPOINT, 0, code, sizeof code / sizeof *code, false};
	return bpf_trace(&program, "tcp_destroy_sock", f);
}

static const enum bpf_attach_type attached_as[LOOPBACK_PROGRAMS] = {
	BPF_CGROUP_INET_SOCK_CREATE, BPF_CGROUP_INET_SOCK_RELEASE, BPF_CGROUP_INET4_CONNECT, BPF_CGROUP_INET6_CONNECT, BPF_CGROUP_SOCK_OPS,
};

static int load(const struct maps *m, int which, struct failure *f)
{
	switch (attached_as[which]) {
	case BPF_CGROUP_INET_SOCK_CREATE: return load_create(m, f);
	case BPF_CGROUP_INET_SOCK_RELEASE: return load_release(m, f);
	case BPF_CGROUP_SOCK_OPS: return load_states(m, f);
	default: return load_connect(m, attached_as[which], f);
	}
}

/* What a socket of UDP may hold: the machine's default sizes. Returns 0 with errno if they cannot be read. */
static uint64_t datagram_bytes(void)
{
	int size[2] = {0}, fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t length = sizeof size[0];
	bool read = fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size[0], &length) == 0 && getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size[1], &length) == 0;
	int err = errno;
	if (fd >= 0)
		close(fd);
	errno = err;
	return read ? (uint64_t)size[0] + (uint64_t)size[1] : 0;
}

/* Such kernels warn of a program at a tracepoint that changes a map like `ends`. */
static bool is_before_6_1(void)
{
	struct utsname name;
	int major = 0, minor = 0;
	return uname(&name) == 0 && sscanf(name.release, "%d.%d", &major, &minor) == 2 && (major < 6 || (major == 6 && minor < 1));
}

static int open_maps(struct maps *m, unsigned sandboxes, struct failure *f)
{
	/* With a key of this size, all programs of a group share its storage. */
	m->group = bpf_map(BPF_MAP_TYPE_CGROUP_STORAGE, sizeof(uint64_t), sizeof(uint64_t), 0, 0, f);
	m->counts = m->group < 0 ? -1 : bpf_map(BPF_MAP_TYPE_HASH, sizeof(uint64_t), sizeof(struct loopback_counts), sandboxes, BPF_F_NO_PREALLOC, f);
	/* Twice as many as there may be: connections that begin at the same time can be a few more than permitted. */
	m->ends = m->counts < 0 ? -1 : bpf_map(BPF_MAP_TYPE_HASH, sizeof(uint64_t), sizeof(struct end), 2 * LOOPBACK_ENDS_MOST * sandboxes, BPF_F_NO_PREALLOC, f);
	return m->ends < 0 ? -1 : 0;
}

static int open_programs(struct loopback *l, const struct maps *m, struct failure *f)
{
	for (int i = 0; i < LOOPBACK_PROGRAMS; i++)
		if ((l->program[i] = load(m, i, f)) < 0)
			return -1;
	/*
	 * The kernel runs a program at a tracepoint once at a time on each CPU, and skips it when an interrupt comes there meanwhile. So there are two, of
	 * which one runs then; what one has done, the other does not find. They stay open for the life of the process, because closing them would
	 * detach the programs.
	 */
	return trace_destruction(m, f) < 0 ? -1 : trace_destruction(m, f);
}

/*
 * Opens a /proc that is mounted nowhere: that of the host can be read-only, as in a container. All holders use the same one, because to make one and to end it
 * takes as long as to make a namespace. Its files of the network are those of the namespace of who opens them.
 */
static int open_settings(struct failure *f)
{
	enum { CREATE = 6, CLOSE_ON_EXEC = 1, ATTRIBUTES = 0xe /* no set-uid, no devices, no programs */ };
	int configured = (int)syscall(__NR_fsopen, "proc", CLOSE_ON_EXEC), proc = -1;
	if (configured >= 0 && syscall(__NR_fsconfig, configured, CREATE, NULL, NULL, 0) == 0)
		proc = (int)syscall(__NR_fsmount, configured, CLOSE_ON_EXEC, ATTRIBUTES);
	int err = errno;
	if (configured >= 0)
		close(configured);
	return proc < 0 ? fail_with(f, err, "network", "/proc for settings") : proc;
}

int loopback_open(struct loopback *l, unsigned sandboxes, struct failure *f)
{
	struct maps m = {-1, -1, -1};
	l->counts = l->settings = -1;
	for (int i = 0; i < LOOPBACK_PROGRAMS; i++)
		l->program[i] = -1;
	if (is_before_6_1())
		return fail_with(f, ENOSYS, "bpf", "the kernel is older than 6.1");
	if (!(l->datagram_bytes = datagram_bytes()))
		return fail(f, "network", "sizes of buffers");
	if (open_maps(&m, sandboxes ? sandboxes : 1, f) == 0 && open_programs(l, &m, f) >= 0 && (l->settings = open_settings(f)) >= 0) {
		l->group = m.group;
		l->counts = m.counts;
		close(m.ends);
		return 0;
	}
	const int opened[] = {m.group, m.counts, m.ends};
	for (size_t i = 0; i < sizeof opened / sizeof *opened; i++)
		if (opened[i] >= 0)
			close(opened[i]);
	for (int i = 0; i < LOOPBACK_PROGRAMS; i++)
		if (l->program[i] >= 0)
			close(l->program[i]);
	return -1;
}

/* ---- one sandbox ---- */

static int write_setting(int proc, const char *name, const char *value, bool needed, struct failure *f)
{
	char path[96];
	snprintf(path, sizeof path, "sys/net/%s", name);
	int fd = openat(proc, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && !needed)
		return 0;
	bool done = fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value);
	int err = errno;
	if (fd >= 0)
		close(fd);
	return done ? 0 : fail_with(f, err, "network", "%s", path);
}

static int raise_interface(struct failure *f)
{
	struct ifreq request = {.ifr_name = "lo"};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool done = fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &request) == 0;
	request.ifr_flags |= IFF_UP;
	done = done && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
	int err = errno;
	if (fd >= 0)
		close(fd);
	return done ? 0 : fail_with(f, err, "network", "loopback interface");
}

int loopback_enable(const struct loopback *l, struct failure *f)
{
	static const char buffers[] = "4096 65536 65536", backlog[] = "128", time_waits[] = "256";
	_Static_assert(LOOPBACK_BUFFER_BYTES == 65536 && LOOPBACK_BACKLOG == 128 && LOOPBACK_TIME_WAITS == 256, "as in the texts");
	const struct { const char *name, *value; bool needed; } settings[] = {
		{"ipv4/tcp_rmem", buffers, true}, {"ipv4/tcp_wmem", buffers, true}, {"core/somaxconn", backlog, true},
		{"ipv4/tcp_max_syn_backlog", backlog, true}, {"ipv4/tcp_max_tw_buckets", time_waits, true},
		{"ipv4/tcp_fastopen", "0", true},        /* a connection that is counted late */
		{"ipv4/tcp_no_metrics_save", "1", true}, /* a table of addresses that all namespaces share */
		{"ipv4/tcp_orphan_retries", "1", true},  /* what programs have closed ends soon, if nobody reads it */
		{"ipv4/tcp_synack_retries", "1", true}, {"ipv4/tcp_fin_timeout", "5", true},
		/* No packet is larger than the interface takes, so none is assembled from parts. */
		{"ipv4/ipfrag_low_thresh", "0", true}, {"ipv4/ipfrag_high_thresh", "0", true},
		{"ipv6/ip6frag_low_thresh", "0", false}, {"ipv6/ip6frag_high_thresh", "0", false},
		{"ipv4/icmp_echo_ignore_broadcasts", "1", true}, {"ipv4/ip_unprivileged_port_start", "0", true},
		{"ipv6/conf/lo/accept_ra", "0", false}, {"ipv6/conf/lo/autoconf", "0", false},
	};
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		if (write_setting(l->settings, settings[i].name, settings[i].value, settings[i].needed, f) < 0)
			return -1;
	return raise_interface(f);
}

static int group_id(const struct group_set *sandbox, uint64_t *id)
{
	struct stat st;
	if (fstat(sandbox->own.dir[TREE_UNIFIED], &st) < 0)
		return -1;
	*id = st.st_ino;
	return 0;
}

static uint64_t between(uint64_t value, uint64_t least, uint64_t most) { return value < least ? least : value > most ? most : value; }

int loopback_limit(const struct loopback *l, const struct group_set *sandbox, uint64_t memory, uint64_t owner, struct failure *f)
{
	uint64_t group, ends = between(memory / 16 / (2 * LOOPBACK_BUFFER_BYTES), 16, LOOPBACK_ENDS_MOST);
	struct loopback_counts counts = {
		.most_sockets = ends, .most_datagrams = between(memory / 32 / l->datagram_bytes, 2, 32), .most_ends = ends, .owner = owner,
	};
	if (group_id(sandbox, &group) < 0)
		return fail(f, "bpf", "id of the group");
	for (int i = 0; i < LOOPBACK_PROGRAMS; i++) {
		union bpf_attr attr;
		memset(&attr, 0, sizeof attr);
		attr.target_fd = (uint32_t)sandbox->own.dir[TREE_UNIFIED];
		attr.attach_bpf_fd = (uint32_t)l->program[i];
		attr.attach_type = attached_as[i];
		attr.attach_flags = BPF_F_ALLOW_MULTI;
		if (bpf_call(BPF_PROG_ATTACH, &attr) < 0)
			return fail(f, "bpf", "attach to the group of the sandbox");
	}
	if (bpf_element(BPF_MAP_UPDATE_ELEM, l->counts, &group, &counts) < 0 || bpf_element(BPF_MAP_UPDATE_ELEM, l->group, &group, &group) < 0)
		return fail(f, "bpf", "limits of the sandbox");
	return 0;
}

bool loopback_attached(const struct loopback *l, const struct group_set *sandbox)
{
	enum { PROGRAMS_MAX = 64 };
	for (int i = 0; i < LOOPBACK_PROGRAMS; i++) {
		struct bpf_prog_info own = {0};
		uint32_t ids[PROGRAMS_MAX];
		union bpf_attr attr;
		bool found = false;
		if (bpf_info(l->program[i], &own, sizeof own) < 0)
			return false;
		memset(&attr, 0, sizeof attr);
		attr.query.target_fd = (uint32_t)sandbox->own.dir[TREE_UNIFIED];
		attr.query.attach_type = attached_as[i];
		attr.query.prog_ids = (uint64_t)(uintptr_t)ids;
		attr.query.prog_cnt = PROGRAMS_MAX;
		if (bpf_call(BPF_PROG_QUERY, &attr) < 0)
			return false;
		for (uint32_t j = 0; j < attr.query.prog_cnt && j < PROGRAMS_MAX; j++)
			found = found || ids[j] == own.id;
		if (!found)
			return false;
	}
	return true;
}

int loopback_read(const struct loopback *l, const struct group_set *sandbox, struct loopback_counts *counts)
{
	uint64_t group;
	return group_id(sandbox, &group) < 0 ? -1 : (int)bpf_element(BPF_MAP_LOOKUP_ELEM, l->counts, &group, counts);
}

void loopback_forget(const struct loopback *l, uint64_t owner)
{
	struct loopback_counts counts = {0};
	bpf_forget(l->counts, owner, offsetof(struct loopback_counts, owner), 1, &counts, sizeof counts);
}
