/*
 * The holder of a sandbox (sandbox.h). It reads one HOLD, makes the sandbox, and then serves two kinds of requests, without ever waiting for one
 * of their senders: frames of its client, and messages of attached slots. When the client ends the sandbox, or its connection, the holder
 * kills everything in the sandbox, removes it and reports what is left. A client that has said KEEP can leave: then the holder stops everything in the
 * sandbox, and waits for the next client.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/un.h>
#include <unistd.h>

#include "cgroup/sandboxes.h"
#include "clock.h"
#include "descriptors.h"
#include "egress/relay-process.h"
#include "run/run.h"
#include "sandbox/proc_files.h"
#include "sandbox/sandbox.h"
#include "seccomp.h"
#include "slot/connection.h"
#include "supervise/supervise.h"

enum {
	HOLD_BODY_MAX = 1024,
	STAYING_MAX = 16, /* attached slots that stay without a client */
	PLACES_MAX = 2 * ATTACHED_MAX + STAYING_MAX + 2, /* also for those of a former client, and for slots that have not joined */
	LEAVES_TOGETHER_MS = 500, /* within this time, the connections of a client that ends are closed */
	FREEZE_TIMEOUT_MS = 6000,  /* programs that wait for a disk stop when they have it, and many that fork on a busy machine one after the other */
	STARTS_TIMEOUT_MS = 2000,  /* how long a PAUSE waits for programs that are being started */
	COVER_EVERY_MS = 1000,
	WRITE_EVERY_MS = 1000,     /* how often the files in /proc are written while programs may run */
	RECLAIM_AFTER_MS = 100, RECLAIM_TIMEOUT_MS = 200, RECLAIM_STEP_BYTES = 4 << 20, RECLAIM_LEAST_BYTES = 64 << 10,
	END_TIMEOUT_MS = 8000,     /* how long attached slots may take to end; below SLOT_END_MS of serve.c */
	UNCHARGE_TIMEOUT_MS = 5000, RECLAIM_EVERY = 8, CHARGED_MAX = 4 << 20, GROUPS_TIMEOUT_MS = 2000, DISK_TRIES = 5, DISK_PAUSE_US = 20000,
	DISK_TIMEOUT_MS = 5000, DISK_TIMEOUT_MS_PER_GIB = 2000, /* a disk of many pieces takes 1.2 s for each GiB */
	POLL_KILL_MS = 20, PROGRESS_TIMEOUT_MS = 2000, PROCESSES_TIMEOUT_MS = 30000,
	LEFT_CHECK_MS = 50,        /* how often processes that were left are looked at; the checks take at most 1/LEFT_CHECK_SHARE of the time */
	LEFT_CHECK_SHARE = 20,
	LOCK_CHECK_MS = 250,       /* how often the locks are looked at while programs may run */
	WALKABLE_MEMORY_BYTES = 1 << 30, /* their bound of page tables: as walkableBytes() there, for all tasks of the sandbox */
	KERNEL_LEAST_BYTES = 48 << 20, KERNEL_SHARE = 8, /* their bound of kernel memory: as kernelBytes() in src/sandbox/step.ts */
};

struct attached {
	int socket;  /* -1: there is none */
	bool joined; /* it has the descriptors of the sandbox */
	bool stays;  /* its step goes on without a client */
	bool ends;   /* it was told to end, because its client is no longer that of the sandbox */
	uint64_t left_ns; /* when its client left a step that may go on; 0: it has not, or that is decided */
	int leaf;    /* which it has; -1: none */
	unsigned user; /* its number among all that have ever come, from 1 on */
	bool starts; /* it has a leaf, and has not said yet that its program has started */
};

/* The state of a holder, in memory that no process of the sandbox inherits. */
struct holder {
	struct slot slot;
	unsigned number;  /* among the holders */
	char token[TOKEN_BYTES + 1];
	int connection, listener, cpu_tasks, events, proc; /* `events`: see sandbox_open_events(); `proc`: the directory /proc of the sandbox */
	struct queue out;
	struct hold_request limits;
	struct group_set groups;
	struct leaf_pool pool;
	struct box box;
	struct disk disk; /* if the files are not in memory */
	struct proc_files proc_files;
	struct relay_process relay; /* if it has a network */
	struct run run; /* a parked program that shows which controls hold */
	struct attached attached[PLACES_MAX];
	uint64_t covered_ns; /* when /proc was last looked through */
	uint64_t oom_events; /* v2: of the group itself, as last seen */
	int left;            /* leaves with processes that were left, at the last check */
	uint64_t left_check_at; /* when the next check is due */
	unsigned clients; /* how many have replaced the first one */
	unsigned users; /* how many attached slots have come */
	uint64_t shared_locks, lock_check_at; /* for locks_exceeded(); when the next check is due */
	uint64_t reclaim_at;  /* when memory of the paused sandbox is reclaimed; 0: it was, or the sandbox is not paused */
	bool sockets_limited; /* the programs of loopback.h were found on the sandbox's group, before the holder gave up what older kernels want for that */
	bool paused, lost;   /* `lost`: the init of the sandbox has ended, or its programs cannot be stopped without a client */
	bool frozen;         /* between FREEZE and THAW: the leaves are stopped one by one, so that another one can run */
	bool kept;           /* the sandbox outlives its connection */
	uint64_t kept_until_ns; /* without a connection: when the sandbox ends */
};

/* ---- making the sandbox ---- */

/* Makes the directory of sockets the working directory for the length of a call that takes a name there, as bind() does. */
static int in_sockets(const struct launcher *l, int (*act)(int, const struct sockaddr *, socklen_t), int socket, const char *token)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof address.sun_path, "%s", token);
	if (fchdir(l->sockets) < 0)
		return -1;
	int done = act(socket, (struct sockaddr *)&address, sizeof address), err = errno;
	if (chdir("/") < 0)
		_exit(1);
	errno = err;
	return done;
}

static int listen_for_slots(struct holder *h, struct failure *f)
{
	h->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (h->listener < 0 || in_sockets(h->slot.launcher, bind, h->listener, h->token) < 0 || listen(h->listener, ATTACHED_MAX) < 0)
		return fail(f, "sandbox", "socket for attached slots");
	return 0;
}

/* Notes the bytes of a disk, if all disks together then have no more than they may. Of two holders that race, one or both see the sum. */
static bool reserve_disk(const struct holder *h)
{
	const struct launcher *l = h->slot.launcher;
	uint64_t *own = &l->notes[h->slot.number].disk, sum = 0;
	__atomic_store_n(own, h->limits.disk, __ATOMIC_SEQ_CST);
	for (size_t i = 0; i < notes_size(l) / sizeof *l->notes; i++)
		sum += __atomic_load_n(&l->notes[i].disk, __ATOMIC_SEQ_CST);
	if (sum > l->disk_bytes)
		__atomic_store_n(own, 0, __ATOMIC_SEQ_CST);
	return sum <= l->disk_bytes;
}

static int make_disk(struct holder *h, struct failure *f)
{
	const struct launcher *l = h->slot.launcher;
	if (l->disks.directory < 0)
		return fail_with(f, ENOTSUP, "disk", "sandboxes have none here");
	if (h->limits.inodes != h->limits.disk / DISK_INODE_BYTES)
		return fail_with(f, EINVAL, "disk", "has an inode for each %d bytes", DISK_INODE_BYTES);
	for (int tries = 1; !reserve_disk(h); tries++) {
		if (tries == DISK_TRIES)
			return fail_with(f, ENOSPC, "disk", "all disks together have the bytes that they may have");
		usleep(DISK_PAUSE_US + h->number % 16 * 1000); /* two that have seen each other do not look again at the same moment */
	}
	if (disk_make(&l->disks, h->limits.disk, &h->disk, f) == 0)
		return 0;
	__atomic_store_n(&l->notes[h->slot.number].disk, 0, __ATOMIC_SEQ_CST);
	return -1;
}

static uint64_t fact(const struct holder *h, enum fact which)
{
	uint64_t value;
	return leaf_read(&h->slot.launcher->sandboxes.below, &h->groups.own, which, &value) < 0 ? 0 : value;
}

/* Reads what the files in /proc say. */
static int read_values(const struct holder *h, struct proc_values *v)
{
	struct sandbox_memory memory;
	if (sandbox_memory(&h->groups, &memory) < 0)
		return -1;
	*v = (struct proc_values){
		.memory_limit = h->limits.memory, .memory = memory.all, .files = memory.files, .shmem = memory.shmem,
		.cpu_usec = fact(h, FACT_CPU_USEC), .processes = fact(h, FACT_PIDS_CURRENT),
	};
	return 0;
}

/* The user of the relay is another one than that of the sandbox's programs. */
static int make_network(struct holder *h, struct failure *f)
{
	const struct launcher *l = h->slot.launcher;
	struct relay_owner owner = {.uid = h->box.lane->uid + l->holders, .directory = l->egress, .namespace = l->egress_namespace, .token = h->limits.network};
	owner.gid = l->egress_gid ? l->egress_gid : owner.uid;
	if (l->egress < 0 || l->loopback.counts < 0)
		return fail_with(f, ENOTSUP, "network", "sandboxes have none here");
	return relay_process_make(&h->relay, &h->slot, h->box.lane, &h->groups, h->cpu_tasks, &owner, f);
}

/* The relay is a process of the sandbox's groups, but not one of its programs. */
static uint64_t processes_of_holder(const struct holder *h) { return h->limits.network[0] != 0; }

static int make_sandbox(struct holder *h, struct failure *f)
{
	struct slot *s = &h->slot;
	struct sandbox_root root = {
		.uid = s->lane[0].uid, .disk = h->limits.disk, .inodes = h->limits.inodes, .network = h->limits.network[0] != 0, .disk_mount = -1, .proc_mount = -1,
	};
	char path[32];
	s->launcher->notes[s->number].account = h->limits.account; /* before there is a group that the launcher may have to remove */
	if (sandbox_make(&h->groups, &s->launcher->sandboxes.below, h->number, h->limits.account, h->limits.memory,
			 h->limits.processes + processes_of_holder(h), f) < 0)
		return -1;
	if (s->launcher->loopback.counts >= 0) {
		if (loopback_limit(&s->launcher->loopback, &h->groups, h->limits.memory, h->number, f) < 0)
			return -1;
		h->sockets_limited = loopback_attached(&s->launcher->loopback, &h->groups);
	}
	if (s->launcher->locks.sandboxes >= 0 && locks_permit(&s->launcher->locks, &h->groups, s->launcher->holders, h->number, f) < 0)
		return -1;
	h->cpu_tasks = sandbox_cpu_tasks(&h->groups);
	h->events = sandbox_open_events(&h->groups);
	s->cpu_group_tasks = h->cpu_tasks;
	h->pool.on_disk = h->limits.on_disk;
	h->pool.own_ids = h->limits.network[0] != 0;
	if (proc_files_make(&h->proc_files, f) < 0 || (h->limits.on_disk && make_disk(h, f) < 0))
		return -1;
	root.disk_mount = h->disk.mount;
	root.proc_mount = h->proc_files.mount;
	int built = box_build_sandbox(s, &h->box, &root, f);
	close_fd(&h->proc_files.mount);
	close_fd(&h->disk.mount); /* the box has both */
	if (built < 0)
		return -1;
	h->box.groups = &h->groups.below;
	snprintf(path, sizeof path, "%d/root/proc", (int)h->box.init);
	h->proc = openat(s->launcher->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (h->proc < 0)
		return fail(f, "mount", "/proc of the sandbox");
	if (sandbox_proc_uncovered(h->proc) != 0)
		return fail_with(f, EPERM, "mount", "/proc of the sandbox shows something of the machine");
	h->covered_ns = now_ns();
	if (h->limits.network[0] && make_network(h, f) < 0)
		return -1;
	struct proc_values values;
	if (read_values(h, &values) < 0)
		return fail(f, "cgroup", "what the sandbox uses");
	if (proc_files_begin(&h->proc_files, h->proc, &values, f) < 0)
		return -1;
	if (!has_network(&h->relay))
		return slot_confine(sandbox_columns(s->launcher), f);
	return slot_confine(sandbox_columns(s->launcher) | SECCOMP_RELAY, f) < 0 ? -1 : relay_process_start(&h->relay, f);
}

/* Parks a program in the sandbox, reads which controls hold for it, and ends it. */
static int prove_controls(struct holder *h, struct failure *f)
{
	char name[16];
	struct teardown t = {.reaped = true};
	unsigned unused;
	int leaf = pool_take(&h->pool, &h->groups, 0, &unused);
	if (leaf < 0)
		return fail(f, "cgroup", "leaf of an execution");
	pool_name(leaf, name);
	leaf_name(&h->slot.run_lane[0].leaf, LEAF_OF_HOLDER, name);
	h->box.attached = true; /* the end of the run must not end the sandbox */
	int done = run_build_attached(&h->slot, &h->run, &h->box, INPUT_EMPTY, NULL, f);
	run_end(&h->run, &t);
	run_destroy(&h->slot, &h->run, &t);
	h->box.attached = false;
	const struct leaf_use use = {.reusable = !h->run.leaf_unfit, .killed = true, .charged = UINT64_MAX};
	leaf_close(&h->groups.below, &h->slot.run_lane[0].leaf);
	pool_give(&h->pool, &h->groups, leaf, &use);
	return done;
}

/* Notes whether a limit of the group is that of the request, as the kernel says. It may round that of the memory down to whole pages. */
static void note_limit(struct holder *h, enum control control, enum fact fact, uint64_t wanted, uint64_t rounding)
{
	uint64_t value;
	if (leaf_read(&h->slot.launcher->sandboxes.below, &h->groups.own, fact, &value) < 0)
		control_note(&h->run, control, "cannot be read back");
	else
		control_note(&h->run, control, value <= wanted && value + rounding >= wanted ? NULL : "reads back differently");
}

/* Reports what only some hosts permit (prepare.c), if the sandbox has it. */
static void send_bound(struct holder *h, const char *name, bool there, bool confirmed)
{
	char text[64];
	snprintf(text, sizeof text, "%s: cannot be read back", name);
	if (there)
		queue_text(&h->out, confirmed ? KEY_HELD_CONTROL : KEY_HELD_MISSING, confirmed ? name : text);
}

static void send_bounds(struct holder *h)
{
	const struct launcher *l = h->slot.launcher;
	struct loopback_counts sockets;
	struct lock_counts locks;
	bool has_sockets = l->loopback.counts >= 0, has_locks = l->locks.sandboxes >= 0;
	send_bound(h, "no_route_out", h->limits.network[0], has_network(&h->relay) && !network_leak(&h->relay.network));
	send_bound(h, "socket_limit", has_sockets, h->sockets_limited && loopback_read(&l->loopback, &h->groups, &sockets) == 0 && sockets.most_ends > 0);
	send_bound(h, "lock_limit", has_locks, has_locks && locks_attached(&l->locks) && locks_read(&l->locks, &h->groups, &locks) == 0 && locks.most > 0);
}

static void send_held(struct holder *h)
{
	note_limit(h, CONTROL_memory_limit, FACT_MEMORY_LIMIT, h->limits.memory, 65535);
	note_limit(h, CONTROL_process_limit, FACT_PIDS_LIMIT, h->limits.processes + processes_of_holder(h), 0);
	/* make_sandbox() has looked already; another client comes much later. */
	if (h->clients && sandbox_proc_uncovered(h->proc) != 0)
		control_note(&h->run, CONTROL_restricted_proc, "shows something of the machine");
	queue_frame(&h->out, FRAME_HELD);
	queue_text(&h->out, KEY_TOKEN, h->token);
	for (int c = 0; c < CONTROL_COUNT; c++) {
		char text[160];
		/* The limits of a process are those of its execution, which reads them back. */
		if (!control_belongs(&h->run, c) || c == CONTROL_resource_limits)
			continue;
		snprintf(text, sizeof text, "%s: %s", control_name_of(&h->run, c), h->run.control[c] ? h->run.control[c] : "was not read");
		if (control_applied(&h->run, (enum control)c))
			queue_text(&h->out, KEY_HELD_CONTROL, control_name_of(&h->run, c));
		else
			queue_text(&h->out, KEY_HELD_MISSING, text);
	}
	send_bounds(h);
	queue_frame_end(&h->out);
}

/* ---- attached slots ---- */

static struct held_descriptors descriptors_of(const struct holder *h)
{
	struct held_descriptors d = {.init = h->box.init_fd, .terminals = h->box.terminals, .cpu_tasks = h->cpu_tasks, .connection = -1};
	memcpy(d.namespaces, h->box.lane->namespace_fd, sizeof d.namespaces);
	for (int t = 0; t < TREE_COUNT; t++)
		d.groups[t] = t == TREE_CPU ? -1 : h->groups.own.dir[t];
	return d;
}

static void accept_slot(struct holder *h)
{
	int socket = accept4(h->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t size = sizeof peer;
	int free_place = 0;
	if (socket < 0)
		return;
	while (free_place < PLACES_MAX && h->attached[free_place].socket >= 0)
		free_place++;
	if (free_place == PLACES_MAX || getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.uid != 0) {
		close(socket);
		return;
	}
	h->attached[free_place] = (struct attached){.socket = socket, .leaf = -1, .user = ++h->users};
}

static int joined_slots(const struct holder *h)
{
	int joined = 0;
	for (int i = 0; i < PLACES_MAX; i++)
		joined += h->attached[i].socket >= 0 && h->attached[i].joined && !h->attached[i].stays && !h->attached[i].ends;
	return joined;
}

/* Takes a leaf back from an attached slot. */
static void take_back(struct holder *h, struct attached *a, const struct leaf_use *use)
{
	if (a->leaf >= 0)
		pool_give(&h->pool, &h->groups, a->leaf, use);
	a->leaf = -1;
	a->starts = false;
}

/* Tells a slot to end, and kills what it runs. It still reaps that, gives its leaf back and closes its connection, after which it is dropped. */
static void end_slot(struct holder *h, struct attached *a)
{
	a->ends = true;
	shutdown(a->socket, SHUT_WR);
	pool_kill(&h->pool, &h->groups, a->leaf);
}

static void drop_slot(struct holder *h, struct attached *a)
{
	close_fd(&a->socket);
	take_back(h, a, &leaf_use_lost); /* kills its processes; what the leaf has counted is not known */
}

/* Covers what has appeared in /proc since the last look. Returns -1 with errno if something stays uncovered. */
static int keep_proc_covered(struct holder *h)
{
	uint64_t now = now_ns();
	if (now - h->covered_ns < COVER_EVERY_MS * 1000000ull)
		return 0;
	h->covered_ns = now;
	int uncovered = sandbox_proc_uncovered(h->proc);
	if (uncovered > 0) {
		if (keyed(setns, h->box.mount_ns, CLONE_NEWNS) < 0)
			return -1;
		int done = sandbox_proc_cover(), err = errno;
		slot_return(&h->slot);
		errno = err;
		if (done < 0)
			return -1;
		uncovered = sandbox_proc_uncovered(h->proc);
	}
	if (uncovered == 0)
		return 0;
	errno = EPERM;
	return -1;
}

/* Gives an attached slot the descriptors of the sandbox, if there are not as many slots as there may be. */
static void join_slot(struct holder *h, struct attached *a)
{
	struct held_message box = {.kind = HELD_BOX, .uid = h->box.lane->uid, .init = h->box.init, .processes = h->limits.processes, .network = has_network(&h->relay)};
	struct held_descriptors descriptors = descriptors_of(h);
	if (a->joined || joined_slots(h) == ATTACHED_MAX || held_send(a->socket, &box, &descriptors) < 0) {
		drop_slot(h, a);
		return;
	}
	a->joined = true;
}

/* Whether there can be programs: in leaves of executions, or of what these have left. */
static bool has_programs(const struct holder *h)
{
	bool any = false;
	for (int i = 0; i < SANDBOX_LEAVES_MAX; i++)
		any = any || h->pool.state[i] == LEAF_TAKEN || h->pool.state[i] == LEAF_LEFT;
	return any;
}

/*
 * Writes the files in /proc if that is due. Returns when it is next; UINT64_MAX while no program can read them, so that an idle sandbox costs nothing. There is
 * one before each execution as well. If programs keep too many replaced files open, the sandbox goes on with the values of before.
 */
static uint64_t write_proc(struct holder *h, bool begins)
{
	uint64_t due = h->proc_files.written_ns + WRITE_EVERY_MS * 1000000ull;
	struct proc_values values;
	if (h->paused || h->frozen || (!begins && !has_programs(h)))
		return UINT64_MAX;
	if (now_ns() < due)
		return due;
	if (read_values(h, &values) == 0)
		proc_files_write(&h->proc_files, &values);
	else
		h->proc_files.written_ns = now_ns();
	return h->proc_files.written_ns + WRITE_EVERY_MS * 1000000ull;
}

/*
 * Kills all programs of the sandbox if its locks exceed their limit although the program that made the last one was killed (locks.h). Returns when the
 * next check is due; UINT64_MAX if no program runs. There is one before each execution as well, so that it does not end for what an earlier one has done.
 */
static uint64_t check_locks(struct holder *h, bool at_once)
{
	const struct locks *locks = &h->slot.launcher->locks;
	if (locks->sandboxes < 0 || (!at_once && !has_programs(h)))
		return UINT64_MAX;
	uint64_t now = now_ns();
	if (at_once || now >= h->lock_check_at) {
		if (locks_exceeded(locks, &h->groups, &h->shared_locks))
			pool_kill_all(&h->pool, &h->groups);
		h->lock_check_at = now + LOCK_CHECK_MS * 1000000ull;
	}
	return h->lock_check_at;
}

static void give_leaf(struct holder *h, struct attached *a, bool while_frozen)
{
	struct held_message answer = {.kind = HELD_LEAF, .leaf = -1};
	if (!h->paused)
		check_locks(h, true);
	write_proc(h, true);
	if (a->ends)
		answer.err = ECONNRESET;
	else if (while_frozen && !h->frozen)
		answer.err = ENOTSUP;
	else if (!while_frozen && (h->paused || h->frozen))
		answer.err = EBUSY;
	else if (a->leaf >= 0)
		answer.err = EINVAL;
	else if (keep_proc_covered(h) < 0 || (answer.leaf = pool_take(&h->pool, &h->groups, a->user, &answer.same)) < 0)
		answer.err = errno;
	a->leaf = answer.leaf;
	a->starts = answer.leaf >= 0;
	if (held_send(a->socket, &answer, NULL) < 0)
		drop_slot(h, a);
}

static void take_over(struct holder *h, struct attached *a, const struct held_message *m, int connection);

static void serve_slot(struct holder *h, struct attached *a)
{
	struct held_message m;
	struct held_descriptors d;
	if (held_receive(a->socket, &m, &d) < 0) {
		if (errno != EAGAIN && errno != EINTR)
			drop_slot(h, a);
		return;
	}
	if (m.kind == HELD_REJOIN) {
		take_over(h, a, &m, d.connection);
		return;
	}
	held_close(&d);
	switch (m.kind) {
	case HELD_JOIN: join_slot(h, a); break;
	case HELD_TAKE: give_leaf(h, a, m.while_frozen); break;
	case HELD_STARTED: a->starts = false; break;
	case HELD_LEFT: a->left_ns = now_ns(); break;
	case HELD_GIVE:
		h->left_check_at = 0;
		take_back(h, a, &(struct leaf_use){.left = m.left, .reusable = m.reusable, .killed = m.killed, .as_new = m.as_new, .charged = m.charged});
		break;
	default: drop_slot(h, a);
	}
}

/*
 * Asks the attached slots that have a leaf, and serves their messages until none of them starts a program, because a stopped group would keep it from becoming
 * ready. Only here is the holder told of a start, because each message wakes it.
 */
static void await_starts(struct holder *h)
{
	const struct held_message ask = {.kind = HELD_ASK};
	for (int i = 0; i < PLACES_MAX; i++)
		if (h->attached[i].starts && held_send(h->attached[i].socket, &ask, NULL) < 0)
			drop_slot(h, &h->attached[i]);
	uint64_t deadline = now_ns() + STARTS_TIMEOUT_MS * 1000000ull;
	for (;;) {
		struct pollfd on[PLACES_MAX];
		bool starts = false;
		for (int i = 0; i < PLACES_MAX; i++) {
			on[i] = (struct pollfd){.fd = h->attached[i].starts ? h->attached[i].socket : -1, .events = POLLIN};
			starts = starts || h->attached[i].starts;
		}
		if (!starts || now_ns() >= deadline || poll(on, PLACES_MAX, STARTS_TIMEOUT_MS) <= 0)
			return;
		for (int i = 0; i < PLACES_MAX; i++)
			if (on[i].revents)
				serve_slot(h, &h->attached[i]);
	}
}

static void tell_slots(struct holder *h, enum held_kind kind)
{
	struct held_message m = {.kind = kind};
	for (int i = 0; i < PLACES_MAX; i++)
		if (h->attached[i].socket >= 0 && h->attached[i].joined && held_send(h->attached[i].socket, &m, NULL) < 0)
			drop_slot(h, &h->attached[i]);
}

/* ---- requests of the client ---- */

/*
 * Checks the processes that executions have left, at most every LEFT_CHECK_MS, and the lock for renames when that is due. Returns when the next check
 * is due; UINT64_MAX if none is.
 */
static uint64_t check_left(struct holder *h)
{
	uint64_t now = now_ns(), most = h->limits.memory / KERNEL_SHARE;
	if (h->paused || h->frozen)
		return UINT64_MAX;
	if (now >= h->left_check_at) {
		uint64_t bound = most > KERNEL_LEAST_BYTES ? most : KERNEL_LEAST_BYTES;
		uint64_t walkable = (h->limits.memory < WALKABLE_MEMORY_BYTES ? h->limits.memory : WALKABLE_MEMORY_BYTES) / 5 * 3;
		h->left = pool_check_left(&h->pool, &h->groups, bound, walkable, walkable_bytes_of, h->slot.launcher->proc);
		uint64_t after = now_ns(), took = (after - now) * LEFT_CHECK_SHARE, pause = LEFT_CHECK_MS * 1000000ull;
		h->left_check_at = after + (took > pause ? took : pause);
	}
	if (!h->left) {
		left_end_checks(false);
		return UINT64_MAX;
	}
	uint64_t locks = left_check_locks(&h->slot, &h->box, &h->groups.own);
	return locks < h->left_check_at ? locks : h->left_check_at;
}

static void send_paused(struct holder *h, bool stopped)
{
	queue_frame(&h->out, FRAME_PAUSED);
	queue_int(&h->out, KEY_FROZEN, stopped);
	queue_frame_end(&h->out);
}

/* Stops or continues all processes. If not all of them stop, none stays stopped. Returns whether they are stopped. */
static bool set_paused(struct holder *h, bool pause)
{
	h->paused = true; /* no further program starts */
	left_end_checks(true);
	if (pause) {
		await_starts(h);
		tell_slots(h, HELD_PAUSED); /* before the stop, so that no limit passes in between */
	}
	int state = sandbox_freeze(&h->groups, pause, FREEZE_TIMEOUT_MS);
	if (pause && state != 1)
		sandbox_freeze(&h->groups, false, FREEZE_TIMEOUT_MS);
	h->paused = pause ? state == 1 : state != 0;
	if (!h->paused)
		tell_slots(h, HELD_RESUMED);
	return h->paused;
}

/*
 * Stops everything as a pause does, then each leaf by itself, and then continues their group. So the processes stay stopped without a moment in
 * between, and a step in another leaf can run. On failure, the answer says that the sandbox runs, or that it is paused as before.
 */
static void freeze(struct holder *h)
{
	bool was_paused = h->paused;
	h->frozen = true; /* no further program starts */
	left_end_checks(true);
	if (!was_paused) {
		await_starts(h);
		tell_slots(h, HELD_PAUSED);
	}
	bool done = (was_paused || sandbox_freeze(&h->groups, true, FREEZE_TIMEOUT_MS) == 1) && pool_freeze(&h->pool, &h->groups, true, FREEZE_TIMEOUT_MS) &&
		    sandbox_freeze(&h->groups, false, FREEZE_TIMEOUT_MS) == 0;
	if (done) {
		send_paused(h, true);
		return;
	}
	sandbox_freeze(&h->groups, was_paused, FREEZE_TIMEOUT_MS);
	pool_freeze(&h->pool, &h->groups, false, 0);
	h->frozen = false;
	if (!was_paused)
		tell_slots(h, HELD_RESUMED);
	send_paused(h, false);
}

static void thaw(struct holder *h)
{
	bool done = !h->paused || sandbox_freeze(&h->groups, true, FREEZE_TIMEOUT_MS) == 1;
	if (done) /* the leaves of a paused sandbox do not run in between */
		pool_freeze(&h->pool, &h->groups, false, 0);
	h->frozen = !done;
	if (done && !h->paused)
		tell_slots(h, HELD_RESUMED);
	send_paused(h, h->paused || !done);
}

/* Stops everything until another client says RESUME, also if a client that is gone had frozen the sandbox. Returns whether everything is stopped. */
static bool stop_without_client(struct holder *h)
{
	if (h->frozen) {
		if (sandbox_freeze(&h->groups, true, FREEZE_TIMEOUT_MS) != 1)
			return false;
		pool_freeze(&h->pool, &h->groups, false, 0);
		h->frozen = false;
		h->paused = true;
	}
	return (h->paused && sandbox_is_frozen(&h->groups) == 1) || set_paused(h, true);
}

/* ---- one client after the other ---- */

/*
 * The client has left. If the sandbox is kept, all of its programs are stopped, so that it does nothing that nobody watches, and another client may come for
 * a time. Otherwise, and if they do not stop, returns false: the sandbox is to end.
 */
static bool await_client(struct holder *h)
{
	close_fd(&h->connection);
	queue_free(&h->out);
	if (!h->kept)
		return false;
	h->kept_until_ns = now_ns() + h->slot.launcher->keep_ns;
	h->slot.launcher->notes[h->slot.number].kept_until_ns = h->kept_until_ns; /* before the stop, which can take seconds */
	return stop_without_client(h);
}

/*
 * Decides whether steps whose clients have left go on. They do if the client of the holder has left as well, and its sandbox is kept: then it did not end
 * the steps, but itself. Returns when the next decision is due; UINT64_MAX if none is.
 */
static uint64_t decide_stays(struct holder *h)
{
	uint64_t now = now_ns(), next = UINT64_MAX;
	int stay = 0;
	for (int i = 0; i < PLACES_MAX; i++)
		stay += h->attached[i].socket >= 0 && h->attached[i].stays;
	for (int i = 0; i < PLACES_MAX; i++) {
		struct attached *a = &h->attached[i];
		uint64_t due = a->left_ns + LEAVES_TOGETHER_MS * 1000000ull;
		if (a->socket < 0 || !a->left_ns)
			continue;
		if (h->connection >= 0 && h->kept && now < due) {
			next = due < next ? due : next;
			continue;
		}
		struct held_message m = {.kind = HELD_ENDS, .number = h->slot.number};
		if (h->connection < 0 && h->kept && stay < STAYING_MAX) {
			m.kind = HELD_STAY;
			a->stays = true;
			stay++;
		}
		a->left_ns = 0;
		if (held_send(a->socket, &m, NULL) < 0)
			drop_slot(h, a);
	}
	return next;
}

/*
 * Notes that the holder has the connection of this process, before the process ends, at which the launcher looks for it; and not that of another one, whose
 * end the launcher may see later.
 */
static void give_connection(struct holder *h, unsigned number)
{
	const struct launcher *l = h->slot.launcher;
	for (size_t i = 0; i < notes_size(l) / sizeof *l->notes; i++)
		if (l->notes[i].given_to == h->slot.number + 1)
			l->notes[i].given_to = 0;
	l->notes[number].given_to = h->slot.number + 1;
}

/*
 * Takes another connection, which an attached slot has brought, in place of that of the client. A client that is still there is cut off. All attached slots
 * but those that stay end with what they run, because they were the former client's. The programs stay stopped until the new client says RESUME.
 */
static void take_over(struct holder *h, struct attached *a, const struct held_message *m, int connection)
{
	struct held_message answer = {.kind = HELD_REJOINED};
	if (connection < 0)
		answer.err = EINVAL;
	else if (!h->kept)
		answer.err = EPERM;
	else if (h->lost || (h->connection >= 0 && (shutdown(h->connection, SHUT_RDWR), !await_client(h)))) {
		h->lost = true;
		answer.err = EAGAIN;
	}
	if (!answer.err) {
		give_connection(h, m->number);
		decide_stays(h); /* of those whose client has left at the same time */
		for (int i = 0; i < PLACES_MAX; i++)
			if (&h->attached[i] != a && h->attached[i].socket >= 0 && h->attached[i].joined && !h->attached[i].stays)
				end_slot(h, &h->attached[i]);
		h->connection = connection;
		h->clients++;
		send_held(h);
		if (flush_all(&h->out, h->connection) < 0)
			h->lost = !await_client(h);
	} else if (connection >= 0) {
		close(connection);
	}
	held_send(a->socket, &answer, NULL);
	drop_slot(h, a);
}

/*
 * Makes the kernel free what it can of the memory of a paused sandbox, such as pages of programs and unused entries of directories. That takes milliseconds, in
 * which the holder serves nobody, so it comes a while after the pause: a client that resumes at once does not wait. A request ends it. Files and the memory of
 * programs stay, because they would need swap space.
 */
static void reclaim(struct holder *h)
{
	uint64_t deadline = now_ns() + RECLAIM_TIMEOUT_MS * 1000000ull, before = fact(h, FACT_MEMORY_NOW);
	for (;;) {
		struct pollfd client = {.fd = h->connection, .events = POLLIN};
		leaf_reclaim(&h->slot.launcher->sandboxes.below, &h->groups.own, RECLAIM_STEP_BYTES);
		uint64_t now = fact(h, FACT_MEMORY_NOW);
		if (now + RECLAIM_LEAST_BYTES > before || now_ns() >= deadline || poll(&client, 1, 0) != 0)
			return;
		before = now;
	}
}

static void send_measured(struct holder *h)
{
	struct statfs st = {0};
	fstatfs(h->box.work, &st); /* an overlay answers for its upper layer */
	queue_frame(&h->out, FRAME_MEASURED);
	queue_int(&h->out, KEY_NOW_MEMORY, fact(h, FACT_MEMORY_NOW));
	queue_int(&h->out, KEY_MOST_MEMORY, fact(h, FACT_MEMORY_PEAK));
	queue_int(&h->out, KEY_NOW_CPU_USEC, fact(h, FACT_CPU_USEC));
	uint64_t processes = fact(h, FACT_PIDS_CURRENT), own = h->relay.pidfd >= 0;
	queue_int(&h->out, KEY_NOW_PROCESSES, processes > own ? processes - own : 0);
	queue_int(&h->out, KEY_ALL_OOM_KILLS, sandbox_oom_kills(&h->groups, h->pool.retired_oom_kills));
	queue_int(&h->out, KEY_NOW_FROZEN, h->frozen || (h->paused && sandbox_is_frozen(&h->groups) == 1));
	queue_int(&h->out, KEY_NOW_DISK, (uint64_t)(st.f_blocks - st.f_bfree) * (uint64_t)st.f_bsize);
	queue_int(&h->out, KEY_NOW_INODES, st.f_files - st.f_ffree);
	queue_int(&h->out, KEY_ATTACHED, (uint64_t)joined_slots(h));
	queue_frame_end(&h->out);
}

/* Serves a request of the client. Returns false if the sandbox is to end. A client that has left may be followed by another one. */
static bool serve_client(struct holder *h)
{
	uint8_t header[FRAME_HEADER];
	if (read_exactly(h->connection, header, sizeof header, FRAME_TIMEOUT_MS) < 0)
		return await_client(h);
	if (header[0] | header[1] | header[2] | header[3]) {
		refuse_request(&h->out, h->connection, "frame with a body", "");
		return false;
	}
	bool stops = header[4] == FRAME_PAUSE || header[4] == FRAME_RESUME || header[4] == FRAME_FREEZE;
	if (h->frozen ? stops : header[4] == FRAME_THAW) {
		refuse_request(&h->out, h->connection, h->frozen ? "while it is frozen" : "is not frozen", "");
		return false;
	}
	switch (header[4]) {
	case FRAME_PAUSE: send_paused(h, set_paused(h, true)); break;
	case FRAME_RESUME: send_paused(h, set_paused(h, false)); break;
	case FRAME_FREEZE: freeze(h); break;
	case FRAME_THAW: thaw(h); break;
	case FRAME_MEASURE: send_measured(h); break;
	case FRAME_KEEP: h->kept = h->slot.launcher->keep_ns > 0; break;
	case FRAME_END: return false;
	default: refuse_request(&h->out, h->connection, "unknown frame", ""); return false;
	}
	if (flush_all(&h->out, h->connection) < 0)
		return await_client(h);
	h->reclaim_at = !h->paused ? 0 : header[4] == FRAME_PAUSE ? now_ns() + RECLAIM_AFTER_MS * 1000000ull : h->reclaim_at;
	return true;
}

/* Tells the client that the kernel has killed a process because the sandbox as a whole is out of memory. */
static void report_memory(struct holder *h)
{
	uint64_t events = 0;
	if (h->groups.own.oom_event >= 0) {
		if (read(h->groups.own.oom_event, &events, sizeof events) != sizeof events)
			return;
	} else {
		char unused[256];
		if (pread(h->events, unused, sizeof unused, 0) < 0) /* poll() reports each change until the file is read again */
			return;
		events = sandbox_own_ooms(&h->groups);
		if (events == h->oom_events)
			return;
		h->oom_events = events;
	}
	if (h->connection < 0)
		return;
	queue_frame(&h->out, FRAME_MEMORY_ENDED);
	queue_frame_end(&h->out);
	if (flush_all(&h->out, h->connection) < 0 && !await_client(h))
		h->lost = true;
}

static void hold(struct holder *h)
{
	enum { ON_CLIENT, ON_LISTENER, ON_INIT, ON_MEMORY, ON_RELAY, ON_SLOTS, EVENTS = ON_SLOTS + PLACES_MAX };
	sigset_t none;
	sigemptyset(&none);
	bool v1 = h->groups.own.oom_event >= 0;
	while (!slot_stopping && !h->lost) {
		struct pollfd on[EVENTS];
		on[ON_CLIENT] = (struct pollfd){.fd = h->connection, .events = POLLIN | POLLRDHUP};
		on[ON_LISTENER] = (struct pollfd){.fd = h->listener, .events = POLLIN};
		on[ON_INIT] = (struct pollfd){.fd = h->box.init_fd, .events = POLLIN};
		on[ON_MEMORY] = (struct pollfd){.fd = v1 ? h->groups.own.oom_event : h->events, .events = v1 ? POLLIN : POLLPRI};
		uint64_t relay = relay_process_check(&h->relay);
		on[ON_RELAY] = (struct pollfd){.fd = h->relay.pidfd, .events = POLLIN};
		for (int i = 0; i < PLACES_MAX; i++)
			on[ON_SLOTS + i] = (struct pollfd){.fd = h->attached[i].socket, .events = POLLIN};
		uint64_t next = check_left(h), due = decide_stays(h), locks = check_locks(h, false), files = write_proc(h, false), now = now_ns();
		if (due < next)
			next = due;
		if (files < next)
			next = files;
		if (locks < next)
			next = locks;
		if (h->reclaim_at && !h->frozen && now >= h->reclaim_at) {
			h->reclaim_at = 0;
			reclaim(h);
			continue;
		}
		if (h->reclaim_at && !h->frozen && h->reclaim_at < next)
			next = h->reclaim_at;
		if (relay < next)
			next = relay;
		if (h->connection < 0 && now >= h->kept_until_ns)
			return;
		if (h->connection < 0 && h->kept_until_ns < next)
			next = h->kept_until_ns;
		const unsigned client = h->clients;
		uint64_t wait = next > now ? next - now : 0;
		struct timespec soon = {(time_t)(wait / 1000000000u), (long)(wait % 1000000000u)};
		int events = ppoll(on, EVENTS, next == UINT64_MAX ? NULL : &soon, &none);
		if (events <= 0)
			continue;
		/* Slots come first: a request of the client may depend on what they have sent before. */
		for (int i = 0; i < PLACES_MAX; i++)
			if (on[ON_SLOTS + i].revents && h->attached[i].socket == on[ON_SLOTS + i].fd)
				serve_slot(h, &h->attached[i]);
		if (on[ON_MEMORY].revents)
			report_memory(h);
		if (on[ON_LISTENER].revents)
			accept_slot(h);
		if (on[ON_INIT].revents)
			h->lost = true;
		/*
		 * A slot can have brought another connection, with the same number as that of the client which it has replaced. What a client has sent before
		 * it left, such as an END, still counts.
		 */
		if (on[ON_CLIENT].revents && h->clients == client && h->connection == on[ON_CLIENT].fd && !serve_client(h))
			return;
	}
}

/* ---- the end ---- */

/*
 * Kills everything, and waits until the attached slots have reaped their programs and left: a pid namespace does not end before that, and they
 * have descriptors of the sandbox.
 */
static void end_slots(struct holder *h)
{
	uint64_t deadline = now_ns() + END_TIMEOUT_MS * 1000000ull;
	close_fd(&h->listener);
	for (int i = 0; i < PLACES_MAX; i++)
		if (h->attached[i].socket >= 0)
			shutdown(h->attached[i].socket, SHUT_WR); /* tells the slot; its own end closes the other direction */
	for (bool any = true; any && now_ns() < deadline;) {
		struct pollfd on[PLACES_MAX];
		any = false;
		sandbox_kill(&h->groups);
		for (int i = 0; i < PLACES_MAX; i++) {
			on[i] = (struct pollfd){.fd = h->attached[i].socket, .events = POLLIN};
			any = any || on[i].fd >= 0;
		}
		if (!any || poll(on, PLACES_MAX, POLL_KILL_MS) <= 0)
			continue;
		for (int i = 0; i < PLACES_MAX; i++) {
			struct held_message m;
			if (on[i].revents && held_receive(h->attached[i].socket, &m, NULL) < 0 && errno != EAGAIN)
				close_fd(&h->attached[i].socket);
		}
	}
}

/* Waits until the kernel has uncharged what the sandbox had, without the page cache of files of the image, which serves others as well. */
static void await_uncharged(struct holder *h, struct teardown *t)
{
	const struct groups *all = &h->slot.launcher->sandboxes.below;
	uint64_t deadline = now_ns() + UNCHARGE_TIMEOUT_MS * 1000000ull, charged;
	for (int waits = 0; (charged = sandbox_charged(&h->groups)) > CHARGED_MAX && now_ns() < deadline; waits++) {
		if (waits % RECLAIM_EVERY == RECLAIM_EVERY - 1)
			leaf_reclaim(all, &h->groups.own, charged);
		usleep(waits < 100 ? 2000 : 10000);
	}
	if (charged > CHARGED_MAX)
		teardown_leftover(t, "memory of the sandbox");
}

/*
 * Waits for processes that are in long calls of the kernel, which no signal ends, as long as they use CPU time: the init cannot end before them.
 * The launcher ends this if the client has left (SLOT_END_MS in serve.c).
 */
static void await_processes(struct holder *h)
{
	uint64_t begin = now_ns(), progress = begin, used = 0;
	while (fact(h, FACT_POPULATED) && !slot_stopping) {
		uint64_t now = now_ns(), cpu = fact(h, FACT_CPU_USEC);
		if (cpu > used)
			progress = now;
		used = cpu;
		if (now - progress > PROGRESS_TIMEOUT_MS * 1000000ull || now - begin > PROCESSES_TIMEOUT_MS * 1000000ull)
			return;
		sandbox_kill(&h->groups);
		usleep(POLL_KILL_MS * 1000);
	}
}

static bool remove_sandbox(struct holder *h)
{
	struct teardown t = {.reaped = true, .populated = -1};
	const struct launcher *l = h->slot.launcher;
	uint64_t value;
	if (h->groups.own.dir[TREE_UNIFIED] >= 0)
		sandbox_kill(&h->groups); /* before the disk ends, so that no program ends by an error of it */
	disk_end(&h->disk);
	relay_process_end(&h->relay);
	if (h->groups.own.dir[TREE_UNIFIED] >= 0) {
		end_slots(h);
		left_end_checks(false);
		await_processes(h);
	}
	unlinkat(l->sockets, h->token, 0);
	if (l->locks.sandboxes >= 0)
		locks_forget(&l->locks, h->number);
	if (l->loopback.counts >= 0)
		loopback_forget(&l->loopback, h->number);
	close_fd(&h->proc);
	if (h->box.built)
		box_destroy(&h->slot, &h->box, &t);
	if (h->disk.ender > 0 && !disk_await_ended(&h->disk, DISK_TIMEOUT_MS + (int)(h->limits.disk >> 30) * DISK_TIMEOUT_MS_PER_GIB))
		teardown_leftover(&t, "disk of the sandbox");
	if (h->groups.own.dir[TREE_UNIFIED] >= 0) {
		/* What cannot be read is not known to be gone. */
		if (leaf_read(&l->sandboxes.below, &h->groups.own, FACT_POPULATED, &value) == 0)
			t.populated = value != 0;
		else
			teardown_error(&t, fact_name(FACT_POPULATED), errno);
		if (leaf_read(&l->sandboxes.below, &h->groups.own, FACT_PIDS_CURRENT, &t.pids_left) < 0)
			teardown_error(&t, fact_name(FACT_PIDS_CURRENT), errno);
		leaf_close(&l->sandboxes.below, &h->relay.leaf);
		await_uncharged(h, &t);
		close_fd(&h->cpu_tasks);
		close_fd(&h->events);
		if (sandbox_remove(&l->sandboxes.below, h->number, h->limits.account, GROUPS_TIMEOUT_MS) > 0)
			teardown_leftover(&t, "groups of the sandbox");
	}
	send_teardown(&h->out, &t);
	flush_all(&h->out, h->connection);
	return t.reaped && !t.leftovers && !t.mounts && !t.pids_left;
}

static int read_hold(struct holder *h)
{
	uint8_t header[FRAME_HEADER], body[HOLD_BODY_MAX];
	struct refusal why;
	if (read_exactly(h->connection, header, sizeof header, -1) < 0)
		return -1;
	size_t size = (size_t)header[0] | (size_t)header[1] << 8 | (size_t)header[2] << 16 | (size_t)header[3] << 24;
	if (header[4] != FRAME_HOLD || size > sizeof body)
		return refuse_request(&h->out, h->connection, header[4] != FRAME_HOLD ? "unknown frame" : "frame too large", "HOLD");
	if (read_exactly(h->connection, body, size, FRAME_TIMEOUT_MS) < 0)
		return -1;
	return hold_parse(body, size, &h->limits, &why) < 0 ? refuse_request(&h->out, h->connection, why.reason, why.object) : 0;
}

int holder_serve(const struct launcher *l, unsigned number, unsigned holder, char token[TOKEN_BYTES + 1], int connection, pid_t launcher)
{
	static struct area area;
	struct holder *h = area_of(&area, sizeof *h);
	struct failure f = {0};

	if (begin_process(launcher) < 0)
		return 1;
	*h = (struct holder){.number = holder, .connection = connection, .listener = -1, .cpu_tasks = -1, .events = -1, .proc = -1, .disk = disk_none()};
	memcpy(h->token, token, sizeof h->token);
	explicit_bzero(token, sizeof h->token);
	h->groups.own.dir[TREE_UNIFIED] = -1;
	relay_process_none(&h->relay);
	for (int i = 0; i < PLACES_MAX; i++)
		h->attached[i].socket = h->attached[i].leaf = -1;
	if (fix_descriptor_table(l, &h->connection, &f) < 0 || groups_join(&l->groups, number, NULL, &f) < 0 || slot_prepare_holder(&h->slot, l, number, holder, &f) < 0) {
		send_failed(&h->out, h->connection, &f);
		return 1;
	}
	send_hello(&h->out, l, number);
	if (flush_all(&h->out, h->connection) < 0 || read_hold(h) < 0)
		return 0;
	if (make_sandbox(h, &f) < 0 || prove_controls(h, &f) < 0 || listen_for_slots(h, &f) < 0 ||
	    (has_network(&h->relay) && relay_process_await(&h->relay, &f) < 0)) {
		fprintf(stderr, "assay-launcher: holder %u: %s %s: %s\n", holder, f.step, f.object, strerror(f.err));
		send_failed(&h->out, h->connection, &f);
		remove_sandbox(h);
		return 1;
	}
	send_held(h);
	if (flush_all(&h->out, h->connection) == 0)
		hold(h);
	return !remove_sandbox(h);
}
