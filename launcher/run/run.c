/*
 * Runs: builds one in a box, starts its program, and destroys it after its end. slot/slot.c, check.c and the benchmark build and destroy
 * runs, and supervise/ starts and watches their programs. The program runs box/init.c until its exec. When it is parked, controls.c
 * reads back which controls hold.
 *
 * At present, each box has one run. Nothing of a run is in the box, and run.c uses a box only to enter it and to kill what is in it, so
 * that a box can have several runs, one after the other or at the same time.
 */
#define _GNU_SOURCE
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "descriptors.h"
#include "seccomp.h"
#include "signals.h"

enum { BASE_UNCERTAIN = LEAF_CHARGED_LITTLE };

/* ---- building ---- */

/*
 * Takes the run lane with the number of the lane of the box; NULL if it is in use. Each box has one run, so one is free when the other is.
 * A group then has the name of its box: that of the second lane is s0-b1.
 */
static struct run_lane *take_run_lane(struct slot *s, const struct box *b)
{
	struct run_lane *lane = &s->run_lane[b->lane - s->lane];
	if (lane->in_use)
		return NULL;
	lane->in_use = true;
	memset(lane->exec_args, 0, sizeof *lane->exec_args);
	return lane;
}

/*
 * Makes a pipe. `for_slot` is the end that the slot uses, which does not block: 0 for the end to read from, 1 for the end to write to.
 * The user `program` owns the pipe.
 */
static int make_pipe(int *read_end, int *write_end, int for_slot, int bytes, uid_t program)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	*read_end = ends[0];
	*write_end = ends[1];
	fcntl(ends[for_slot], F_SETFL, O_NONBLOCK);
	/* A larger pipe saves wake-ups. If the host refuses, the default size works, but signals may have to wait for the program to read. */
	fcntl(ends[1], F_SETPIPE_SZ, bytes);
	return fchown(ends[1], program, (gid_t)-1); /* so that the program may open /dev/stdout, /dev/stderr or /dev/stdin */
}

/*
 * Makes a terminal in the sandbox. The slot keeps its other side. The directory was opened before any program ran, and no name in it belongs
 * to a program, so nothing that a program makes is followed.
 */
static int make_terminal(struct run *run, struct program_args *args, struct terminal_size size, struct failure *f)
{
	int unlocked = 0, locked = 1;
	run->terminal = args->terminal = true;
	run->out_fd = openat(run->box->terminals, "ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (run->out_fd < 0) /* ENOSPC: the sandbox, or the machine, has no more */
		return fail(f, "terminal", "open");
	if (ioctl(run->out_fd, TIOCSPTLCK, &unlocked) < 0 ||
	    (args->stdin_fd = ioctl(run->out_fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0)
		return fail(f, "terminal", "unlock");
	/* Until the program has it as its controlling terminal, no other program of the sandbox may open it and take it (start_child()). */
	ioctl(run->out_fd, TIOCSPTLCK, &locked);
	run_resize(run, size);
	run->in_fd = fcntl(run->out_fd, F_DUPFD_CLOEXEC, 0);
	args->out_fd = fcntl(args->stdin_fd, F_DUPFD_CLOEXEC, 0);
	args->err_fd = fcntl(args->stdin_fd, F_DUPFD_CLOEXEC, 0);
	return run->in_fd < 0 || args->out_fd < 0 || args->err_fd < 0 ? fail(f, "terminal", "descriptors") : 0;
}

void run_resize(const struct run *run, struct terminal_size size)
{
	struct winsize to = {.ws_row = size.rows, .ws_col = size.columns};
	if (run->terminal && run->out_fd >= 0)
		ioctl(run->out_fd, TIOCSWINSZ, &to); /* sends SIGWINCH to the programs in the foreground of the terminal */
}

/* Opens the pipe of live input again, so that what it contains can be removed at the end of the run (empty_input()). */
static int place_of_pipe(const struct slot *s, int end)
{
	char path[32];
	snprintf(path, sizeof path, "self/fd/%d", end);
	return openat(s->launcher->proc, path, O_PATH | O_CLOEXEC);
}

/*
 * Removes what live input a program has not read. It is charged to the group of the slot, and another program of the sandbox may have the read
 * end for as long as the sandbox lives.
 */
static void empty_input(const struct slot *s, struct run *run)
{
	enum { MOST_BYTES = 2 << 20 /* a program can make its pipe as large as fs.pipe-max-size */ };
	char path[32], chunk[4096];
	if (run->input_pipe < 0)
		return;
	snprintf(path, sizeof path, "self/fd/%d", run->input_pipe);
	int fd = openat(s->launcher->proc, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	close_fd(&run->in_fd);
	for (size_t done = 0; fd >= 0 && done < MOST_BYTES && read(fd, chunk, sizeof chunk) > 0; done += sizeof chunk)
		continue;
	if (fd >= 0)
		close(fd);
	close_fd(&run->input_pipe);
}

static int make_memory_file(void)
{
	return (int)syscall(__NR_memfd_create, "stdin", 3u /* CLOEXEC, ALLOW_SEALING */);
}

static int make_descriptors(const struct slot *s, struct run *run, struct program_args *args, enum run_input input, const struct terminal_size *size, struct failure *f)
{
	uid_t uid = run->box->lane->uid;
	if (size && make_terminal(run, args, *size, f) < 0)
		return -1;
	const bool attached = run->box->attached, piped = input == INPUT_PIPED;
	if (!size && !piped) {
		args->stdin_fd = run->stdin_fd = make_memory_file();
		if (attached && input == INPUT_FILE)
			args->source_fd = run->stdin_fd = make_memory_file();
	} else if (!size && make_pipe(&args->stdin_fd, &run->in_fd, 1, attached ? SANDBOX_INPUT_PIPE_BYTES : INPUT_PIPE_BYTES, uid) < 0) {
		return fail(f, "box", "pipe of the input");
	} else if (!size && attached && (run->input_pipe = place_of_pipe(s, run->in_fd)) < 0) {
		return fail(f, "box", "place of the pipe of the input");
	}
	args->go = run->go = eventfd(0, EFD_CLOEXEC);
	args->ready = run->ready = eventfd(0, EFD_CLOEXEC);
	if (args->stdin_fd < 0 || (!size && !piped && run->stdin_fd < 0) || run->go < 0 || run->ready < 0)
		return fail(f, "box", "descriptors");
	if (size)
		return 0;
	if (make_pipe(&run->out_fd, &args->out_fd, 0, PIPE_BYTES, uid) < 0 || make_pipe(&run->err_fd, &args->err_fd, 0, PIPE_BYTES, uid) < 0)
		return fail(f, "box", "pipes");
	return 0;
}

static int start_child(const struct slot *s, struct run *run, struct program_args *args, struct failure *f)
{
	const struct box *b = run->box;
	args->uid = b->lane->uid;
	args->init_pidfd = b->init_fd;
	memcpy(args->namespace_fd, b->lane->namespace_fd, sizeof args->namespace_fd);
	args->proc = s->launcher->proc;
	memcpy(args->tasks, run->leaf->tasks, sizeof args->tasks);
	args->tasks[TREE_CPU] = s->cpu_group_tasks;
	args->exec_args = run->exec_args;
	/* The next child is born in the box's pid namespace but remains a child of the slot, which reaps it. */
	if (keyed(setns, b->init_fd, CLONE_NEWPID) < 0)
		return fail(f, "namespaces", "the box's pid namespace");
	int pidfd = -1;
	pid_t pid = clone_into(0, &pidfd, run->leaf->dir[TREE_UNIFIED]);
	if (pid == 0)
		become_program(args);
	int err = errno;
	run->program = pid;
	run->program_fd = pidfd;
	run->reaped = pid < 0;
	if (keyed(setns, s->self_pid_ns, CLONE_NEWPID) < 0)
		return fail(f, "namespaces", "pid namespace of the slot");
	if (pid < 0)
		return fail_with(f, err, "box", "clone of the program");
	if (await_ready(run->ready, run->program_fd, &run->exec_args->failure, s->timeout_ms, "program", f) < 0)
		return -1;
	int unlocked = 0;
	if (run->terminal && ioctl(run->out_fd, TIOCSPTLCK, &unlocked) < 0) /* the program may open its terminal by name */
		return fail(f, "terminal", "unlock");
	return 0;
}

/*
 * Reads the counters that cannot be reset. Until now they have counted earlier runs of the leaf and the building of this one, which
 * read_counters() in supervise/supervise.c later subtracts.
 */
static void read_baseline(struct run *run)
{
	const struct { enum fact fact; uint64_t *base; } counters[] = {
		{FACT_CPU_USEC, &run->base_cpu_usec}, {FACT_PRESSURE_FULL_USEC, &run->base_full_usec},
		{FACT_PRESSURE_SOME_USEC, &run->base_some_usec},
	};
	for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
		if (run_read(run, counters[i].fact, counters[i].base) < 0) {
			*counters[i].base = 0;
			if (errno != ENODATA)
				run->base_errno = errno;
		}
}

/*
 * Finds how much of the memory of a leaf is not of this run: files of earlier executions. What else is charged is mostly memory of ended
 * processes that the kernel has not freed yet, so a little of it counts for this run; otherwise a part of its peak could stay hidden.
 */
static int read_base_memory(const struct run *run, uint64_t *base, uint64_t *now)
{
	uint64_t files;
	if (leaf_read(run->box->groups, run->leaf, FACT_MEMORY_NOW, now) < 0 || leaf_files(run->box->groups, run->leaf, &files) < 0)
		return -1;
	uint64_t other = *now > files ? *now - files : 0;
	*base = other > BASE_UNCERTAIN ? *now : *now - other;
	return 0;
}

/*
 * Makes the peak of memory begin anew, and reads what the leaf has now. The kernel can still be freeing memory of an earlier execution: the use then
 * falls while this reads it, and the peak must begin at the lower use. Returns 1 if the peak is that of the present use, or noted as an
 * earlier one, 0 if it is neither, and -1 with errno if it cannot be read.
 */
static int renew_peak(struct run *run, uint64_t *base, uint64_t *now)
{
	enum { SLACK = 1 << 20 /* what CPUs have charged in advance */, WAITS = 200, WAIT_USEC = 1000 };
	for (int waits = 0;; waits++) {
		uint64_t peak;
		leaf_reset_peak(run->leaf);
		if (read_base_memory(run, base, now) < 0 || leaf_read(run->box->groups, run->leaf, FACT_MEMORY_PEAK, &peak) < 0)
			return -1;
		if (peak <= *now + SLACK)
			return 1;
		if (!run->box->groups->renews_peak) {
			run->earlier_peak = peak;
			return 1;
		}
		if (waits == WAITS)
			return 0;
		usleep(WAIT_USEC);
	}
}

/*
 * Notes what the leaf of an earlier execution has, so that run_read() shows only what this run adds. The peak of memory begins anew. If it does
 * not, the peak of this run could hide behind an earlier one, so the leaf must not be used. Where the kernel cannot do that, real_peak() in
 * supervise/supervise.c finds out what is known.
 */
static int read_base(struct run *run, struct failure *f)
{
	static const enum fact counted[] = {FACT_MEMORY_HITS, FACT_OOM_EVENTS, FACT_OOM_KILLS, FACT_PIDS_REFUSED, FACT_KERNEL_NOW};
	uint64_t peak, base, now, earlier;
	/* The eventfd can have reported that the sandbox was out of memory while the leaf served nobody. */
	if (run->leaf->oom_event >= 0 && read(run->leaf->oom_event, &earlier, sizeof earlier) < 0 && errno != EAGAIN)
		return fail(f, "cgroup", "events before the step");
	int renewed = renew_peak(run, &base, &now);
	if (renewed < 0)
		return fail(f, "cgroup", "memory before the step");
	if (!renewed) {
		run->leaf_unfit = true;
		return fail_with(f, EBUSY, "cgroup", "memory peak cannot be reset");
	}
	for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
		if (leaf_read(run->box->groups, run->leaf, counted[i], &run->base[counted[i]]) < 0)
			return fail(f, "cgroup", "%s before the step", fact_name(counted[i]));
	if (base == 0 || base < now) /* the kernel's memory for files is small, and counts for this run as well */
		run->base[FACT_KERNEL_NOW] = 0;
	run->base[FACT_MEMORY_NOW] = run->base[FACT_MEMORY_PEAK] = run->base[FACT_MEMORY_LIMIT] = base;
	run->outcome.kept_bytes = base;
	/* On v2, the peak of processes cannot be reset. Only a higher one is that of this run. */
	if (leaf_read(run->box->groups, run->leaf, FACT_PIDS_PEAK, &peak) == 0)
		run->earlier_pids_peak = peak;
	return 0;
}

static int build(const struct slot *s, struct run *run, struct program_args *args, enum run_input input, const struct terminal_size *size, struct failure *f)
{
	const struct launcher *l = s->launcher;
	if (leaf_make(run->box->groups, run->leaf, f) < 0)
		return -1;
	if (run->leaf->kind == LEAF_OF_HOLDER && read_base(run, f) < 0)
		return -1;
	if (l->signal_map >= 0 && signals_watch(l->signal_map, run->leaf->id, s->number) < 0)
		return fail(f, "bpf", "watch the box");
	if (make_descriptors(s, run, args, input, size, f) < 0 || start_child(s, run, args, f) < 0)
		return -1;
	controls_read(s, run);
	read_baseline(run);
	return 0;
}

static int build_on_lane(struct slot *s, struct run *run, struct box *b, enum run_input input, const struct terminal_size *size, struct failure *f)
{
	struct program_args args = {.stdin_fd = -1, .source_fd = -1, .out_fd = -1, .err_fd = -1};
	*run = (struct run){
		.built = true, .box = b, .program_fd = -1, .go = -1, .ready = -1, .stdin_fd = -1, .out_fd = -1, .err_fd = -1, .in_fd = -1,
		.input_pipe = -1,
		.reaped = true,
	};
	run->lane = take_run_lane(s, b);
	if (!run->lane)
		return fail_with(f, EBUSY, "box", "no free run lane");
	run->leaf = &run->lane->leaf;
	run->exec_args = run->lane->exec_args;
	int done = build(s, run, &args, input, size, f);
	if (args.stdin_fd != run->stdin_fd)
		close_fd(&args.stdin_fd);
	close_fd(&args.out_fd);
	close_fd(&args.err_fd);
	return done;
}

int run_build(struct slot *s, struct run *run, struct box *b, bool piped, struct failure *f)
{
	return build_on_lane(s, run, b, piped ? INPUT_PIPED : INPUT_FILE, NULL, f);
}

int run_build_attached(struct slot *s, struct run *run, struct box *b, enum run_input input, const struct terminal_size *size, struct failure *f)
{
	return build_on_lane(s, run, b, input, size, f);
}

int build_box_and_run(struct slot *s, struct box *b, struct run *run, const struct shape *shape, bool piped, struct failure *f)
{
	run->built = false;
	if (box_build(s, b, shape, f) == 0 && run_build(s, run, b, piped, f) == 0)
		return 0;
	struct teardown t;
	remove_box_and_run(s, b, run, &t);
	s->unclean = s->unclean || !t.reaped || t.leftovers || t.mounts || t.pids_left;
	return -1;
}

/* ---- the start ---- */

/* Appends a string to the memory that is shared with the program. Returns NULL if there is no space left. */
static char *copy_string(struct exec_args *shared, size_t *used, struct bytes text)
{
	size_t space = EXEC_ARGS_BYTES - offsetof(struct exec_args, strings);
	if (text.size + 1 > space - *used)
		return NULL;
	char *to = shared->strings + *used;
	memcpy(to, text.data, text.size);
	to[text.size] = 0;
	*used += text.size + 1;
	return to;
}

static const char home[] = "/home/user"; /* of the user of a sandbox */

static int fill_exec_args(struct exec_args *shared, const struct request *r, bool runtime, struct failure *f)
{
	const struct bytes *arg = runtime ? r->park_arg : r->arg;
	const uint64_t *n = r->number;
	enum { NO_RLIMIT = -1 };
	const struct { int resource; uint64_t value; } limits[] = {
#define FRAME(...)
#define KEY(...)
#define LIMIT(number, name, smallest, largest, rlimit) {rlimit, n[KEY_##name]},
#include "protocol.def"
#undef FRAME
#undef KEY
#undef LIMIT
	};
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		int resource = limits[i].resource;
		if (resource == NO_RLIMIT)
			continue;
		/* The hard limit is a second later: SIGXCPU has an identifiable sender, the SIGKILL of the hard limit does not. */
		rlim_t hard = limits[i].value + (resource == RLIMIT_CPU);
		shared->rlimit[resource] = (struct rlimit){limits[i].value, hard};
		shared->set[resource] = true;
	}
	size_t used = 0;
	shared->runtime = runtime;
	shared->search = r->sandbox.size;
	if (r->cwd.size && !(shared->directory = copy_string(shared, &used, r->cwd)))
		return fail_with(f, E2BIG, "request", "directory");
	if (r->sandbox.size && !r->cwd.size && !(shared->directory = copy_string(shared, &used, (struct bytes){(const uint8_t *)home, strlen(home)})))
		return fail_with(f, E2BIG, "request", "directory");
	for (unsigned i = 0; i < (runtime ? r->park_args : r->args); i++)
		if (!(shared->argv[i] = copy_string(shared, &used, arg[i])))
			return fail_with(f, E2BIG, "request", "arguments");
	for (unsigned i = 0; i < r->envs; i++)
		if (!(shared->envp[i] = copy_string(shared, &used, r->env[i])))
			return fail_with(f, E2BIG, "request", "environment");
	return 0;
}

/* Writes the input. In a sandbox, the program copies it (copy_input() in box/init.c). */
static int write_stdin(int fd, struct bytes data, bool copied, struct failure *f)
{
	for (size_t done = 0; done < data.size;) {
		ssize_t n = pwrite(fd, data.data + done, data.size - done, (off_t)done);
		if (n <= 0)
			return fail(f, "stdin", "write");
		done += (size_t)n;
	}
	return !copied && fcntl(fd, F_ADD_SEALS, STDIN_SEALS) < 0 ? fail(f, "stdin", "seal") : 0;
}

/* Sets the limits of the groups, and reads them back as evidence. The kernel may round the memory limit down to whole pages. */
static int apply_limits(struct run *run, const struct request *r, struct failure *f)
{
	const uint64_t *n = r->number;
	uint64_t memory, pids;
	if (leaf_limit(run->box->groups, run->leaf, n[KEY_MEMORY_BYTES] + run->base[FACT_MEMORY_LIMIT], n[KEY_PROCESSES], f) < 0)
		return -1;
	bool read = run_read(run, FACT_MEMORY_LIMIT, &memory) == 0;
	bool same = read && memory <= n[KEY_MEMORY_BYTES] && memory + 65536 > n[KEY_MEMORY_BYTES];
	control_note(run, CONTROL_memory_limit, !read ? "cannot be read back" : same ? NULL : "reads back differently");
	read = run_read(run, FACT_PIDS_LIMIT, &pids) == 0;
	same = read && pids == n[KEY_PROCESSES];
	control_note(run, CONTROL_process_limit, !read ? "cannot be read back" : same ? NULL : "reads back differently");
	return 0;
}

/* Passes the command of the step, or that of its runtime, and the limits of the step to the parked program. */
static int pass_request(struct run *run, const struct request *r, bool runtime, struct failure *f)
{
	return fill_exec_args(run->exec_args, r, runtime, f) < 0 ? -1 : apply_limits(run, r, f);
}

static int signal_go(const struct run *run, struct failure *f)
{
	uint64_t one = 1;
	return write(run->go, &one, sizeof one) == sizeof one ? 0 : fail(f, "go", "write");
}

/* The runtime starts on as many CPUs as its step wants; the step may get other ones. */
int run_start_runtime(const struct slot *s, struct run *run, const struct request *r, struct failure *f)
{
	unsigned given;
	struct cpus *cpus = s->launcher->cpus;
	if (pass_request(run, r, true, f) < 0 || cpus_acquire(cpus, s->number, BOUND_BOX, &run->program, 1, r->number[KEY_CPUS], &given, f) < 0)
		return -1;
	int done = signal_go(run, f);
	if (done == 0)
		done = await_ready(run->ready, run->program_fd, &run->exec_args->failure, s->timeout_ms, "runtime", f);
	cpus_release(cpus, s->number);
	if (done < 0)
		return -1;
	/* The controls are read again, because run_build() has read them before the exec of the runtime. */
	controls_read(s, run);
	if (!run_waits(run))
		return fail_with(f, ESRCH, "box", "the runtime does not wait");
	run->runtime = true;
	return 0;
}

bool run_waits(const struct run *run)
{
	struct pollfd on[] = {{.fd = run->program_fd, .events = POLLIN}, {.fd = run->out_fd, .events = POLLIN},
			      {.fd = run->err_fd, .events = POLLIN}};
	static const enum fact must_be_zero[] = {FACT_OOM_KILLS, FACT_MEMORY_HITS, FACT_PIDS_REFUSED};
	uint64_t value;
	if (poll(on, 3, 0) != 0)
		return false;
	for (size_t i = 0; i < sizeof must_be_zero / sizeof *must_be_zero; i++)
		if (run_read(run, must_be_zero[i], &value) < 0 || value > 0)
			return false;
	return true;
}

int run_prepare(struct run *run, struct failure *f)
{
	const struct request *r = run->request;
	if ((!run->runtime && pass_request(run, r, false, f) < 0) ||
	    (run->stdin_fd >= 0 && write_stdin(run->stdin_fd, r->stdin_data, run->box->attached && r->stdin_data.size, f) < 0))
		return -1;
	if (r->number[KEY_KEEP_WORK]) {
		int64_t bytes = work_bytes(run->box, f);
		if (bytes < 0)
			return -1;
		run->outcome.kept_bytes = (uint64_t)bytes;
	}
	return 0;
}

int run_start(struct run *run, struct failure *f)
{
	if (run->runtime) {
		leaf_reset_peak(run->leaf);
		read_baseline(run);
		run->exec_args->exec_ns = now_ns();
	}
	run->start_ns = now_ns();
	return signal_go(run, f);
}

/* ---- the end ---- */

void run_kill(struct run *run)
{
	uint64_t populated;
	if (run->box->attached && (run_read(run, FACT_POPULATED, &populated) < 0 || populated))
		leaf_kill(run->leaf); /* an empty leaf stays fit for the next run */
	else if (!run->box->attached)
		box_kill(run->box); /* this is the only run in its box */
	/* The program is in the pid namespace of the box, so this kill has an effect only if the kernel made no namespace (controls.c). */
	if (run->program_fd >= 0)
		syscall(__NR_pidfd_send_signal, run->program_fd, SIGKILL, NULL, 0);
}

void run_end(struct run *run, struct teardown *t)
{
	run_kill(run);
	t->reaped = reap_child(run->program_fd, &run->reaped) && t->reaped;
}

/*
 * Reads how many tasks the groups of the run count. In a sandbox, whose init lives on, the kernel counts a process for a moment after it has left
 * its group.
 */
static int wait_released(const struct run *run, uint64_t *tasks)
{
	enum { WAITS = 500, WAIT_USEC = 1000 };
	for (int waits = 0;; waits++) {
		if (run_read(run, FACT_PIDS_CURRENT, tasks) < 0)
			return -1;
		if (!*tasks || run->leaf->kind != LEAF_OF_HOLDER || waits == WAITS)
			return 0;
		usleep(WAIT_USEC);
	}
}

/* Notes what is left in the groups of the run, and removes those that no other run may use. */
static void release_leaf(const struct slot *s, struct run *run, struct teardown *t)
{
	const struct groups *g = run->box->groups;
	struct signal_counts unused;
	uint64_t value;
	if (run->outcome.processes_left) /* those run on, and are not left of the step */
		value = 0, t->populated = 0;
	else if (run_read(run, FACT_POPULATED, &value) == 0)
		t->populated = value != 0;
	if (!run->outcome.processes_left && wait_released(run, &t->pids_left) < 0)
		teardown_error(t, fact_name(FACT_PIDS_CURRENT), errno);
	if (t->pids_left) {
		int tasks = leaf_tasks(g, run->leaf, NULL, 0);
		t->zombies = (uint64_t)tasks < t->pids_left ? (int)(t->pids_left - (uint64_t)tasks) : 0;
	}
	bool waits = t->reaped && run->leaf->kind == LEAF_OF_RUN; /* a sandbox has files, and a pool of leaves */
	int64_t charged = waits ? leaf_wait_uncharged(g, run->leaf, s->work_shared) : 0;
	if (charged < 0)
		teardown_error(t, "memory after the end", errno);
	else if (charged > 0)
		teardown_leftover(t, "memory");
	if (s->launcher->signal_map >= 0)
		signals_take(s->launcher->signal_map, run->leaf->id, &unused);
	if (run->leaf->kind == LEAF_OF_RUN)
		leaf_release(g, run->leaf, teardown_leftover, t);
}

void run_destroy(const struct slot *s, struct run *run, struct teardown *t)
{
	if (run->lane) {
		release_leaf(s, run, t);
		run->lane->in_use = !t->reaped;
	}
	close_fd(&run->program_fd);
	close_fd(&run->go);
	close_fd(&run->ready);
	close_fd(&run->stdin_fd);
	empty_input(s, run);
	close_fd(&run->in_fd);
	close_fd(&run->out_fd);
	close_fd(&run->err_fd);
	run->built = false;
}

void remove_box_and_run(struct slot *s, struct box *b, struct run *run, struct teardown *t)
{
	*t = (struct teardown){.reaped = true, .populated = -1};
	if (run->built)
		run_end(run, t);
	if (b->built)
		box_destroy(s, b, t);
	if (run->built)
		run_destroy(s, run, t);
}
