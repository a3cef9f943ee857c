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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "signals.h"
#include "slot/slot.h"
#include "wire/wire.h"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* Linux 6.16 */
#endif

/*
 * The sweep after one slot is short, because the launcher admits no client and handles no signal meanwhile. A slot whose client
 * has left gets SLOT_END_MS to clean up, and is then killed and swept.
 */
enum { SWEEP_TIMEOUT_MS = 20, SWEEP_RETRY_MS = 50, SLOT_END_MS = 10000 };

/* A number that a slot can have, and the process of the slot that has it. */
struct slot_process {
	pid_t pid;        /* 0: the number is free; -1: the slot is dead but not yet swept */
	int connection;   /* polled for the hang-up of the client, never read or written. -1: none, or the client has left */
	uint64_t disconnected_ns; /* when the client left */
};

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

/* Tells the peer the reason. It has just connected, so these few bytes fit into the socket without waiting. */
static void reject_full(int connection)
{
	struct queue out = {0};
	queue_frame(&out, FRAME_FAILED);
	queue_text(&out, KEY_STEP_NAME, "slots");
	queue_text(&out, KEY_STEP_OBJECT, "all are taken");
	queue_int(&out, KEY_STEP_ERRNO, EAGAIN);
	queue_frame_end(&out);
	queue_flush(&out, connection);
	queue_free(&out);
}

static void accept_client(struct launcher *l, struct slot_process *processes, int listener, uid_t client)
{
	int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC), in_line = 1;
	unsigned free_slot = 0;
	if (connection < 0) {
		usleep(SWEEP_RETRY_MS * 1000); /* without a free descriptor, the client is still in the backlog at the next attempt */
		return;
	}
	while (free_slot < l->slots && processes[free_slot].pid != 0)
		free_slot++;
	/* Otherwise, poll would report a byte that is sent out of band, and recv would drop it. */
	setsockopt(connection, SOL_SOCKET, SO_OOBINLINE, &in_line, sizeof in_line);
	if (!peer_allowed(connection, client)) {
		count_refusal(&refused_peers);
	} else if (free_slot == l->slots) {
		reject_full(connection);
		count_refusal(&refused_clients);
	} else {
		pid_t self = getpid(), pid = fork();
		if (pid == 0) {
			close(listener);
			/* A slot with a descriptor of another slot's connection would hide that slot's death from its client. */
			for (unsigned i = 0; i < l->slots; i++)
				if (processes[i].connection >= 0)
					close(processes[i].connection);
			_exit(slot_serve(l, free_slot, connection, self));
		}
		if (pid > 0) {
			processes[free_slot] = (struct slot_process){.pid = pid, .connection = connection};
			return;
		}
		fprintf(stderr, "assay-launcher: fork: %s\n", strerror(errno));
	}
	close(connection);
}

static void close_connection(struct slot_process *process)
{
	if (process->connection >= 0)
		close(process->connection);
	process->connection = -1;
}

static void mark_dead(const struct launcher *l, struct slot_process *processes, pid_t pid)
{
	for (unsigned i = 0; i < l->slots; i++)
		if (processes[i].pid == pid) {
			processes[i].pid = -1;
			cpus_release_dead(l->cpus, i);
			close_connection(&processes[i]);
		}
}

/* Waits for new clients, for clients that leave, and for children. Returns whether a client waits to be accepted. */
static bool wait_for_clients(const struct launcher *l, struct slot_process *processes, int listener, bool unswept)
{
	static struct pollfd on[1 + SLOTS_MAX];
	struct timespec soon = {unswept ? 0 : 1, unswept ? SWEEP_RETRY_MS * 1000000L : 0};
	bool leaving = false;
	sigset_t none;
	sigemptyset(&none);
	on[0] = (struct pollfd){.fd = listener, .events = POLLIN};
	for (unsigned i = 0; i < l->slots; i++) {
		on[1 + i] = (struct pollfd){.fd = processes[i].connection};
		leaving = leaving || (processes[i].pid > 0 && processes[i].connection < 0);
	}
	if (ppoll(on, 1 + l->slots, unswept || leaving ? &soon : NULL, &none) <= 0)
		return false;
	for (unsigned i = 0; i < l->slots; i++)
		if (on[1 + i].revents & (POLLHUP | POLLERR)) {
			close_connection(&processes[i]);
			processes[i].disconnected_ns = now_ns();
		}
	return on[0].revents;
}

static void kill_stuck_slots(const struct launcher *l, struct slot_process *processes)
{
	for (unsigned i = 0; i < l->slots; i++)
		if (processes[i].pid > 0 && processes[i].connection < 0 && now_ns() - processes[i].disconnected_ns > SLOT_END_MS * 1000000ull) {
			fprintf(stderr, "assay-launcher: slot %u did not end with its client; killed\n", i);
			kill(processes[i].pid, SIGKILL);
			processes[i].disconnected_ns = now_ns();
		}
}

/*
 * Removes what dead slots left. The number of a slot is free again only when all groups of that slot are removed. Returns whether the
 * number of any dead slot is not free yet.
 */
static bool sweep_dead_slots(struct launcher *l, struct slot_process *processes)
{
	bool unswept = false;
	pid_t pid;
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		mark_dead(l, processes, pid);
	for (unsigned i = 0; i < l->slots; i++) {
		char prefix[16];
		if (processes[i].pid != -1)
			continue;
		snprintf(prefix, sizeof prefix, "s%u-", i);
		if (l->signal_map >= 0)
			signals_drop_owner(l->signal_map, i);
		if (groups_sweep(&l->groups, prefix, SWEEP_TIMEOUT_MS) == 0)
			processes[i].pid = 0;
		else
			unswept = true;
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
		for (unsigned i = 0; i < l->slots; i++) {
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

void serve(struct launcher *l, int listener, uid_t client)
{
	static struct slot_process processes[SLOTS_MAX];
	bool unswept = false;

	for (unsigned i = 0; i < l->slots; i++)
		processes[i].connection = -1;
	while (!stopping) {
		if (wait_for_clients(l, processes, listener, unswept))
			accept_client(l, processes, listener, client);
		kill_stuck_slots(l, processes);
		unswept = sweep_dead_slots(l, processes);
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
