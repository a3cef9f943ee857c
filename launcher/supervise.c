/*
 * The watch over one running program. One thread, one poll: the program's pidfd,
 * its two pipes, the v1 OOM event, the connection; and a timeout computed from the
 * nearest deadline (nothing is polled at a rate). What is decided here is only
 * when to kill, and the reason is recorded before the signal is sent.
 */
#define _GNU_SOURCE
#include "supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <dirent.h>
#include <unistd.h>

#include "signals.h"

#ifndef F_ADD_SEALS
#define F_ADD_SEALS 1033
#endif

enum {
	READ_AT_ONCE = 64 * 1024,
	READS_PER_ROUND = 8, /* then the deadlines are looked at again */
	PIECES_IN_A_FRAME = 256,
	/* 64 processes with 65,000 mappings each take 1.5 s to end on two free cores, and must not look like a failure of ours on busy ones. */
	DRAIN_PATIENCE_MS = 15000,
	WALK_MOST = 20000, WALK_DEPTH = 32,
	OOM_RECHECK_NS = 5000000,
	QUIET_NS = 2000000, /* each wake-up that is spared is 20 to 40 us less for a run of half a millisecond */
};

struct watch {
	struct slot *slot;
	struct box *box;
	const struct request *request;
	struct queue *out;
	struct outcome *o;
	int connection;
	uint64_t start_ns, quiet_until, wall_deadline, cpu_check, cpu_budget_usec, killed_ns;
	long cpus;
	bool oom_met;
	bool undying; /* a kernel that lets a program live on after our kill */
};

static void note(struct outcome *o, const char *what, int err)
{
	if (o->errors < 8)
		snprintf(o->error[o->errors++], sizeof o->error[0], "%s: %s", what, strerror(err));
}

/* ---- starting ---- */

static char *copy_string(struct hand *h, size_t *used, struct bytes text)
{
	size_t space = HAND_SPACE - offsetof(struct hand, strings);
	if (text.size + 1 > space - *used)
		return NULL;
	char *to = h->strings + *used;
	memcpy(to, text.data, text.size);
	to[text.size] = 0;
	*used += text.size + 1;
	return to;
}

static int fill_hand(struct hand *h, const struct request *r, struct failure *f)
{
	const uint64_t *n = r->number;
	const struct { int resource; uint64_t soft, hard; } limits[] = {
		/* A second between the two: SIGXCPU has a sender to be recognised by, SIGKILL would be anonymous. */
		{RLIMIT_CPU, n[KEY_CPU_RLIMIT_SECS], n[KEY_CPU_RLIMIT_SECS] + 1},
		{RLIMIT_FSIZE, n[KEY_FILE_BYTES], n[KEY_FILE_BYTES]},
		{RLIMIT_NOFILE, n[KEY_OPEN_FILES], n[KEY_OPEN_FILES]},
		{RLIMIT_AS, n[KEY_ADDRESS_SPACE_BYTES], n[KEY_ADDRESS_SPACE_BYTES]},
		{RLIMIT_STACK, n[KEY_STACK_BYTES], n[KEY_STACK_BYTES]},
		{RLIMIT_NPROC, n[KEY_PROCESSES_RLIMIT], n[KEY_PROCESSES_RLIMIT]},
	};
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		h->rlimit[limits[i].resource] = (struct rlimit){limits[i].soft, limits[i].hard};
		h->set[limits[i].resource] = true;
	}
	size_t used = 0;
	for (unsigned i = 0; i < r->args; i++)
		if (!(h->argv[i] = copy_string(h, &used, r->arg[i])))
			return fail_with(f, E2BIG, "request", "arguments");
	for (unsigned i = 0; i < r->envs; i++)
		if (!(h->envp[i] = copy_string(h, &used, r->env[i])))
			return fail_with(f, E2BIG, "request", "environment");
	return 0;
}

static int give_stdin(int fd, struct bytes data, struct failure *f)
{
	for (size_t done = 0; done < data.size;) {
		ssize_t n = pwrite(fd, data.data + done, data.size - done, (off_t)done);
		if (n <= 0)
			return fail(f, "stdin", "write");
		done += (size_t)n;
	}
	/* SEAL, SHRINK, GROW, WRITE: what the program reads is what was sent, to the end. */
	return fcntl(fd, F_ADD_SEALS, 1 | 2 | 4 | 8) < 0 ? fail(f, "stdin", "seal") : 0;
}

/* Written, then read back: the evidence is what the kernel holds. It may round down to whole pages. */
static int apply_limits(struct watch *w, struct failure *f)
{
	const struct groups *g = &w->slot->launcher->groups;
	const uint64_t *n = w->request->number;
	uint64_t memory, pids;
	if (leaf_limit(g, &w->box->leaf, n[KEY_MEMORY_BYTES], n[KEY_PROCESSES], f) < 0)
		return -1;
	bool read = leaf_read(g, &w->box->leaf, FACT_MEMORY_LIMIT, &memory) == 0;
	bool same = read && memory <= n[KEY_MEMORY_BYTES] && memory + 65536 > n[KEY_MEMORY_BYTES];
	control_note(w->box, "memory_limit", !read ? "cannot be read back" : same ? NULL : "reads back differently");
	read = leaf_read(g, &w->box->leaf, FACT_PIDS_LIMIT, &pids) == 0;
	same = read && pids == n[KEY_PROCESSES];
	control_note(w->box, "process_limit", !read ? "cannot be read back" : same ? NULL : "reads back differently");
	return 0;
}

static int let_go(struct watch *w, struct failure *f)
{
	uint64_t one = 1;
	if (fill_hand(w->box->lane->hand, w->request, f) < 0 || give_stdin(w->box->stdin_fd, w->request->stdin_data, f) < 0 ||
	    apply_limits(w, f) < 0)
		return -1;
	w->start_ns = now_ns();
	if (write(w->box->go, &one, sizeof one) != sizeof one)
		return fail(f, "go", "write");
	return 0;
}

/* ---- watching ---- */

static void end_it(struct watch *w, enum kill_reason reason)
{
	if (w->o->reason == KILL_NONE) {
		w->o->reason = reason;
		w->killed_ns = now_ns();
		box_kill(w->box);
	}
}

static void forward_chunk(struct watch *w, int stream, const uint8_t *chunk, size_t size)
{
	uint64_t limit = w->request->number[stream == 0 ? KEY_STDOUT_BYTES : KEY_STDERR_BYTES];
	uint64_t kept = w->o->seen[stream] < limit ? limit - w->o->seen[stream] : 0;
	if (kept > size)
		kept = size;
	if (kept) {
		queue_frame(w->out, stream == 0 ? FRAME_STDOUT : FRAME_STDERR);
		queue_raw(w->out, chunk, (size_t)kept);
		queue_frame_end(w->out);
	}
	w->o->seen[stream] += size;
	w->o->last_output_ns = now_ns();
}

/*
 * Reads what one pipe has, forwards it up to its limit. Returns false at its end.
 * A pipe in packet mode, which a program can choose, gives one write at a time: a
 * frame for each byte would keep the service busy with nothing else.
 */
static bool forward(struct watch *w, int *fd, int stream, int rounds)
{
	static uint8_t chunk[READ_AT_ONCE];
	while (*fd >= 0 && rounds-- > 0) {
		size_t used = 0;
		ssize_t n = 0;
		for (int pieces = 0; pieces < PIECES_IN_A_FRAME && used < sizeof chunk; pieces++) {
			n = read(*fd, chunk + used, sizeof chunk - used);
			if (n <= 0)
				break;
			used += (size_t)n;
		}
		int err = errno;
		if (used)
			forward_chunk(w, stream, chunk, used);
		if (n > 0 || (n < 0 && err == EINTR))
			continue;
		if (n < 0 && err == EAGAIN)
			return true;
		if (n < 0)
			w->o->write_error = true;
		close(*fd);
		*fd = -1;
	}
	return *fd >= 0;
}

/* The next time the CPU budget could be used up, if every CPU worked for this box from now on. */
static void check_cpu(struct watch *w, uint64_t now)
{
	uint64_t used = 0;
	if (leaf_read(&w->slot->launcher->groups, &w->box->leaf, FACT_CPU_USEC, &used) < 0) {
		note(w->o, fact_name(FACT_CPU_USEC), errno);
		end_it(w, KILL_CPU);
		return;
	}
	used -= w->box->base_cpu_usec;
	if (used >= w->cpu_budget_usec) {
		end_it(w, KILL_CPU);
		return;
	}
	uint64_t wait = (w->cpu_budget_usec - used) * 1000 / (uint64_t)w->cpus;
	w->cpu_check = now + (wait > 1000000 ? wait : 1000000);
}

/* v1 kills one process of the group; the run is over all the same. */
static void check_oom(struct watch *w)
{
	uint64_t kills = 0;
	if (leaf_read(&w->slot->launcher->groups, &w->box->leaf, FACT_OOM_KILLS, &kills) == 0 && kills > 0)
		end_it(w, KILL_OOM);
}

/* The program's time begins with its exec, and on a busy machine that comes later than our word. */
static void wall_is_over(struct watch *w, uint64_t now)
{
	uint64_t from = w->box->lane->hand->exec_ns, limit = w->request->number[KEY_WALL_MS] * 1000000;
	if (from && now < from + limit)
		w->wall_deadline = from + limit;
	else
		end_it(w, KILL_WALL);
}

static void check_deadlines(struct watch *w)
{
	uint64_t now = now_ns();
	if (w->oom_met)
		check_oom(w);
	if (now >= w->wall_deadline)
		wall_is_over(w, now);
	else if (now >= w->cpu_check && w->o->reason == KILL_NONE)
		check_cpu(w, now);
	/* The event comes before the kill is counted: look again soon, as long as none is. */
	if (w->oom_met && w->o->reason == KILL_NONE && w->cpu_check > now + OOM_RECHECK_NS)
		w->cpu_check = now + OOM_RECHECK_NS;
}

static struct timespec until(uint64_t deadline)
{
	uint64_t now = now_ns(), wait = deadline > now ? deadline - now : 0;
	return (struct timespec){.tv_sec = (time_t)(wait / 1000000000u), .tv_nsec = (long)(wait % 1000000000u)};
}

static void watch_program(struct watch *w, const volatile int *stopping)
{
	struct box *b = w->box;
	sigset_t none;
	uint64_t events;
	sigemptyset(&none);
	for (;;) {
		/* Most programs write little and end at once: at first we wait for that end, and not for each word. */
		bool quiet = now_ns() < w->quiet_until;
		struct pollfd on[] = {
			{.fd = b->program_fd, .events = POLLIN},
			{.fd = quiet ? -1 : b->out_fd, .events = POLLIN},
			{.fd = quiet ? -1 : b->err_fd, .events = POLLIN},
			{.fd = b->leaf.oom_event, .events = POLLIN},
			{.fd = w->connection, .events = (short)(POLLRDHUP | (queue_empty(w->out) ? 0 : POLLOUT))},
		};
		bool killed = w->o->reason != KILL_NONE;
		uint64_t next = w->cpu_check < w->wall_deadline ? w->cpu_check : w->wall_deadline;
		struct timespec wait = until(quiet && w->quiet_until < next ? w->quiet_until
					     : killed			    ? now_ns() + 1000000000u
									    : next);
		int n = ppoll(on, 5, &wait, &none);
		if (n < 0 && errno != EINTR)
			note(w->o, "poll", errno);
		if (n > 0 && on[0].revents) {
			w->o->ended_ns = now_ns();
			return;
		}
		/* So that a slot ends with an error where it would hang: its place is swept from outside, and given out again. */
		w->undying = killed && now_ns() - w->killed_ns > DRAIN_PATIENCE_MS * 1000000ull;
		if (w->undying)
			return;
		if (*stopping)
			end_it(w, KILL_CLIENT);
		if (n > 0 && on[1].revents)
			forward(w, &b->out_fd, 0, READS_PER_ROUND);
		if (n > 0 && on[2].revents)
			forward(w, &b->err_fd, 1, READS_PER_ROUND);
		if (n > 0 && on[3].revents)
			w->oom_met = read(b->leaf.oom_event, &events, sizeof events) > 0 || w->oom_met;
		bool gone = n > 0 && (on[4].revents & (POLLRDHUP | POLLHUP | POLLERR));
		if (gone || (w->connection >= 0 && queue_flush(w->out, w->connection) < 0)) {
			end_it(w, KILL_CLIENT);
			w->connection = -1; /* or the poll would return at once for as long as the box takes to die */
		}
		check_deadlines(w);
	}
}

/* ---- the end ---- */

/* How far the program came on its way to the exec. Its memory is shared with it: no pointer in there is followed. */
static void read_hand(struct watch *w)
{
	const struct hand *hand = w->box->lane->hand;
	const struct bytes *name = &w->request->arg[0];
	/* What is executed may be the program's own work, so who judges must be able to tell this one apart. */
	if (!strncmp(hand->fail_step, "exec", sizeof hand->fail_step))
		fail_with(&w->o->failure, hand->fail_errno, "exec", "%.*s", name->size < 80 ? (int)name->size : 80,
			  (const char *)name->data);
	else if (hand->fail_step[0])
		fail_with(&w->o->failure, hand->fail_errno, "box", "%.31s %.31s", hand->fail_step, hand->fail_object);
	else if (!hand->exec_ns)
		fail_with(&w->o->failure, ESRCH, "box", "the parked program was lost");
	bool same = true;
	for (int r = 0; r < RLIM_NLIMITS; r++)
		same = same && (!hand->set[r] || !memcmp(&hand->read[r], &hand->rlimit[r], sizeof hand->read[r]));
	control_note(w->box, "resource_limits", same ? NULL : "read back differently");
	uint64_t from = hand->exec_ns ? hand->exec_ns : w->start_ns;
	w->o->wall_ns = w->o->ended_ns > from ? w->o->ended_ns - from : 0;
	memcpy(w->o->rlimit, hand->read, sizeof w->o->rlimit);
}

static void reap_program(struct watch *w)
{
	siginfo_t info = {0};
	if (w->undying) {
		fail_with(&w->o->failure, ETIMEDOUT, "wait", "program, after it was killed");
		return;
	}
	if (waitid((idtype_t)3 /* P_PIDFD */, (id_t)w->box->program_fd, &info, WEXITED) < 0) {
		fail(&w->o->failure, "wait", "program");
		return;
	}
	w->box->reaped_program = true;
	w->o->exited = info.si_code == CLD_EXITED;
	w->o->code = info.si_status;
	read_hand(w);
}

/*
 * The kernel kills a whole pid namespace whose init dies. Nothing inside can end the init, so one that is on its way out
 * when the program ends was killed from outside: that end is not the program's. Its pidfd does not tell: an init is not
 * dead before everybody in its namespace is reaped.
 */
static bool init_is_going(const struct watch *w)
{
	enum { PF_EXITING = 4 };
	char name[32], text[512];
	unsigned flags = PF_EXITING; /* gone is gone */
	snprintf(name, sizeof name, "%d/stat", w->box->init);
	int fd = openat(w->slot->launcher->proc, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	if (n > 0) {
		text[n] = 0;
		const char *after = strrchr(text, ')');
		/* State, parent, group, session, terminal, its group, flags. */
		if (!after || sscanf(after + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) != 1)
			note(w->o, "state of the init", EBADMSG);
	}
	return flags & PF_EXITING;
}

/* On v2, where there is no event to wait for, the OOM killer ends the whole group (memory.oom.group). */
static bool killed_as_group(struct watch *w)
{
	uint64_t kills = 0;
	return w->box->leaf.oom_event < 0 &&
	       leaf_read(&w->slot->launcher->groups, &w->box->leaf, FACT_OOM_KILLS, &kills) == 0 && kills > 0;
}

/*
 * Whoever outlived the main program is killed now: the run ends with it. After a
 * kill of all, ours or the kernel's, the others are dying already, and are nobody's
 * survivors.
 */
static void end_survivors(struct watch *w)
{
	const struct groups *g = &w->slot->launcher->groups;
	if (w->o->reason == KILL_NONE) {
		bool dying = killed_as_group(w);
		if (!dying && leaf_read(g, &w->box->leaf, FACT_PIDS_CURRENT, &w->o->survivors) < 0)
			note(w->o, fact_name(FACT_PIDS_CURRENT), errno);
		if (!dying && w->o->survivors == 0)
			return;
		box_kill(w->box);
	}
	struct pollfd init = {.fd = w->box->init_fd, .events = POLLIN};
	if (poll(&init, 1, DRAIN_PATIENCE_MS) <= 0)
		note(w->o, "end of the pid namespace", ETIMEDOUT);
}

/* Every writer is dead, so the pipes end, in a circle of sockets somewhat later; a deadline guards against our being wrong. */
static void drain(struct watch *w)
{
	uint64_t deadline = now_ns() + DRAIN_PATIENCE_MS * 1000000ull;
	int *fd[] = {&w->box->out_fd, &w->box->err_fd};
	for (int stream = 0; stream < 2; stream++)
		while (forward(w, fd[stream], stream, READS_PER_ROUND)) {
			struct pollfd more = {.fd = *fd[stream], .events = POLLIN};
			if (now_ns() >= deadline) {
				note(w->o, stream == 0 ? "stdout" : "stderr", ETIMEDOUT);
				w->o->write_error = true;
				break;
			}
			collect_circles();
			poll(&more, 1, 10);
		}
}

static bool walk_for_file(int dir, uint64_t size, int depth, int *budget)
{
	DIR *list = fdopendir(dir);
	struct dirent *entry;
	bool found = false;
	while (list && !found && (*budget)-- > 0 && (entry = readdir(list))) {
		struct stat st;
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
		    fstatat(dirfd(list), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISREG(st.st_mode))
			found = (uint64_t)st.st_size >= size;
		else if (S_ISDIR(st.st_mode) && depth > 0) {
			int below = openat(dirfd(list), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			found = below >= 0 && walk_for_file(below, size, depth - 1, budget);
		}
	}
	if (list)
		closedir(list);
	else
		close(dir);
	return found;
}

/*
 * Without the tracepoint, a death by SIGXFSZ needs a witness: a file that stands at
 * the limit. Only descriptors, no link is followed, the writer is dead. /tmp and
 * /dev/shm are seen through the init, which still holds the box's mounts.
 */
static bool file_at_limit(struct watch *w)
{
	static const char *const places[] = {"box", "tmp", "dev/shm"};
	int budget = WALK_MOST;
	bool found = false;
	for (int i = 0; i < 3 && !found; i++) {
		char path[64];
		snprintf(path, sizeof path, "%d/root/%s", w->box->init, places[i]);
		int dir = openat(w->slot->launcher->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		found = dir >= 0 && walk_for_file(dir, w->request->number[KEY_FILE_BYTES], WALK_DEPTH, &budget);
	}
	return found;
}

static void collect(struct watch *w)
{
	struct outcome *o = w->o;
	const struct launcher *l = w->slot->launcher;
	for (int i = 0; i < FACT_COUNT; i++) {
		o->known[i] = leaf_read(&l->groups, &w->box->leaf, i, &o->fact[i]) == 0;
		if (!o->known[i] && errno != ENODATA && !(i == FACT_PIDS_PEAK && errno == EBADF))
			note(o, fact_name(i), errno);
	}
	o->fact[FACT_CPU_USEC] -= w->box->base_cpu_usec;
	o->fact[FACT_PRESSURE_FULL] -= w->box->base_full_usec;
	o->fact[FACT_PRESSURE_SOME] -= w->box->base_some_usec;

	struct signal_counts counts = {0};
	if (l->signal_map >= 0) {
		if (signals_take(l->signal_map, w->box->leaf.id, &counts) < 0)
			note(o, "signal counts", errno);
		o->file_size_signals = counts.file_size;
		o->cpu_time_signals = counts.cpu_time;
	} else if (!o->exited && o->code == SIGXFSZ && o->survivors == 0 && o->reason == KILL_NONE) {
		o->file_at_limit = file_at_limit(w);
	}
}

void supervise(struct slot *s, struct box *b, const struct request *r, struct queue *out, int connection,
	       const volatile int *stopping, void (*meanwhile)(void *), void *context, struct outcome *o)
{
	memset(o, 0, sizeof *o);
	struct watch w = {
		.slot = s, .box = b, .request = r, .out = out, .o = o, .connection = connection,
		.cpu_budget_usec = r->number[KEY_CPU_MS] * 1000,
		.cpus = s->launcher->cpus,
	};
	if (let_go(&w, &o->failure) < 0)
		return;
	w.quiet_until = w.start_ns + QUIET_NS;
	w.wall_deadline = w.start_ns + r->number[KEY_WALL_MS] * 1000000;
	w.cpu_check = w.start_ns + w.cpu_budget_usec * 1000 / (uint64_t)w.cpus;
	if (meanwhile)
		meanwhile(context);
	watch_program(&w, stopping);
	reap_program(&w);
	if (w.undying)
		return;
	bool clean = o->exited && o->code == 0;
	bool lost = o->reason == KILL_NONE && !clean && init_is_going(&w);
	end_survivors(&w);
	drain(&w);
	collect(&w);
	if (lost && !(o->known[FACT_OOM_KILLS] && o->fact[FACT_OOM_KILLS]) && !o->failure.step)
		fail_with(&o->failure, ESRCH, "box", "the init was lost before the program ended");
}

static void report_rlimits(const struct outcome *o, struct queue *out)
{
	static const struct { int resource; enum key soft, hard; } rows[] = {
		{RLIMIT_CPU, KEY_RLIMIT_CPU_SOFT, KEY_RLIMIT_CPU_HARD},
		{RLIMIT_AS, KEY_RLIMIT_AS_SOFT, KEY_RLIMIT_AS_HARD},
		{RLIMIT_NOFILE, KEY_RLIMIT_NOFILE_SOFT, KEY_RLIMIT_NOFILE_HARD},
		{RLIMIT_NPROC, KEY_RLIMIT_NPROC_SOFT, KEY_RLIMIT_NPROC_HARD},
		{RLIMIT_FSIZE, KEY_RLIMIT_FSIZE_SOFT, KEY_RLIMIT_FSIZE_HARD},
		{RLIMIT_STACK, KEY_RLIMIT_STACK_SOFT, KEY_RLIMIT_STACK_HARD},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		queue_int(out, rows[i].soft, o->rlimit[rows[i].resource].rlim_cur);
		queue_int(out, rows[i].hard, o->rlimit[rows[i].resource].rlim_max);
	}
}

void outcome_report(const struct outcome *o, const struct box *b, struct queue *out)
{
	static const char *const reason[] = {"none", "wall", "cpu", "oom", "client"};
	static const struct { enum fact fact; enum key key; bool optional; } facts[] = {
		{FACT_CPU_USEC, KEY_CPU_USEC, false}, {FACT_MEMORY_PEAK, KEY_MEMORY_PEAK, false},
		{FACT_MEMORY_LIMIT, KEY_MEMORY_LIMIT, false}, {FACT_MEMORY_HITS, KEY_MEMORY_HITS, false},
		{FACT_OOM_EVENTS, KEY_OOM_EVENTS, false}, {FACT_OOM_KILLS, KEY_OOM_KILLS, false},
		{FACT_PIDS_CURRENT, KEY_PIDS_CURRENT, false}, {FACT_PIDS_REFUSED, KEY_PIDS_REFUSED, false}, {FACT_PIDS_PEAK, KEY_PIDS_PEAK, true},
		{FACT_PIDS_LIMIT, KEY_PIDS_LIMIT, false}, {FACT_PRESSURE_FULL, KEY_PRESSURE_FULL_USEC, true},
		{FACT_PRESSURE_SOME, KEY_PRESSURE_SOME_USEC, true},
	};
	queue_frame(out, FRAME_ENDED);
	if (o->failure.step) {
		queue_text(out, KEY_FAIL_STEP, o->failure.step);
		queue_text(out, KEY_FAIL_OBJECT, o->failure.object);
		queue_int(out, KEY_FAIL_ERRNO, (uint64_t)o->failure.err);
	} else {
		queue_int(out, o->exited ? KEY_EXIT_CODE : KEY_SIGNAL, (uint64_t)o->code);
	}
	queue_text(out, KEY_KILL_REASON, reason[o->reason]);
	queue_int(out, KEY_WALL_NS, o->wall_ns);
	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
		if (!facts[i].optional || o->known[facts[i].fact])
			queue_int(out, facts[i].key, o->known[facts[i].fact] ? o->fact[facts[i].fact] : 0);
	queue_int(out, KEY_SURVIVORS, o->survivors);
	queue_int(out, KEY_FSIZE_SIGNALS, o->file_size_signals);
	queue_int(out, KEY_CPU_RLIMIT_SIGNALS, o->cpu_time_signals);
	queue_int(out, KEY_FILE_AT_LIMIT, o->file_at_limit);
	queue_int(out, KEY_STDOUT_SEEN, o->seen[0]);
	queue_int(out, KEY_STDERR_SEEN, o->seen[1]);
	if (o->last_output_ns)
		queue_int(out, KEY_OUTPUT_AGE_USEC,
			  o->ended_ns > o->last_output_ns ? (o->ended_ns - o->last_output_ns) / 1000 : 0);
	queue_int(out, KEY_WRITE_ERROR, o->write_error);
	report_rlimits(o, out);
	for (unsigned i = 0; i < b->controls; i++)
		queue_text(out, KEY_CONTROL, b->control[i]);
	for (unsigned i = 0; i < b->missings; i++)
		queue_text(out, KEY_CONTROL_MISSING, b->missing[i]);
	for (unsigned i = 0; i < o->errors; i++)
		queue_text(out, KEY_EVIDENCE_ERROR, o->error[i]);
	queue_frame_end(out);
}
