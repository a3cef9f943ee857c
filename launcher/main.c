/*
 * assay-launcher: the mechanism, and the only part of Assay that runs as root.
 *
 *   launcher   this file. Listens on a Unix socket. Its command line, which root
 *              wrote, fixes what can never change: image, uids, group parent. It
 *              moves into the image, forks a slot per connection, sweeps after one
 *              that died, and does nothing else: no byte of a client or a payload
 *              reaches it.
 *   slot       slot.c. Root. Reads requests of the service (wire.c checks them),
 *              builds boxes (box.c), watches programs (supervise.c), reports facts.
 *   init       inside.c. Pid 1 of a box. Root without a single capability.
 *   program    inside.c up to its exec, then the payload. Nobody, filtered.
 *
 * It is told, it does, it reports: there are no defaults, no languages and no
 * verdicts here, and no failure of ours is ever reported as the program's.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "check.h"
#include "root.h"
#include "seccomp.h"
#include "signals.h"
#include "slot.h"

#ifndef ASSAY_BUILD
#define ASSAY_BUILD "unnamed"
#endif

#ifdef __SANITIZE_ADDRESS__
/* The leak check at exit needs the host's /proc, which cannot be reached from inside the image. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_leaks=0"; }
#endif

/*
 * Short: while one place is swept, nobody is admitted and no stop is heard. A slot whose client is gone has a while to clean
 * up by itself; one that hangs (stopped, or in a call that does not return) is swept like any other that died.
 */
enum { SLOTS_MOST = 1024, SWEEP_PATIENCE_MS = 20, SWEEP_AGAIN_MS = 50, SLOT_END_MS = 10000 };

struct options {
	const char *socket, *image, *instance, *program;
	long client_uid, uid_base, slots, bench;
	bool describe, check;
};

struct place {
	pid_t pid;        /* 0: free; -1: its slot is dead, but not yet swept */
	int connection;   /* its client's, to see it leave; not read, not written. -1: the client has left, or there is none */
	uint64_t left_ns; /* when the client had left */
};

static volatile sig_atomic_t stopping;

static void stop(int sig)
{
	(void)sig;
	stopping = 1;
}

static void child_ended(int sig) { (void)sig; }

static _Noreturn void die(const struct failure *f)
{
	fprintf(stderr, "assay-launcher: %s: %s%s%s\n", f->step, f->object, f->err ? ": " : "", f->err ? strerror(f->err) : "");
	exit(1);
}

static long number(const char *text, long smallest, long largest, const char *name)
{
	char *end;
	errno = 0;
	long value = strtol(text, &end, 10);
	if (errno || end == text || *end || value < smallest || value > largest) {
		fprintf(stderr, "assay-launcher: --%s takes a number from %ld to %ld\n", name, smallest, largest);
		exit(2);
	}
	return value;
}

/* NAME=VALUE, of an INT key of STEP in protocol.def. */
static void set_ceiling(char *text)
{
	char *value = strchr(text, '=');
	if (value)
		*value++ = 0;
	if (!value || wire_lower(text, (uint64_t)number(value, 0, LONG_MAX, "ceiling")) < 0) {
		fprintf(stderr, "assay-launcher: --ceiling: %s is no limit of a request, or not lowered by that\n", text);
		exit(2);
	}
}

static struct options read_options(int argc, char **argv)
{
	enum { SOCKET = 1, CLIENT, IMAGE, INSTANCE, UIDS, SLOTS, DESCRIBE, CHECK, BENCH, PROGRAM, CEILING };
	static const struct option known[] = {
		{"socket", 1, NULL, SOCKET}, {"client-uid", 1, NULL, CLIENT}, {"image", 1, NULL, IMAGE},
		{"instance", 1, NULL, INSTANCE}, {"uid-base", 1, NULL, UIDS}, {"slots", 1, NULL, SLOTS},
		{"describe", 0, NULL, DESCRIBE}, {"check", 0, NULL, CHECK}, {"bench", 1, NULL, BENCH},
		{"program", 1, NULL, PROGRAM},
		{"ceiling", 1, NULL, CEILING}, {0},
	};
	struct options o = {.client_uid = -1, .uid_base = -1, .slots = -1};
	int option;
	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (option) {
		case SOCKET: o.socket = optarg; break;
		case CLIENT: o.client_uid = number(optarg, 0, UINT32_MAX - 1, "client-uid"); break;
		case IMAGE: o.image = optarg; break;
		case INSTANCE: o.instance = optarg; break;
		case UIDS: o.uid_base = number(optarg, 1000, UINT32_MAX - 1 - SLOTS_MOST * LANES, "uid-base"); break;
		case SLOTS: o.slots = number(optarg, 1, SLOTS_MOST, "slots"); break;
		case DESCRIBE: o.describe = true; break;
		case CHECK: o.check = true; break;
		case BENCH: o.bench = number(optarg, 1, 1000000, "bench"); break;
		case PROGRAM: o.program = optarg; break;
		case CEILING: set_ceiling(optarg); break;
		default: exit(2);
		}
	}
	if (o.describe)
		return o;
	bool plain = o.instance && *o.instance && strlen(o.instance) <= 40 &&
		strspn(o.instance, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(o.instance);
	bool serves = o.socket && o.client_uid >= 0 && o.slots > 0;
	if (optind != argc || !o.image || !plain || o.uid_base < 0 || (!serves && !(o.bench && o.program) && !o.check)) {
		fputs("usage: assay-launcher --image ROOTFS --instance NAME --uid-base N\n"
		      "         --socket PATH --client-uid N --slots N   serve\n"
		      "       | --check                                  try every control, print JSON\n"
		      "       | --bench N --program FILE                 measure warm boxes, print JSON\n"
		      "       assay-launcher --describe                  the protocol as JSON\n", stderr);
		exit(2);
	}
	return o;
}

/* The socket stays reachable for its client alone; each peer's uid is checked as well. */
static int listen_at(const struct options *o, int *directory, struct failure *f)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char dir[sizeof address.sun_path];
	if (strlen(o->socket) >= sizeof address.sun_path)
		return fail_with(f, ENAMETOOLONG, "socket", "%s", o->socket);
	strcpy(dir, o->socket);
	char *slash = strrchr(dir, '/');
	if (!slash)
		return fail_with(f, EINVAL, "socket", "%s is not a full path", o->socket);
	slash[slash == dir] = 0;
	/* Its name is given when it listens: whoever sees the socket can connect. */
	if ((size_t)snprintf(address.sun_path, sizeof address.sun_path, "%s/.starting", dir) >= sizeof address.sun_path)
		return fail_with(f, ENAMETOOLONG, "socket", "%s", o->socket);
	*directory = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* Between bind and lchown nobody else may put another file in the socket's place. */
	struct stat st;
	if (*directory < 0 || fstat(*directory, &st) < 0)
		return fail(f, "socket", "directory %s", dir);
	if (st.st_uid != 0 || ((st.st_mode & 022) && !(st.st_mode & S_ISVTX)))
		return fail_with(f, EPERM, "socket", "directory %s can be changed by others than root", dir);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	unlink(address.sun_path);
	mode_t before = umask(0177);
	int bound = *directory < 0 || fd < 0 ? -1 : bind(fd, (struct sockaddr *)&address, sizeof address);
	umask(before);
	if (bound < 0 || lchown(address.sun_path, (uid_t)o->client_uid, (gid_t)-1) < 0 || listen(fd, 128) < 0 ||
	    rename(address.sun_path, o->socket) < 0)
		return fail(f, "socket", "%s", o->socket);
	return fd;
}

static bool peer_allowed(int connection, uid_t client)
{
	struct ucred peer;
	socklen_t size = sizeof peer;
	return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == client || peer.uid == 0);
}

/* So that the peer can say why. It has just connected: so little fits without waiting. */
static void turn_away(int connection)
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

static void admit(struct launcher *l, struct place *places, int listener, uid_t client)
{
	int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	unsigned free_slot = 0;
	static bool told;
	if (connection < 0) {
		usleep(SWEEP_AGAIN_MS * 1000); /* out of descriptors: whoever waits is not gone when we look again */
		return;
	}
	while (free_slot < l->slots && places[free_slot].pid != 0)
		free_slot++;
	if (!peer_allowed(connection, client)) {
		fprintf(stderr, "assay-launcher: refused a peer of another uid\n");
	} else if (free_slot == l->slots) {
		turn_away(connection);
		/* Once: whoever has the service could fill the host's log. */
		if (!told)
			fprintf(stderr, "assay-launcher: all %u slots are taken\n", l->slots);
		told = true;
	} else {
		told = false;
		pid_t self = getpid(), pid = fork();
		if (pid == 0) {
			close(listener);
			/* Who holds a connection keeps its other end from seeing a slot's death. */
			for (unsigned i = 0; i < l->slots; i++)
				if (places[i].connection >= 0)
					close(places[i].connection);
			_exit(slot_serve(l, free_slot, connection, self));
		}
		if (pid > 0) {
			places[free_slot] = (struct place){.pid = pid, .connection = connection};
			return;
		}
		fprintf(stderr, "assay-launcher: fork: %s\n", strerror(errno));
	}
	close(connection);
}

static void forget_connection(struct place *place)
{
	if (place->connection >= 0)
		close(place->connection);
	place->connection = -1;
}

static void note_dead(const struct launcher *l, struct place *places, pid_t pid)
{
	for (unsigned i = 0; i < l->slots; i++)
		if (places[i].pid == pid) {
			places[i].pid = -1;
			forget_connection(&places[i]);
		}
}

/* Waits for whoever comes or leaves, and for children. Returns whether somebody comes. */
static bool wait_for_clients(const struct launcher *l, struct place *places, int listener, bool again)
{
	static struct pollfd on[1 + SLOTS_MOST];
	struct timespec soon = {again ? 0 : 1, again ? SWEEP_AGAIN_MS * 1000000L : 0};
	bool leaving = false;
	sigset_t none;
	sigemptyset(&none);
	on[0] = (struct pollfd){.fd = listener, .events = POLLIN};
	for (unsigned i = 0; i < l->slots; i++) {
		on[1 + i] = (struct pollfd){.fd = places[i].connection};
		leaving = leaving || (places[i].pid > 0 && places[i].connection < 0);
	}
	if (ppoll(on, 1 + l->slots, again || leaving ? &soon : NULL, &none) <= 0)
		return false;
	for (unsigned i = 0; i < l->slots; i++)
		if (on[1 + i].revents & (POLLHUP | POLLERR)) {
			forget_connection(&places[i]);
			places[i].left_ns = now_ns();
		}
	return on[0].revents;
}

static void kill_hanging(const struct launcher *l, struct place *places)
{
	for (unsigned i = 0; i < l->slots; i++)
		if (places[i].pid > 0 && places[i].connection < 0 && now_ns() - places[i].left_ns > SLOT_END_MS * 1000000ull) {
			fprintf(stderr, "assay-launcher: slot %u did not end with its client; killed\n", i);
			kill(places[i].pid, SIGKILL);
			places[i].left_ns = now_ns();
		}
}

/* A slot's place is given out again when nothing of its last life is left. Returns whether some are still unswept. */
static bool sweep_places(struct launcher *l, struct place *places)
{
	bool again = false;
	pid_t pid;
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		note_dead(l, places, pid);
	for (unsigned i = 0; i < l->slots; i++) {
		char prefix[16];
		if (places[i].pid != -1)
			continue;
		snprintf(prefix, sizeof prefix, "s%u-", i);
		if (l->signal_map >= 0)
			signals_drop_owner(l->signal_map, i);
		if (groups_sweep(&l->groups, prefix, SWEEP_PATIENCE_MS) == 0)
			places[i].pid = 0;
		else
			again = true;
	}
	return again;
}

/* For slots alone: a program that outlived its slot is our child as well, and is killed only when the groups are closed. */
static void end_slots(struct launcher *l, struct place *places)
{
	unsigned alive;
	pid_t pid;
	for (unsigned i = 0; i < l->slots; i++)
		if (places[i].pid > 0)
			kill(places[i].pid, SIGTERM);
	do {
		alive = 0;
		for (unsigned i = 0; i < l->slots; i++)
			alive += places[i].pid > 0;
		if (alive && (pid = waitpid(-1, NULL, 0)) > 0)
			note_dead(l, places, pid);
	} while (alive);
}

static void serve(struct launcher *l, int listener, uid_t client)
{
	static struct place places[SLOTS_MOST];
	bool again = false;

	for (unsigned i = 0; i < l->slots; i++)
		places[i].connection = -1;
	while (!stopping) {
		if (wait_for_clients(l, places, listener, again))
			admit(l, places, listener, client);
		kill_hanging(l, places);
		again = sweep_places(l, places);
	}
	end_slots(l, places);
}

static void block_signals(void)
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
	sigprocmask(SIG_BLOCK, &set, NULL); /* let in only where we wait */
}

static void describe_host(struct launcher *l, const struct options *o)
{
	struct utsname kernel;
	uname(&kernel);
	snprintf(l->kernel, sizeof l->kernel, "%.60s %.30s", kernel.release, kernel.machine);
	l->instance = o->instance;
	l->build = ASSAY_BUILD;
	l->uid_base = (uid_t)o->uid_base;
	l->slots = (unsigned)o->slots;
	l->signal_map = -1;
	l->cpus = sysconf(_SC_NPROCESSORS_ONLN) > 0 ? sysconf(_SC_NPROCESSORS_ONLN) : 1;
	l->proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/*
 * The bounding set matters at an exec alone, and of all of us only the program ever
 * does one. So it is emptied once, here, and not 41 calls long in every box.
 */
static void empty_bounding_set(void)
{
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		prctl(PR_CAPBSET_DROP, cap, 0, 0, 0); /* read back on every box: no_capabilities */
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

/*
 * What boxes need and no more, for the launcher and its slots. With CAP_SYS_ADMIN among
 * them it is no cage, but there is no kernel code to load, no port and no network here.
 */
static int keep_capabilities(struct failure *f)
{
	static const int kept[] = {
		CAP_SYS_ADMIN, CAP_SYS_CHROOT,  /* mounts, namespaces, entering a box's own; the tracepoint */
		CAP_MKNOD,                      /* /dev of a slot */
		CAP_SETUID, CAP_SETGID, CAP_SETPCAP, CAP_SYS_RESOURCE, /* to give up, in inside.c, what the rest gives */
		CAP_CHOWN,                      /* pipes belong to who writes */
		CAP_SYS_PTRACE, CAP_DAC_OVERRIDE, /* /proc of a program; directories that it closed */
		CAP_KILL, CAP_SYS_NICE,
	};
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct now[2], most[2] = {{0}};
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		most[CAP_TO_INDEX(kept[i])].permitted |= CAP_TO_MASK(kept[i]);
	if (syscall(__NR_capget, &header, now) < 0)
		return fail(f, "capabilities", "read");
	for (int i = 0; i < 2; i++) {
		most[i].permitted &= now[i].permitted;
		most[i].effective = most[i].permitted;
	}
	return syscall(__NR_capset, &header, most) < 0 ? fail(f, "capabilities", "keep what boxes need") : 0;
}

/* Everything that can fail before the first client, in the order that it needs. */
static void prepare(struct launcher *l, const struct options *o)
{
	struct failure f = {0}, no_bpf = {0};

	prctl(PR_SET_DUMPABLE, 0);
	/* A program is its slot's child. When the slot dies, it is ours to wait for: not every pid 1 does. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (l->proc < 0)
		fail(&f, "start", "/proc");
	if (f.step || seccomp_prepare(&f) < 0)
		die(&f);
	if (groups_open(&l->groups, l->instance, &f) < 0) {
		groups_close(&l->groups, l->instance); /* those that could be made before */
		die(&f);
	}
	groups_weigh(&l->groups, o->bench ? 1 : l->slots);
	if (!l->groups.fair)
		fprintf(stderr, "assay-launcher: no cpu controller: a box with many processes gets more of the CPU than one with few\n");
	/* The tracepoint is keyed by the v2 leaf; without one it has nothing to count by. */
	if (l->groups.home[TREE_UNIFIED] >= 0 && (l->signal_map = signals_open(&no_bpf)) < 0)
		fprintf(stderr, "assay-launcher: no signal tracepoint (%s %s: %s): a broken file-size limit is then proven by "
			"the signal and a file at the limit\n", no_bpf.step, no_bpf.object, strerror(no_bpf.err));
	if (root_enter(o->image, &f) < 0 || keep_capabilities(&f) < 0) {
		groups_close(&l->groups, l->instance);
		die(&f);
	}
}

int main(int argc, char **argv)
{
	static struct launcher launcher;
	struct options o = read_options(argc, argv);
	struct failure f = {0};
	int directory = -1, listener = -1, status = 0;

	/* 0, 1 and 2 must be taken before anything else opens a descriptor. */
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			return 1;
	if (o.describe) {
		wire_describe(ASSAY_BUILD);
		return 0;
	}
	block_signals();
	if (!o.check && geteuid() != 0) { /* before anything fails that root would have been let do */
		fail_with(&f, EPERM, "start", "needs root");
		die(&f);
	}
	if (o.socket && (listener = listen_at(&o, &directory, &f)) < 0)
		die(&f);
	if (o.program && bench_load(o.program) < 0) {
		fail(&f, "bench", "%s", o.program);
		die(&f);
	}
	describe_host(&launcher, &o);
	empty_bounding_set();
	if (o.check)
		return check_print(&launcher, o.image);
	prepare(&launcher, &o);
	if (o.bench)
		status = bench_print(&launcher, (unsigned)o.bench);
	else
		serve(&launcher, listener, (uid_t)o.client_uid);
	if (directory >= 0)
		unlinkat(directory, strrchr(o.socket, '/') + 1, 0);
	if (groups_close(&launcher.groups, launcher.instance) > 0) {
		fprintf(stderr, "assay-launcher: control groups are left behind\n");
		return 1;
	}
	return status;
}
