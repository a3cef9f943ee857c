/*
 * The launcher process: main.c prepares it and calls serve(), which accepts connections, forks a slot for each, and sweeps
 * after slots that ended. It never reads from a connection.
 */
#define _GNU_SOURCE
#include "serve.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "descriptors.h"
#include "sandbox/sandbox.h"
#include "signals.h"
#include "slot/slot.h"
#include "unforked-memory.h"
#include "wire/wire.h"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* Linux 6.16 */
#endif

/*
 * The sweep after one slot is short, because the launcher admits no client and handles no signal meanwhile. A slot whose client
 * has left gets SLOT_END_MS to clean up, and is then killed and swept.
 */
enum { SWEEP_TIMEOUT_MS = 20, SWEEP_RETRY_MS = 50, SLOT_END_MS = 10000 };

/*
 * A number that a slot can have, and the process of the slot that has it. Holders of sandboxes and attached slots have numbers of their own,
 * after those of the slots of submissions: what is said of slots holds for them as well.
 */
struct slot_process {
	pid_t pid;        /* 0: the number is free; -1: the slot is dead but not yet swept */
	int connection;   /* polled for the hang-up of the client, never read or written. -1: none, or the client has left */
	uint64_t disconnected_ns; /* when the client left */
};

typedef char token_text[TOKEN_BYTES + 1];

/*
 * Of each holder, the name of its socket; empty: the number is free. Only the launcher has this list: each process gets its own token as an argument. What is
 * not in this memory, each process that it forks has, also those that become programs of other sandboxes.
 */
static token_text *tokens;

/* The numbers of one kind of slots, and the socket to which their clients connect. */
struct kind {
	int listener; /* -1: there are none of this kind */
	unsigned first, count;
	const char *full; /* sent in FAILED if all numbers are in use */
	enum { SUBMISSIONS, HOLDERS, ATTACHED_SLOTS } what;
};
enum { KINDS = 3, PROCESSES_MAX = SLOTS_MAX + HOLDERS_MAX_NUMBER + ATTACHED_CONNECTIONS_MAX };

/*
 * How many of the processes can be in use: those of all kinds. No other entry of the list is touched, because each slot, and each process that it
 * forks, gets a copy of the pages that have been.
 */
static unsigned process_count;

static volatile sig_atomic_t stopping;

static void stop(int sig)
{
	(void)sig;
	stopping = 1;
}

/* SIGCHLD only has to interrupt ppoll(). */
static void child_ended(int sig) { (void)sig; }

int listen_at(const char *path, uid_t client, int *directory, struct failure *f)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char dir[sizeof address.sun_path];
	if (strlen(path) >= sizeof address.sun_path)
		return fail_with(f, ENAMETOOLONG, "socket", "%s", path);
	strcpy(dir, path);
	char *slash = strrchr(dir, '/');
	if (!slash)
		return fail_with(f, EINVAL, "socket", "%s is not an absolute path", path);
	slash[slash == dir] = 0;
	/* The socket gets its name after listen(): a client that sees it can connect. */
	if ((size_t)snprintf(address.sun_path, sizeof address.sun_path, "%s/.starting", dir) >= sizeof address.sun_path)
		return fail_with(f, ENAMETOOLONG, "socket", "%s", path);
	*directory = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* Between bind and lchown, no other user may replace the socket with another file. */
	struct stat st;
	if (*directory < 0 || fstat(*directory, &st) < 0)
		return fail(f, "socket", "directory %s", dir);
	if (st.st_uid != 0 || ((st.st_mode & 022) && !(st.st_mode & S_ISVTX)))
		return fail_with(f, EPERM, "socket", "directory %s is writable by users other than root", dir);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	unlink(address.sun_path);
	if (fd >= 0 && !refuse_descriptors(fd) && errno != ENOPROTOOPT)
		return fail(f, "socket", "SO_PASSRIGHTS");
	mode_t before = umask(0177);
	int bound = *directory < 0 || fd < 0 ? -1 : bind(fd, (struct sockaddr *)&address, sizeof address);
	umask(before);
	if (bound < 0 || lchown(address.sun_path, client, (gid_t)-1) < 0 || listen(fd, 128) < 0 ||
	    rename(address.sun_path, path) < 0)
		return fail(f, "socket", "%s", path);
	return fd;
}

/*
 * If a client could pass descriptors, the launcher would have to close them, and the sender chooses how long the close of a lingering
 * socket takes. A connection inherits the option from the listener in connect().
 */
bool refuse_descriptors(int socket)
{
	int none = 0;
	return setsockopt(socket, SOL_SOCKET, SO_PASSRIGHTS, &none, sizeof none) == 0;
}

static bool peer_allowed(int connection, uid_t client)
{
	struct ucred peer;
	socklen_t size = sizeof peer;
	return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == client || peer.uid == 0);
}

/*
 * Refused connections are logged at most once a minute, and at the end, with their count since the previous line, because clients
 * could otherwise fill the log.
 */
static struct refusals {
	const char *what;
	uint64_t count, logged_ns;
} refused_peers = {.what = "peers of another uid"}, refused_clients = {.what = "connections, because all slots were taken"};

static void log_refusals(struct refusals *r)
{
	if (r->count)
		fprintf(stderr, "assay-launcher: refused %s: %" PRIu64 "\n", r->what, r->count);
	r->count = 0;
	r->logged_ns = now_ns();
}

static void count_refusal(struct refusals *r)
{
	r->count++;
	if (!r->logged_ns || now_ns() - r->logged_ns >= 60 * 1000000000ull)
		log_refusals(r);
}

int listen_for_sandboxes(const char *path, uid_t client, struct listeners *listeners, struct failure *f)
{
	const struct { const char *name; int *listener; } sockets[] = {
		{HOLDERS_SOCKET, &listeners->holders}, {ATTACHED_SOCKET, &listeners->attached},
	};
	for (size_t i = 0; i < sizeof sockets / sizeof *sockets; i++) {
		char beside[sizeof((struct sockaddr_un *)NULL)->sun_path];
		const char *slash = strrchr(path, '/');
		int directory, length = slash ? (int)(slash - path) : 0;
		if (snprintf(beside, sizeof beside, "%.*s/%s", length, path, sockets[i].name) >= (int)sizeof beside)
			return fail_with(f, ENAMETOOLONG, "socket", "%s", path);
		if ((*sockets[i].listener = listen_at(beside, client, &directory, f)) < 0)
			return -1;
		close(directory);
	}
	return 0;
}

/* Tells the peer the reason. It has just connected, so these few bytes fit into the socket without waiting. */
static void reject(int connection, const char *what, const char *why, int err)
{
	struct queue out = {0};
	queue_frame(&out, FRAME_FAILED);
	queue_text(&out, KEY_STEP_NAME, what);
	queue_text(&out, KEY_STEP_OBJECT, why);
	queue_int(&out, KEY_STEP_ERRNO, (uint64_t)err);
	queue_frame_end(&out);
	queue_flush(&out, connection);
	queue_free(&out);
}

/* Writes 128 random bits in hexadecimal digits. Returns -1 with errno if there are none. */
static int make_token(token_text token)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char bytes[TOKEN_BYTES / 2];
	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
		return -1;
	for (size_t i = 0; i < sizeof bytes; i++) {
		token[2 * i] = digits[bytes[i] >> 4];
		token[2 * i + 1] = digits[bytes[i] & 15];
	}
	token[TOKEN_BYTES] = 0;
	explicit_bzero(bytes, sizeof bytes); /* processes of boxes get a copy of this stack */
	return 0;
}

/* A descriptor that is free when no other one is. */
static int spare = -1;

static void open_spare(void) { spare = open("/", O_PATH | O_CLOEXEC); }

/*
 * Permits as many descriptors as there can be processes: the launcher has one of each connection. Root may raise the limit; where it may not, clients are
 * refused when no descriptor is left. The limit of a program is that of its step.
 */
static void permit_descriptors(void)
{
	enum { OTHERS = 256 };
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= process_count + OTHERS)
		return;
	limit.rlim_cur = process_count + OTHERS;
	if (limit.rlim_max < limit.rlim_cur)
		limit.rlim_max = limit.rlim_cur;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		fprintf(stderr, "assay-launcher: %s: the limit of open files permits fewer than %u slots and sandboxes\n", strerror(errno), process_count);
}

/* The child of the launcher that serves a connection. */
static _Noreturn void become_slot(struct launcher *l, const struct slot_process *processes, const struct kind kinds[KINDS], const struct kind *kind,
				  unsigned number, token_text token, int connection, pid_t launcher)
{
	if (madvise(l->notes, notes_size(l), MADV_DONTFORK) < 0) /* so that no process of a box has them */
		_exit(1);
	for (int k = 0; k < KINDS; k++)
		if (kinds[k].listener >= 0)
			close(kinds[k].listener);
	close_fd(&spare);
	/* A slot with a descriptor of another slot's connection would hide that slot's death from its client. */
	for (unsigned i = 0; i < process_count; i++)
		if (processes[i].connection >= 0)
			close(processes[i].connection);
	if (kind->what != HOLDERS) {
		disks_close(&l->disks);
		close_fd(&l->loopback.settings);
	}
	switch (kind->what) {
	case HOLDERS: _exit(holder_serve(l, number, number - kind->first, token, connection, launcher));
	case ATTACHED_SLOTS: _exit(attached_serve(l, number, connection, launcher));
	default: _exit(slot_serve(l, number, connection, launcher));
	}
}

static void accept_client(struct launcher *l, struct slot_process *processes, const struct kind kinds[KINDS], const struct kind *kind, uid_t client)
{
	int connection = accept4(kind->listener, NULL, NULL, SOCK_CLOEXEC), in_line = 1;
	unsigned number = kind->first, end = kind->first + kind->count;
	token_text token = "";
	if (connection < 0) {
		/* Without a free descriptor, the spare one serves to tell the client. */
		close_fd(&spare);
		if ((connection = accept4(kind->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
			reject(connection, kind->full, "the machine has no descriptor for it", EAGAIN);
			count_refusal(&refused_clients);
			close(connection);
		} else {
			usleep(SWEEP_RETRY_MS * 1000); /* the client is still in the backlog at the next attempt */
		}
		open_spare();
		return;
	}
	while (number < end && processes[number].pid != 0)
		number++;
	/* Otherwise, poll would report a byte that is sent out of band, and recv would drop it. */
	setsockopt(connection, SOL_SOCKET, SO_OOBINLINE, &in_line, sizeof in_line);
	if (!peer_allowed(connection, client)) {
		count_refusal(&refused_peers);
	} else if (number == end) {
		/* Without any, the machine can have none (prepare.c). */
		if (kind->count == 0)
			reject(connection, kind->full, "this machine can have none", ENOTSUP);
		else
			reject(connection, kind->full, "all are taken", EAGAIN);
		count_refusal(&refused_clients);
	} else if (kind->what == HOLDERS && make_token(token) < 0) {
		fprintf(stderr, "assay-launcher: random number: %s\n", strerror(errno));
	} else {
		l->notes[number] = (struct process_note){0};
		pid_t self = getpid(), pid = fork();
		if (pid == 0)
			become_slot(l, processes, kinds, kind, number, token, connection, self);
		if (pid > 0) {
			processes[number].pid = pid;
			processes[number].connection = connection;
			if (kind->what == HOLDERS)
				memcpy(tokens[number - kind->first], token, sizeof token);
			explicit_bzero(token, sizeof token);
			return;
		}
		fprintf(stderr, "assay-launcher: fork: %s\n", strerror(errno));
		reject(connection, kind->full, "the machine has no process for it", EAGAIN);
	}
	close(connection);
}

static void close_connection(struct slot_process *process)
{
	if (process->connection >= 0)
		close(process->connection);
	process->connection = -1;
}

/* If a process has passed its connection on (REJOIN), its death says nothing of the client, and that of the process that has got it does. */
static void pass_connection_on(const struct launcher *l, struct slot_process *processes, unsigned from)
{
	unsigned to = l->notes[from].given_to;
	if (!to || to > process_count || processes[to - 1].pid <= 0)
		return;
	close_connection(&processes[to - 1]);
	processes[to - 1].connection = processes[from].connection;
	processes[to - 1].disconnected_ns = processes[from].disconnected_ns;
	processes[from].connection = -1;
}

/* The slots that stay with a holder without a client must end when it has ended. */
static void end_stays(const struct launcher *l, struct slot_process *processes, unsigned holder)
{
	for (unsigned i = 0; i < process_count; i++)
		if (l->notes[i].stays_with == holder + 1) {
			l->notes[i].stays_with = 0;
			processes[i].disconnected_ns = now_ns();
		}
}

static void mark_dead(const struct launcher *l, struct slot_process *processes, pid_t pid)
{
	for (unsigned i = 0; i < process_count; i++)
		if (processes[i].pid == pid) {
			processes[i].pid = -1;
			cpus_release_dead(l->cpus, i);
			end_stays(l, processes, i);
			pass_connection_on(l, processes, i);
			close_connection(&processes[i]);
		}
}

/* Waits for new clients, for clients that leave, and for children. Returns a set of bits: of which kinds clients wait to be accepted. */
static unsigned wait_for_clients(struct slot_process *processes, const struct kind kinds[KINDS], bool unswept)
{
	static struct pollfd on[KINDS + PROCESSES_MAX];
	struct timespec soon = {unswept ? 0 : 1, unswept ? SWEEP_RETRY_MS * 1000000L : 0};
	bool leaving = false;
	unsigned count = 0, waiting = 0;
	sigset_t none;
	sigemptyset(&none);
	for (int k = 0; k < KINDS; k++) {
		on[k] = (struct pollfd){.fd = kinds[k].listener, .events = POLLIN};
		if (kinds[k].first + kinds[k].count > count)
			count = kinds[k].first + kinds[k].count;
	}
	for (unsigned i = 0; i < count; i++) {
		on[KINDS + i] = (struct pollfd){.fd = processes[i].connection};
		leaving = leaving || (processes[i].pid > 0 && processes[i].connection < 0);
	}
	if (ppoll(on, KINDS + count, unswept || leaving ? &soon : NULL, &none) <= 0)
		return 0;
	for (unsigned i = 0; i < count; i++)
		if (on[KINDS + i].revents & (POLLHUP | POLLERR)) {
			close_connection(&processes[i]);
			processes[i].disconnected_ns = now_ns();
		}
	for (int k = 0; k < KINDS; k++)
		waiting |= (on[k].revents != 0) << k;
	return waiting;
}

/* When a slot without a client must have ended. Some wait for another client first. */
static uint64_t end_due(const struct launcher *l, const struct slot_process *process, unsigned number)
{
	const struct process_note *note = &l->notes[number];
	if (note->stays_with)
		return UINT64_MAX;
	uint64_t kept = note->kept_until_ns, left = process->disconnected_ns;
	/* What a process says is bounded, so that none stays for ever. */
	if (kept > left + l->keep_ns + SLOT_END_MS * 1000000ull)
		kept = left + l->keep_ns + SLOT_END_MS * 1000000ull;
	return (kept > left ? kept : left) + SLOT_END_MS * 1000000ull;
}

static void kill_stuck_slots(const struct launcher *l, struct slot_process *processes)
{
	for (unsigned i = 0; i < process_count; i++) {
		if (processes[i].pid <= 0 || processes[i].connection >= 0)
			continue;
		/* It can have noted that it stays with a holder when that had ended already. */
		unsigned holder = l->notes[i].stays_with;
		if (holder && (holder > process_count || processes[holder - 1].pid <= 0))
			end_stays(l, processes, holder - 1);
		if (now_ns() > end_due(l, &processes[i], i)) {
			fprintf(stderr, "assay-launcher: slot %u did not end with its client; killed\n", i);
			kill(processes[i].pid, SIGKILL);
			processes[i].disconnected_ns = now_ns();
		}
	}
}

/* The name of the socket of this process; NULL if it is no holder. */
static char *token_of(const struct kind kinds[KINDS], unsigned number)
{
	const struct kind *holders = &kinds[HOLDERS];
	return number >= holders->first && number < holders->first + holders->count ? tokens[number - holders->first] : NULL;
}

/*
 * Removes what dead slots left. The number of a slot is free again only when all groups of that slot are removed. Returns whether the
 * number of any dead slot is not free yet.
 */
static bool sweep_dead_slots(struct launcher *l, struct slot_process *processes, const struct kind kinds[KINDS])
{
	bool unswept = false;
	pid_t pid;
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
		if (pid == l->image_keeper)
			fputs("assay-launcher: the image does not stay in memory any more, so programs are charged for parts of it: its keeper has ended\n", stderr);
		mark_dead(l, processes, pid);
	}
	for (unsigned i = 0; i < process_count; i++) {
		char prefix[16];
		if (processes[i].pid != -1)
			continue;
		snprintf(prefix, sizeof prefix, "s%u-", i);
		if (l->signal_map >= 0)
			signals_drop_owner(l->signal_map, i);
		char *token = token_of(kinds, i);
		/* To look for all groups of a slot takes longer the more groups there are. In a sandbox, the groups of runs have no name of a slot. */
		int left = i < kinds[HOLDERS].first ? groups_sweep(&l->groups, prefix, SWEEP_TIMEOUT_MS)
						    : groups_leave(i < kinds[ATTACHED_SLOTS].first ? &l->groups : &l->sandboxes.below, i);
		if (token && token[0]) {
			unlinkat(l->sockets, token, 0);
			if (l->locks.sandboxes >= 0)
				locks_forget(&l->locks, i - kinds[HOLDERS].first);
			if (l->loopback.counts >= 0)
				loopback_forget(&l->loopback, i - kinds[HOLDERS].first);
			left += sandbox_remove(&l->sandboxes.below, i - kinds[HOLDERS].first, l->notes[i].account, SWEEP_TIMEOUT_MS);
		}
		if (left == 0) {
			l->notes[i].disk = 0;
			processes[i] = (struct slot_process){.connection = -1};
			if (token)
				explicit_bzero(token, sizeof(token_text));
		} else {
			unswept = true;
		}
	}
	return unswept;
}

/*
 * Ends all slots. A program that outlives its slot becomes a child of the launcher; it is killed later, by groups_close().
 */
static void end_slots(struct launcher *l, struct slot_process *processes)
{
	const uint64_t begun_ns = now_ns();
	const struct timespec soon = {0, SWEEP_RETRY_MS * 1000000L};
	sigset_t none;
	sigemptyset(&none);
	for (int sent = 0, alive = 1; alive;) {
		int sig = now_ns() - begun_ns < SLOT_END_MS * 1000000ull ? SIGTERM : SIGKILL;
		alive = 0;
		for (unsigned i = 0; i < process_count; i++) {
			alive += processes[i].pid > 0;
			if (processes[i].pid > 0 && sig != sent)
				kill(processes[i].pid, sig);
		}
		sent = sig;
		if (alive)
			ppoll(NULL, 0, &soon, &none); /* SIGCHLD interrupts it */
		for (pid_t pid; (pid = waitpid(-1, NULL, WNOHANG)) > 0;)
			mark_dead(l, processes, pid);
	}
}

void serve(struct launcher *l, const struct listeners *listeners, uid_t client)
{
	static struct slot_process processes[PROCESSES_MAX];
	static struct area tokens_area;
	const struct kind kinds[KINDS] = {
		[SUBMISSIONS] = {listeners->slots, 0, l->slots, "slots", SUBMISSIONS},
		[HOLDERS] = {listeners->holders, l->slots, l->holders, "sandboxes", HOLDERS},
		[ATTACHED_SLOTS] = {listeners->attached, l->slots + l->holders, l->attached, "executions", ATTACHED_SLOTS},
	};
	bool unswept = false;

	process_count = l->slots + l->holders + l->attached;
	permit_descriptors();
	open_spare();
	tokens = area_of(&tokens_area, (l->holders + 1) * sizeof *tokens);
	for (unsigned i = 0; i < process_count; i++)
		processes[i].connection = -1;
	while (!stopping) {
		unsigned waiting = wait_for_clients(processes, kinds, unswept);
		for (int k = 0; k < KINDS; k++)
			if (waiting >> k & 1)
				accept_client(l, processes, kinds, &kinds[k], client);
		kill_stuck_slots(l, processes);
		unswept = sweep_dead_slots(l, processes, kinds);
	}
	log_refusals(&refused_peers);
	log_refusals(&refused_clients);
	end_slots(l, processes);
}

void block_signals(void)
{
	struct sigaction action = {.sa_handler = stop}, child = {.sa_handler = child_ended};
	sigset_t set;
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGCHLD, &child, NULL);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL); /* unblocked only in ppoll() */
}
