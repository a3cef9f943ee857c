/*
 * assay-supervisor: starts the processes of a command of `assay`, and ends them together with everything that they have started.
 *
 * The script `assay` prepares a machine, and then describes the processes that its command needs, as arguments of this program. The
 * script waits for this program only, which is root's, so that no process of the service's user can delay the end of the wait.
 *
 * The first process is the main one. The others serve it: they are started before it, the last one first, and stopped after it. A
 * launcher is such a process; it is ready when it listens. There are two kinds of commands:
 *
 *   - A command that runs a program, such as `assay keys`: this program ends when the main process has ended, with its exit status.
 *     SIGTERM is passed on to the process group of the main process. A second SIGTERM, at least a second later, kills it.
 *   - A service, whose processes have --restart: they run until SIGTERM. SIGHUP is passed on to the main process. A process that ends by
 *     itself is started again, and the others go on. Before the service was first ready, which the script reports by SIGUSR1, such an
 *     end is an error of the configuration, and ends the command. So does SIGUSR2: the service did not become ready in time.
 *
 * A process with --user belongs to the service's user, whom root does not trust (user.c). It can start processes in sessions of their
 * own, and stop, trace or kill every process of its user, so:
 *
 *   - its end is taken from the kernel's state of its first thread, because it cannot be reaped while another process traces it;
 *   - all processes in its control group are killed when it has ended (group.c);
 *   - it gets neither root's terminal nor root's files: its output goes through a relay (relay.c).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../launcher/clock.h"
#include "../launcher/descriptors.h"
#include "group.h"
#include "message.h"
#include "relay.h"
#include "user.h"

enum { PROCESSES_MAX = 4 };

/* How long a process may take to listen: a launcher may read the whole image from a slow disk first. */
enum { LISTEN_MS = 120000 };
/* How often a socket is looked for, and how often the state of a process is read that cannot be reaped. */
enum { LISTEN_POLL_MS = 20, STATE_POLL_MS = 1000 };
/* How long a process may be unreapable although its first thread has ended: the other threads of an exiting process can end later. */
enum { UNREAPABLE_MS = 1000 };
/* A second signal that comes earlier is taken for the first one, because a terminal and a script can both send it. */
enum { SECOND_SIGNAL_MS = 1000 };
/* A process that has run for so long was started successfully: its end is the first one in a row. */
enum { GOOD_RUN_MS = 5000 };
/* How long a program may take to end when the script was killed. */
enum { ORPHAN_MS = 5000 };
/* Exit statuses: as of a shell after a signal, and as of timeout(1). */
enum { BY_SIGNAL = 128, TIMED_OUT = 124 };

enum state {
	WAITING,  /* for its first start, or for the pause before it is started again */
	STARTING, /* runs, and does not listen yet */
	RUNNING,
	ENDED,
};

struct process {
	/* From the arguments. */
	const char *name;        /* for messages */
	bool has_user;           /* belongs to the service's user; otherwise to root */
	struct user user;
	const char *group;       /* the directory of its control group, or NULL */
	const char *socket;      /* it is ready when it listens there; NULL: at once */
	uint64_t stop_ms;        /* after this time from SIGTERM on, it is killed; 0: never */
	bool restart;            /* is started again when it ends */
	bool feeds_main;         /* its standard output is the standard input of the main process */
	bool keeps_descriptors;  /* gets the descriptors above 2 of this program: locks, which must be held while it lives */
	char **arguments;
	/* State. */
	enum state state;
	pid_t pid;
	bool was_running;        /* at least once */
	uint64_t since_ms;       /* of its last start */
	uint64_t start_at_ms;    /* while WAITING */
	uint64_t unreapable_since_ms;
	uint64_t kill_at_ms;     /* 0: not at all */
	uint64_t killed_at_ms;   /* when it got SIGKILL from this program; 0: it did not */
	bool asked_to_end;
	unsigned ends_in_row;
	int status;              /* after its end, as of a shell */
};

static struct process processes[PROCESSES_MAX];
static int count;
#define MAIN (&processes[0])

static pid_t parent;     /* of --parent; 0: any */
static bool ready;       /* the service was ready once */
static bool stopping;
static bool failed;      /* the exit status is 1, whatever the main process reports */
static bool timed_out;
static uint64_t first_signal_ms; /* of SIGTERM; 0: there was none */
static uint64_t end_at_ms = UINT64_MAX; /* of --seconds */
static int relays[2] = {-1, -1}; /* the descriptors for standard output and error of processes with a user; -1: the program's own */
static int feed[2] = {-1, -1};   /* the pipe to the main process */

static uint64_t now_ms(void)
{
	return now_ns() / 1000000;
}

static bool is_service(void)
{
	return MAIN->restart;
}

/* Ends a child that could not become its process, with a message in its output. */
static _Noreturn void give_up(const struct process *p, const char *what)
{
	say("error: the %s: cannot %s: %s", p->name, what, strerror(errno));
	_exit(127);
}

/* Closes the locks of set-up (setup/data-dir.sh). Others can be files of the operator, such as those that a shell makes for <(...). */
static void close_locks(void)
{
	for (int fd = 6; fd <= 9; fd++)
		close(fd);
}

/*
 * Runs in the child, between fork and exec. SIGTERM is blocked until it has its session and its user; then it ends the process, as it will
 * after exec.
 */
static _Noreturn void become(const struct process *p, int input, int output, int errors, pid_t supervisor)
{
	const char *failed_step;
	if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(errors, 2) < 0)
		give_up(p, "pass on the standard descriptors");
	/* With a session of its own, it gets no signal of the terminal, and its process group has no other process. */
	if (setsid() < 0)
		give_up(p, "begin a session");
	if (!p->keeps_descriptors)
		close_locks();
	if (p->has_user && (failed_step = user_become(&p->user, p->group)) != NULL)
		give_up(p, failed_step);
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0) /* after the change of the user, which clears it */
		give_up(p, "ask for a signal at the end of the supervisor");
	if (getppid() != supervisor)
		_exit(1);
	for (int number = 1; number < NSIG; number++)
		signal(number, number == SIGHUP && p->restart ? SIG_IGN : SIG_DFL); /* until the service handles it */
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execvp(p->arguments[0], p->arguments);
	give_up(p, p->arguments[0]);
}

/* The standard input of a process. A process of the service's user could read root's terminal. */
static int input_of(const struct process *p)
{
	if (p == MAIN && feed[0] >= 0)
		return feed[0];
	if (p == MAIN && !(p->has_user && isatty(0)))
		return 0;
	return -1;
}

static int output_of(const struct process *p)
{
	if (p->feeds_main)
		return feed[1];
	if (p != MAIN)
		return 2;
	return p->has_user && relays[0] >= 0 ? relays[0] : 1;
}

static void send(struct process *p, int number);
static void ended(struct process *p);

static void start(struct process *p)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), input = input_of(p);
	pid_t supervisor = getpid();
	if (p->socket)
		unlink(p->socket);
	p->asked_to_end = false;
	p->kill_at_ms = p->killed_at_ms = p->unreapable_since_ms = 0;
	p->since_ms = now_ms();
	p->pid = null < 0 ? -1 : fork();
	if (p->pid == 0)
		become(p, input < 0 ? null : input, output_of(p), p->has_user && relays[1] >= 0 ? relays[1] : 2, supervisor);
	close_fd(&null);
	if (p->pid < 0) {
		say("error: cannot start the %s: %s", p->name, strerror(errno));
		p->status = 1;
		ended(p);
		return;
	}
	/* While this program had the end of a pipe open, nobody would notice that the process at this end has ended. */
	if (p->feeds_main)
		close_fd(&feed[1]);
	else if (p == MAIN)
		close_fd(&feed[0]);
	p->state = p->socket ? STARTING : RUNNING;
	if (!p->socket)
		p->was_running = true;
}

/* Starts what is due. Before its first start, a process waits for those that serve it. */
static void start_due(void)
{
	for (int i = count - 1; i >= 0 && !stopping; i--) {
		struct process *p = &processes[i];
		struct stat found;
		if (p->state == WAITING && now_ms() >= p->start_at_ms)
			start(p);
		if (p->state == STARTING && stat(p->socket, &found) == 0 && S_ISSOCK(found.st_mode)) {
			p->state = RUNNING;
			p->was_running = true;
		} else if (p->state == STARTING && !p->killed_at_ms && now_ms() - p->since_ms >= LISTEN_MS) {
			send(p, SIGKILL);
			say("the %s did not listen within %d minutes", p->name, LISTEN_MS / 60000);
		}
		if (!p->was_running)
			return;
	}
}

/* Whether the first thread has ended. Its other threads may run, or a tracer may hold the process. */
static bool first_thread_ended(pid_t pid)
{
	char path[32], text[512];
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
	if (file >= 0)
		close(file);
	if (length <= 0)
		return false;
	text[length] = 0;
	const char *name_end = strrchr(text, ')'); /* the name can contain anything; no other field contains a bracket */
	return name_end && (name_end[2] == 'Z' || name_end[2] == 'X');
}

static bool reap(struct process *p)
{
	siginfo_t info = {0};
	if (waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG) < 0 || info.si_pid != p->pid)
		return false;
	p->status = info.si_code == CLD_EXITED ? info.si_status : BY_SIGNAL + info.si_status;
	return true;
}

/* Whether the process has ended. If so, everything in its control group has been killed. */
static bool has_ended(struct process *p)
{
	if (reap(p)) {
		if (p->group && !group_kill(p->group))
			say("some processes that the %s has started do not end", p->name);
		return true;
	}
	/* A tracer can also hold a killed process before its first thread ends. */
	if (!first_thread_ended(p->pid) && !p->killed_at_ms) {
		p->unreapable_since_ms = 0;
		return false;
	}
	if (!p->unreapable_since_ms)
		p->unreapable_since_ms = now_ms();
	if (now_ms() - p->unreapable_since_ms < UNREAPABLE_MS)
		return false;
	/* With its tracer and its other threads, which are in the group, the process ends. */
	kill(p->pid, SIGKILL);
	if (p->group)
		group_kill(p->group);
	for (uint64_t end = now_ms() + UNREAPABLE_MS; !reap(p);) {
		if (now_ms() >= end) {
			say("process %d of the %s was killed but does not end; it can keep the port of the service", p->pid, p->name);
			p->status = BY_SIGNAL + SIGKILL;
			break;
		}
		poll(NULL, 0, 10);
	}
	return true;
}

/* How a process has ended, for a message. */
static const char *manner(int status)
{
	static char text[32];
	if (status > BY_SIGNAL)
		snprintf(text, sizeof text, "by signal %d", status - BY_SIGNAL);
	else
		snprintf(text, sizeof text, "with status %d", status);
	return text;
}

/*
 * Plans the next start of a process that has ended by itself: at once after the first three ends in a row, and then after a pause that
 * doubles from 1 s to 8 s. A process that always ends at its start would otherwise use a whole CPU.
 */
static void start_again(struct process *p)
{
	static const unsigned pauses[] = {0, 0, 0, 1, 2, 4, 8};
	enum { PAUSES = sizeof pauses / sizeof *pauses };
	if (now_ms() - p->since_ms >= GOOD_RUN_MS)
		p->ends_in_row = 0;
	unsigned seconds = pauses[p->ends_in_row < PAUSES ? p->ends_in_row : PAUSES - 1];
	p->ends_in_row++;
	if (seconds > 0)
		say("the %s ended by itself %s; starting it again in %u s", p->name, manner(p->status), seconds);
	else
		say("the %s ended by itself %s; starting it again", p->name, manner(p->status));
	p->state = WAITING;
	p->start_at_ms = now_ms() + seconds * 1000;
}

/* Decides what the end of a process means. */
static void ended(struct process *p)
{
	bool listened = p->state == RUNNING || p->was_running;
	p->state = ENDED;
	p->pid = 0;
	if (stopping)
		return;
	if (!listened) {
		say("the %s did not start; see its output above", p->name);
		failed = stopping = true;
	} else if (p->restart && ready) {
		start_again(p);
	} else if (p->restart) {
		say("the %s ended by itself %s; see its output", p->name, manner(p->status));
		failed = stopping = true;
	} else if (p == MAIN) {
		stopping = true;
	}
}

/*
 * Sends a signal to a process. A program gets it as a process group, in which it may have started others; a process that has just been
 * started has no group of its own yet.
 */
static void send(struct process *p, int number)
{
	bool alone = p->restart || p->socket;
	if (number == SIGKILL)
		p->killed_at_ms = now_ms();
	if ((p->state == STARTING || p->state == RUNNING) && (alone || kill(-p->pid, number) < 0))
		kill(p->pid, number);
}

static void ask_to_end(struct process *p)
{
	if (!p->asked_to_end)
		send(p, SIGTERM);
	p->asked_to_end = true;
	if (p->stop_ms > 0)
		p->kill_at_ms = now_ms() + p->stop_ms;
}

/* Goes on with the end of the command: one process after the other. Returns false when all have ended. */
static bool stop(void)
{
	for (int i = 0; i < count; i++) {
		struct process *p = &processes[i];
		if (p->state == WAITING) { /* what it ended with before has been reported */
			p->state = ENDED;
			p->status = 0;
		}
		if (p->state == ENDED)
			continue;
		/* A process whose output the main process has read successfully may complete its own work. */
		bool completes = p->feeds_main && MAIN->was_running && MAIN->status == 0 && !first_signal_ms && !failed;
		if (!p->asked_to_end && !completes && !(p == MAIN && timed_out))
			ask_to_end(p);
		return true;
	}
	return false;
}

/* Kills the processes whose time to end is over. */
static void kill_late(void)
{
	for (int i = 0; i < count; i++) {
		struct process *p = &processes[i];
		if (p->kill_at_ms == 0 || p->kill_at_ms > now_ms() || (p->state != STARTING && p->state != RUNNING))
			continue;
		p->kill_at_ms = 0;
		send(p, SIGKILL);
		say("process %d did not stop in time; killed", p->pid);
	}
	if (now_ms() >= end_at_ms) {
		end_at_ms = UINT64_MAX;
		timed_out = stopping = true;
		send(MAIN, SIGKILL);
	}
}

static void on_stop_signal(void)
{
	uint64_t now = now_ms();
	bool is_first = first_signal_ms == 0;
	if (is_first)
		first_signal_ms = now;
	stopping = true;
	if (is_service())
		return; /* its processes have a time to end */
	for (int i = 0; i < count; i++) {
		if (processes[i].socket)
			continue; /* a launcher is stopped after the program that it serves */
		if (is_first)
			ask_to_end(&processes[i]);
		else if (now - first_signal_ms >= SECOND_SIGNAL_MS)
			send(&processes[i], SIGKILL);
		/* The script was killed, and nobody else sends another signal. */
		if (parent && getppid() != parent && !processes[i].kill_at_ms)
			processes[i].kill_at_ms = now + ORPHAN_MS;
	}
}

static void on_signal(int number)
{
	switch (number) {
	case SIGUSR1:
		ready = true;
		break;
	case SIGUSR2:
		if (!stopping)
			failed = stopping = true;
		break;
	case SIGHUP:
		if (is_service() && ready && !stopping) /* before, it has just read its certificate or is about to */
			send(MAIN, SIGHUP);
		break;
	case SIGTERM:
		on_stop_signal();
		break;
	default: /* SIGCHLD only wakes this program up */
		break;
	}
}

/* How long the program may sleep. */
static int sleep_ms(void)
{
	uint64_t now = now_ms(), next = now + STATE_POLL_MS;
	for (int i = 0; i < count; i++) {
		const struct process *p = &processes[i];
		uint64_t due = UINT64_MAX;
		if (p->state == WAITING)
			due = p->start_at_ms;
		else if (p->state == STARTING)
			due = now + LISTEN_POLL_MS;
		else if (p->state == RUNNING && p->kill_at_ms)
			due = p->kill_at_ms;
		if (p->state == WAITING && due <= now)
			due = now + LISTEN_POLL_MS; /* it waits for another process */
		if (due < next)
			next = due;
	}
	if (end_at_ms < next)
		next = end_at_ms;
	return next > now ? (int)(next - now) : 0;
}

static void run(int signals)
{
	for (;;) {
		if (!stopping)
			start_due();
		if (stopping && !stop())
			return;
		struct pollfd wait = {.fd = signals, .events = POLLIN};
		poll(&wait, 1, sleep_ms());
		struct signalfd_siginfo info;
		while (read(signals, &info, sizeof info) == sizeof info)
			on_signal((int)info.ssi_signo);
		for (int i = 0; i < count; i++) {
			struct process *p = &processes[i];
			if ((p->state == STARTING || p->state == RUNNING) && has_ended(p))
				ended(p);
		}
		kill_late();
	}
}

/* The exit status of this program, when all processes have ended. */
static int result(void)
{
	int status;
	if (failed)
		return 1;
	if (timed_out)
		return TIMED_OUT;
	if (!MAIN->was_running)
		status = is_service() ? 0 : BY_SIGNAL + SIGTERM;
	else if (is_service())
		status = MAIN->status == 0 ? 0 : 1;
	else
		status = MAIN->status;
	for (int i = 1; i < count; i++) {
		const struct process *p = &processes[i];
		if (!p->was_running || p->status == 0)
			continue;
		if (p->socket)
			say("the %s ended with status %d", p->name, p->status);
		if (status == 0)
			status = p->socket ? 1 : p->status;
	}
	return status;
}

static _Noreturn void misuse(const char *problem)
{
	say("error: assay-supervisor: %s", problem);
	fputs("usage: assay-supervisor [--parent PID] [--seconds N] [--plain] [--most-output BYTES] [--clears-terminal] PROCESS...\n"
	      "  --parent PID         ends when this process, which must be the parent, has ended\n"
	      "  --seconds N          kills the main process after N seconds; the exit status is then 124\n"
	      "  --plain              the output of processes with a user is passed on as plain text, wherever it goes\n"
	      "  --most-output BYTES  of that output, only so many bytes are passed on\n"
	      "  --clears-terminal    a form feed in that output clears the terminal\n"
	      "PROCESS: --process NAME [OPTION...] --run COUNT ARGUMENT...; with 'all' as COUNT, all that follow\n"
	      "  --user UID:GID       runs as this user, without a privilege and without a way to gain one\n"
	      "  --group DIRECTORY    in this control group, whose processes are killed when the process has ended\n"
	      "  --listens SOCKET     it is ready when it listens there\n"
	      "  --stop-seconds N     is killed if it has not ended N seconds after SIGTERM\n"
	      "  --restart            is started again when it ends by itself\n"
	      "  --feeds-main         its output is the input of the main process\n"
	      "  --keeps-descriptors  gets the descriptors above 2\n", stderr);
	exit(2);
}

static unsigned long number(const char *text, unsigned long most)
{
	char *end;
	errno = 0;
	unsigned long value = strtoul(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || value > most)
		misuse("a number was expected");
	return value;
}

static struct user user_from(char *text)
{
	char *group = strchr(text, ':');
	if (!group)
		misuse("--user needs UID:GID");
	*group++ = 0;
	struct user user = {(uid_t)number(text, UINT_MAX - 1), (gid_t)number(group, UINT_MAX - 1)};
	if (user.uid == 0 || user.gid == 0)
		misuse("--user must not be root");
	return user;
}

enum option_number { PARENT = 1, SECONDS, PLAIN, MOST, CLEARS, PROCESS, USER, GROUP, LISTENS, STOP, RESTART, FEEDS, KEEPS, RUN };

static void set_option(struct relay_options *o, int option)
{
	switch (option) {
	case PARENT: parent = (pid_t)number(optarg, INT_MAX); break;
	case SECONDS: end_at_ms = now_ms() + number(optarg, 1000000) * 1000; break;
	case PLAIN: o->plain = true; break;
	case MOST: o->most = number(optarg, ULONG_MAX - 1); break;
	case CLEARS: o->clears_terminal = true; break;
	default: misuse("an unknown option");
	}
}

static void set_option_of_process(struct process *p, int option)
{
	switch (option) {
	case USER: p->user = user_from(optarg), p->has_user = true; break;
	case GROUP: p->group = *optarg ? optarg : NULL; break;
	case LISTENS: p->socket = optarg; break;
	case STOP: p->stop_ms = number(optarg, 1000000) * 1000; break;
	case RESTART: p->restart = true; break;
	case FEEDS: p->feeds_main = true; break;
	case KEEPS: p->keeps_descriptors = true; break;
	default: misuse("an unknown option");
	}
}

/* Takes the arguments of a process from the next arguments of this program. `words` is their number, or "all". */
static void set_arguments(struct process *p, const char *words, int argc, char **argv)
{
	unsigned long left = (unsigned long)(argc - optind);
	unsigned long length = strcmp(words, "all") == 0 ? left : number(words, INT_MAX);
	if (length == 0 || length > left)
		misuse("--run has too few arguments");
	p->arguments = calloc(length + 1, sizeof *p->arguments);
	if (!p->arguments)
		exit(1);
	memcpy(p->arguments, argv + optind, length * sizeof *p->arguments);
	optind += (int)length;
}

static struct relay_options read_options(int argc, char **argv)
{
	static const struct option known[] = {
		{"parent", 1, NULL, PARENT}, {"seconds", 1, NULL, SECONDS}, {"plain", 0, NULL, PLAIN},
		{"most-output", 1, NULL, MOST}, {"clears-terminal", 0, NULL, CLEARS}, {"process", 1, NULL, PROCESS},
		{"user", 1, NULL, USER}, {"group", 1, NULL, GROUP}, {"listens", 1, NULL, LISTENS},
		{"stop-seconds", 1, NULL, STOP}, {"restart", 0, NULL, RESTART}, {"feeds-main", 0, NULL, FEEDS},
		{"keeps-descriptors", 0, NULL, KEEPS}, {"run", 1, NULL, RUN}, {0},
	};
	struct relay_options o = {.most = UINT64_MAX};
	struct process *p = NULL; /* that is being described */
	int option;
	while ((option = getopt_long(argc, argv, "+", known, NULL)) != -1) {
		if (option == PROCESS) {
			if (p || count == PROCESSES_MAX)
				misuse("--process needs --run, and there can be four processes");
			p = &processes[count++];
			p->name = optarg;
		} else if (option < PROCESS || option > RUN) {
			set_option(&o, option);
		} else if (!p) {
			misuse("an option of a process comes before --process");
		} else if (option == RUN) {
			set_arguments(p, optarg, argc, argv);
			p = NULL;
		} else {
			set_option_of_process(p, option);
		}
	}
	if (p || count == 0 || optind != argc)
		misuse("a process without --run, or an argument that belongs to none");
	return o;
}

int main(int argc, char **argv)
{
	struct relay_options o = read_options(argc, argv);
	/* Signals of a terminal go to the script, which passes them on. It fails for the leader of a process group, which has no script. */
	setsid();
	if (parent && (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent))
		return 1;
	static const int handled_signals[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD};
	sigset_t handled;
	sigemptyset(&handled);
	for (size_t i = 0; i < sizeof handled_signals / sizeof *handled_signals; i++)
		sigaddset(&handled, handled_signals[i]);
	sigprocmask(SIG_BLOCK, &handled, NULL);
	/* The script lets this program ignore signals. One that is ignored is not reported. */
	for (size_t i = 0; i < sizeof handled_signals / sizeof *handled_signals; i++)
		signal(handled_signals[i], SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	int signals = signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0) {
		say("error: cannot receive signals: %s", strerror(errno));
		return 1;
	}
	bool has_user = false;
	for (int i = 0; i < count; i++) {
		has_user = has_user || processes[i].has_user;
		if (processes[i].feeds_main && (i == 0 || feed[0] >= 0))
			misuse("one process, other than the main one, can feed the main one");
		if (processes[i].feeds_main && pipe2(feed, O_CLOEXEC) < 0) {
			say("error: cannot make a pipe: %s", strerror(errno));
			return 1;
		}
	}
	o.goes_on = is_service();
	if (has_user && relays_open(&o, relays) < 0) {
		say("error: cannot pass on the output: %s", strerror(errno));
		return 1;
	}
	run(signals);
	int status = result();
	return relays_close(relays) ? status : status == 0 ? 1 : status;
}
