/* The network and the relay of a sandbox, for its holder (relay-process.h). */
#define _GNU_SOURCE
#include "egress/relay-process.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "descriptors.h"
#include "seccomp.h"

enum { RESTART_MS = 1000 };

void relay_process_none(struct relay_process *p)
{
	*p = (struct relay_process){.network = network_none(), .cpu_tasks = -1, .pid = -1, .pidfd = -1, .ready = -1};
	leaf_name(&p->leaf, LEAF_OF_HOLDER, "relay");
	p->relay.directory = p->relay.namespace = p->relay.ready = -1;
}

/* What the child of the holder needs that becomes the relay: it does not have the memory of the holder (unforked-memory.h). */
struct start {
	struct relay relay;
	int tasks[TREE_COUNT + 1]; /* through which it enters the groups of v1, and the one that shares CPU time; -1: none */
};

/* It enters its groups before anything else, so that all that it does is charged to them. */
static _Noreturn void enter_groups(const struct start *s)
{
	for (size_t i = 0; i < sizeof s->tasks / sizeof *s->tasks; i++)
		if (s->tasks[i] >= 0 && write(s->tasks[i], "0", 1) < 0)
			_exit(1);
	become_relay(&s->relay);
}

static int start(struct relay_process *p)
{
	struct start s = {.relay = p->relay};
	int pidfd = -1;
	memcpy(s.tasks, p->leaf.tasks, sizeof p->leaf.tasks);
	s.tasks[TREE_COUNT] = p->cpu_tasks;
	p->begun_ns = now_ns();
	pid_t pid = clone_into(0, &pidfd, p->leaf.dir[TREE_UNIFIED]);
	if (pid == 0)
		enter_groups(&s);
	explicit_bzero(&s, sizeof s); /* other children are born with a copy of this stack */
	if (pid < 0)
		return -1;
	p->pid = pid;
	p->pidfd = pidfd;
	return 0;
}

/* Makes the network in the namespace of the lane, and reads back that it has no way out. */
static int make_network(struct relay_process *p, const struct slot *s, const struct lane *lane, struct failure *f)
{
	int own = open_proc(s->launcher, "self/ns/net"), namespace = -1;
	for (int i = 0; i < LANE_NAMESPACES; i++)
		if (lane_namespaces[i].flag == CLONE_NEWNET)
			namespace = lane->namespace_fd[i];
	if (own < 0 || setns(namespace, CLONE_NEWNET) < 0) {
		close_fd(&own);
		return fail(f, "namespaces", "network of the sandbox");
	}
	int made = network_make(&p->network, namespace, p->leaf.dir[TREE_UNIFIED], f);
	if (setns(own, CLONE_NEWNET) < 0)
		_exit(1); /* nothing may be done in the namespace of a sandbox by mistake */
	close(own);
	const char *leak = made < 0 ? NULL : network_leak(&p->network);
	return leak ? fail_with(f, EPERM, "network", "%s", leak) : made;
}

int relay_process_make(struct relay_process *p, const struct slot *s, const struct lane *lane, const struct group_set *groups, int cpu_tasks,
		       const struct relay_owner *owner, struct failure *f)
{
	p->groups = groups;
	p->cpu_tasks = cpu_tasks;
	p->relay = (struct relay){
		.namespace = owner->namespace, .directory = owner->directory, .ready = -1, .uid = owner->uid, .gid = owner->gid, .holder = getpid(),
	};
	memcpy(p->relay.token, owner->token, RELAY_TOKEN_BYTES);
	if (sandbox_make_leaf(groups, p->leaf.name) < 0)
		return fail(f, "cgroup", "group of the relay");
	if (leaf_make(&groups->below, &p->leaf, f) < 0 || make_network(p, s, lane, f) < 0)
		return -1;
	p->relay.listener = p->network.listener;
	p->relay.datagrams = p->network.datagrams;
	p->relay.diag = p->network.diag;
	return 0;
}

int relay_process_start(struct relay_process *p, struct failure *f)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return fail(f, "network", "start of the relay");
	p->ready = pair[0];
	p->relay.ready = pair[1];
	int started = start(p), err = errno;
	close_fd(&p->relay.ready);
	return started < 0 ? fail_with(f, err, "network", "start of the relay") : 0;
}

int relay_process_await(struct relay_process *p, struct failure *f)
{
	struct pollfd on = {.fd = p->ready, .events = POLLIN};
	char byte;
	while (poll(&on, 1, BUILD_TIMEOUT_MS) < 0 && errno == EINTR)
		continue;
	bool serves = recv(p->ready, &byte, sizeof byte, MSG_DONTWAIT) == sizeof byte; /* nothing comes from a relay that has ended */
	close_fd(&p->ready);
	return serves ? 0 : fail_with(f, ESRCH, "network", "the relay did not become ready");
}

/* Waits for the end of the relay, which has ended or is killed. */
static void reap(struct relay_process *p)
{
	bool reaped = false;
	reap_child(p->pidfd, &reaped);
	close_fd(&p->pidfd);
	p->pid = -1;
}

/* Starts the relay in groups that are made anew: what is born in a group that was killed before may be killed as well (leaf_kill()). */
static int start_again(struct relay_process *p)
{
	struct failure unused = {0};
	leaf_close(&p->groups->below, &p->leaf);
	if (sandbox_remove_leaf(p->groups, p->leaf.name) < 0 || sandbox_make_leaf(p->groups, p->leaf.name) < 0 || leaf_make(&p->groups->below, &p->leaf, &unused) < 0)
		return -1;
	return start(p);
}

uint64_t relay_process_check(struct relay_process *p)
{
	siginfo_t info = {0};
	if (!has_network(p))
		return UINT64_MAX;
	if (p->pidfd >= 0) {
		if (waitid((idtype_t)3 /* P_PIDFD */, (id_t)p->pidfd, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || !info.si_pid)
			return UINT64_MAX;
		reap(p);
	}
	uint64_t due = p->begun_ns + RESTART_MS * 1000000ull;
	if (now_ns() < due)
		return due;
	p->begun_ns = now_ns();
	return start_again(p) == 0 ? UINT64_MAX : now_ns() + RESTART_MS * 1000000ull;
}

void relay_process_end(struct relay_process *p)
{
	network_close(&p->network);
	close_fd(&p->ready);
	if (p->pidfd >= 0) {
		syscall(__NR_pidfd_send_signal, p->pidfd, SIGKILL, NULL, 0);
		reap(p);
	}
}
