/*
 * Supervises one program, or two that talk to each other, with one thread and one poll: for each program its pidfd, its pipes and the v1
 * OOM event, then the connection of the client, and a timeout for the nearest deadline.
 *
 * slot/slot.c calls supervise() for each step. The sections of this file are in the order of a run: the programs are bound to CPUs,
 * output and live input are forwarded while they run, and their end and counters are read; the event loop with its deadlines is at the
 * end. limits.c decides when a limit is exceeded, kill.c ends a run, and pair.c passes the bytes of two programs on.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "descriptors.h"
#include "seccomp.h"
#include "signals.h"
#include "supervise/watch.h"

void evidence_error(struct outcome *o, const char *what, int err)
{
	if (o->errors < 8)
		snprintf(o->error[o->errors++], sizeof o->error[0], "%s: %s", what, strerror(err));
}

/* ---- the start ---- */

enum { TASKS_MAX = 128 /* no runtime has as many threads */ };

/* Binds the programs, and the slot, to as many CPUs as the first request wants. */
static int bind_programs(struct watch *w, int programs, struct failure *f)
{
	const struct launcher *l = w->slot->launcher;
	pid_t task[TASKS_MAX];
	int tasks = 0;
	for (int i = 0; i < programs; i++)
		task[tasks++] = w[i].run->program;
	/* Each thread of a runtime is bound, because affinity belongs to a thread. A runtime starts none while it waits. */
	if (w->run->runtime) {
		int threads = leaf_tasks(w->run->box->groups, w->run->leaf, task, TASKS_MAX);
		tasks = threads < 1 ? 1 : threads; /* 0: the runtime is not in its group, which the controls show */
	}
	if (tasks > TASKS_MAX)
		return fail_with(f, EINVAL, "cpus", "%d threads of a runtime", tasks);
	enum bound_kind kind = w->run->box->attached ? BOUND_EXECUTION : BOUND_BOX;
	if (cpus_acquire(l->cpus, w->slot->number, kind, task, tasks, w->request->number[KEY_CPUS], &w->cpus, f) < 0)
		return -1;
	for (int i = 1; i < programs; i++)
		w[i].cpus = w->cpus;
	return 0;
}

/* From bind_programs() on, the slot works on the CPUs of the programs. */
static int start_programs(struct watch *w, int programs, struct failure *f)
{
	for (int i = 0; i < programs; i++)
		if (run_prepare(w[i].run, f) < 0)
			return -1;
	if (bind_programs(w, programs, f) < 0)
		return -1;
	for (int i = 0; i < programs; i++) {
		if (run_start(w[i].run, f) < 0)
			return -1;
		set_limits(&w[i]);
	}
	return 0;
}

/* ---- output ---- */

enum {
	READS_PER_FRAME = 256,
	READ_PAUSE_NS = 2000000,
	PACED_BYTES = 128 * 1024, /* how many bytes of a paced program may wait for the client */
	PACED_READ_BYTES = 16 * 1024, /* a read of a paced program with so many bytes is not a small one: a client waits for all of them */
	PACED_AT_ONCE = PIPE_BYTES, PACED_READS = 2, /* all that the pipe of a paced program contains is one frame */
	QUICK_READS = 2, /* an answer of a program, and one that announces it */
};

static void count_output(struct watch *w, int stream, size_t size)
{
	w->o->output_bytes[stream] += size;
	w->o->last_output_ns = now_ns();
}

/* Whether the program waits for the client to take its standard output. */
static bool is_paced(const struct watch *w, int stream)
{
	return stream == 0 && w->request->number[KEY_PACED];
}

/* Nothing waits for a client that has left, and the end of a run is not paced: what is beyond these limits is counted and discarded. */
static uint64_t output_limit(const struct watch *w, int stream)
{
	if (w->client->stays)
		return 0;
	if (!is_paced(w, stream))
		return w->request->number[stream == 0 ? KEY_STDOUT_BYTES : KEY_STDERR_BYTES];
	return w->client->connection < 0 ? 0 : w->paced_limit;
}

size_t queue_output(struct watch *w, int stream, const uint8_t *chunk, size_t size)
{
	uint64_t limit = output_limit(w, stream);
	uint64_t forwarded = w->o->output_bytes[stream] < limit ? limit - w->o->output_bytes[stream] : 0;
	if (forwarded > size)
		forwarded = size;
	if (forwarded) {
		queue_frame(w->run->out, stream == 0 ? FRAME_STDOUT : FRAME_STDERR);
		queue_raw(w->run->out, chunk, (size_t)forwarded);
		queue_frame_end(w->run->out);
	}
	count_output(w, stream, size);
	return (size_t)forwarded;
}

/* Whether the stream has reached its limit: the rest of it is counted and discarded. */
static bool at_output_limit(const struct watch *w, int stream)
{
	return w->o->output_bytes[stream] >= output_limit(w, stream);
}

bool exceeds_output_limit(const struct watch *w, int stream)
{
	return w->o->output_bytes[stream] > output_limit(w, stream);
}

/*
 * Moves the pages of the pipe to /dev/null, so that output past the limit is not copied. The filter key (seccomp.h) is passed as the
 * length, because the call has no argument left for it; a pipe never contains so much. Returns what read() would return.
 */
static ssize_t discard_output(const struct watch *w, int fd)
{
	char chunk[4096];
	if (w->run->terminal)
		return read(fd, chunk, sizeof chunk);
	return syscall(__NR_splice, fd, NULL, w->slot->dev_null, NULL, seccomp_key, SPLICE_F_NONBLOCK);
}

/*
 * Reads one pipe and forwards the data up to the limit. Returns false when the pipe is at its end, or closed. Several reads share a
 * frame, because a frame for each small read would keep the service busy. In packet mode, for example, which the filter refuses to
 * programs, each read would return one write.
 */
static bool forward_output(struct watch *w, int *fd, int stream, int rounds)
{
	static struct area area;
	const size_t most = is_paced(w, stream) ? PACED_AT_ONCE : READ_AT_ONCE;
	uint8_t *chunk = area_of(&area, most);
	size_t discarded = 0; /* bytes past the limit. A writer can refill the pipe meanwhile, so one call discards only what a pipe contains */
	while (*fd >= 0 && rounds-- > 0 && discarded < PIPE_BYTES) {
		size_t used = 0;
		ssize_t n = 0;
		for (int pieces = 0; pieces < READS_PER_FRAME && used < most; pieces++) {
			bool past = used == 0 && at_output_limit(w, stream);
			n = past ? discard_output(w, *fd) : read(*fd, chunk + used, most - used);
			if (n <= 0)
				break;
			if (!past) {
				used += (size_t)n;
				continue;
			}
			count_output(w, stream, (size_t)n);
			discarded += (size_t)n;
			if (discarded >= PIPE_BYTES)
				break;
		}
		int err = errno;
		if (used)
			queue_output(w, stream, chunk, used);
		if (n > 0 || (n < 0 && err == EINTR))
			continue;
		if (n < 0 && err == EAGAIN)
			return true;
		if (n < 0 && !(w->run->terminal && err == EIO)) /* EIO: no process has the terminal any more */
			w->o->read_error = true;
		close(*fd);
		*fd = -1;
	}
	return *fd >= 0;
}

/*
 * Bounds how fast a terminal is read. The kernel hands out at most 4 KiB at a time, so to read a terminal takes the slot several times as much CPU
 * time as the program needs to write, and all that is read passes through the service. A program that writes faster waits.
 */
static void pace_terminal(struct watch *w, uint64_t size)
{
	enum { BYTES_PER_SECOND = 4 << 20, BURST_NS = 250000000 };
	uint64_t now = now_ns();
	if (w->terminal_due + BURST_NS < now)
		w->terminal_due = now - BURST_NS;
	w->terminal_due += size * 1000000000u / BYTES_PER_SECOND;
	w->deadline[DEADLINE_STDOUT] = w->terminal_due > now + READ_PAUSE_NS ? w->terminal_due : now + READ_PAUSE_NS;
}

/*
 * The slot does not read after each write of the program. When it did, it used 1.7 s of CPU time for a program that wrote byte by byte
 * for 0.7 s of CPU time. If much was read, and the limit is not reached, there is no pause before the next read; the limit bounds how
 * often. There is none either for what a program answers to input, of which the client decides how much there is. After a read that has found
 * nothing, poll() waits for more.
 */
void read_stream(struct watch *w, int stream)
{
	int *fd = stream == 0 ? &w->run->out_fd : &w->run->err_fd;
	uint64_t before = w->o->output_bytes[stream];
	bool open = forward_output(w, fd, stream, is_paced(w, stream) ? PACED_READS : READS_PER_ROUND);
	uint64_t size = w->o->output_bytes[stream] - before;
	if (!open || !size)
		return;
	if (w->run->terminal)
		pace_terminal(w, size);
	else if (!at_output_limit(w, stream) && size >= (is_paced(w, stream) ? PACED_READ_BYTES : READ_AT_ONCE))
		return;
	else if (!at_output_limit(w, stream) && w->quick_reads)
		w->quick_reads--;
	else
		w->deadline[DEADLINE_STDOUT + stream] = now_ns() + READ_PAUSE_NS;
}

/*
 * Reads what both streams of a run in a sandbox contain at its end, and no more. Processes that stay, and other executions, which can have got the
 * descriptors, may write on, so the end of a stream is not awaited, and a missing end is no error. A pipe contains at once what was written
 * before. What was written to a terminal comes through a thread of the kernel, a moment later.
 */
static void read_rest(struct watch *w)
{
	enum { TERMINAL_BYTES = 128 * 1024, TERMINAL_WAIT_MS = 1000 };
	uint64_t deadline = now_ns() + TERMINAL_WAIT_MS * 1000000ull;
	for (int stream = 0; stream < 2; stream++) {
		int *fd = stream == 0 ? &w->run->out_fd : &w->run->err_fd;
		if (*fd < 0)
			continue;
		int size = w->run->terminal ? TERMINAL_BYTES : fcntl(*fd, F_GETPIPE_SZ);
		const uint64_t *read = &w->o->output_bytes[stream], end = *read + (size > 0 ? (uint64_t)size : 0);
		if (is_paced(w, stream))
			w->paced_limit = end;
		for (uint64_t before = *read; *read < end && forward_output(w, fd, stream, 1); before = *read) {
			struct pollfd more = {.fd = *fd, .events = POLLIN};
			if (*read == before && (!w->run->terminal || w->o->processes_left || now_ns() >= deadline))
				break;
			if (*read == before)
				poll(&more, 1, 10);
		}
	}
}

/*
 * Reads the rest of both pipes. Every writer is dead, so both pipes come to their end, although later if a descriptor of a pipe is in a
 * cycle of sockets. The deadline is for the case that this assumption is wrong.
 */
static void drain_pipes(struct watch *w)
{
	uint64_t deadline = now_ns() + END_TIMEOUT_MS * 1000000ull;
	int *fd[] = {&w->run->out_fd, &w->run->err_fd};
	for (int stream = 0; stream < 2; stream++)
		while (forward_output(w, fd[stream], stream, READS_PER_ROUND)) {
			struct pollfd more = {.fd = *fd[stream], .events = POLLIN};
			if (now_ns() >= deadline) {
				evidence_error(w->o, stream == 0 ? "stdout" : "stderr", ETIMEDOUT);
				w->o->read_error = true;
				break;
			}
			collect_socket_cycles();
			poll(&more, 1, 10);
		}
}

/*
 * ---- live input ----
 *
 * For a step with LIVE_STDIN, the client sends INPUT and SIGNAL frames while the program runs. The slot has one frame at a time. It
 * reads the next one when the program's pipe has taken the former, so that a client that sends faster than the program reads has to
 * wait.
 */

enum { RESIZE_BYTES = 4 };
enum { EXEC_CHECK_NS = 500000 /* how often the slot looks whether the exec has come, while a signal waits for it */ };

static size_t body_size(const struct input *in)
{
	const uint8_t *h = in->header;
	return (size_t)h[0] | (size_t)h[1] << 8 | (size_t)h[2] << 16 | (size_t)h[3] << 24;
}

size_t input_missing(struct input *in, uint8_t **to)
{
	if (in->received < FRAME_HEADER) {
		*to = in->header + in->received;
		return FRAME_HEADER - in->received;
	}
	size_t done = in->received - FRAME_HEADER;
	*to = in->body + done;
	return body_size(in) - done;
}

bool input_valid(const struct input *in)
{
	if (in->received < FRAME_HEADER)
		return true;
	if (in->header[4] == FRAME_RESIZE)
		return body_size(in) == RESIZE_BYTES;
	return in->header[4] == FRAME_INPUT ? body_size(in) <= INPUT_MAX : in->header[4] == FRAME_SIGNAL && body_size(in) == 1;
}

bool input_complete(const struct input *in)
{
	return in->received >= FRAME_HEADER && in->received - FRAME_HEADER == body_size(in);
}

/* Whether a part of the last INPUT has not been written to the pipe of the program. */
static bool input_is_pending(const struct input *in) { return in->begin < in->end; }

/*
 * Tells the client that the frame was taken. The client has few of them under way at a time, so that its connection never fills with input
 * that the program does not read, and it can always end the step.
 */
static void input_taken(struct watch *w)
{
	w->quick_reads = QUICK_READS;
	if (!w->run->box->attached)
		return;
	queue_frame(w->client->out, FRAME_TAKEN);
	queue_frame_end(w->client->out);
}

/* A terminal has no end of input; the character for it ends what reads a line. */
static void end_input(struct watch *w)
{
	static const char end = 4;
	if (w->run->terminal && w->run->in_fd >= 0 && write(w->run->in_fd, &end, 1) < 0 && errno != EAGAIN)
		close_fd(&w->run->in_fd);
	if (!w->run->terminal)
		close_fd(&w->run->in_fd);
	input_taken(w);
}

/* Writes the rest of the last INPUT to the program, or discards it if the program has closed its input. */
static void input_write(struct watch *w)
{
	struct input *in = w->client->input;
	int *to = &w->run->in_fd;
	while (input_is_pending(in) && *to >= 0) {
		ssize_t n = write(*to, in->body + in->begin, in->end - in->begin);
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			close_fd(to);
		else
			in->begin += (size_t)n;
	}
	in->begin = in->end = 0;
	input_taken(w);
}

/*
 * Sends the signal of a SIGNAL, once the program has executed. Before the exec, the signal would end the parked process, which would be
 * a failure of the platform, after which the service runs the step again. So until then, the slot looks again and again.
 */
static void input_send_signal(struct watch *w)
{
	struct input *in = w->client->input;
	if (!w->run->exec_args->exec_ns) {
		w->deadline[DEADLINE_SIGNAL] = now_ns() + EXEC_CHECK_NS;
		return;
	}
	if (syscall(__NR_pidfd_send_signal, w->run->program_fd, in->signal, NULL, 0) == 0)
		w->o->sent_signal = in->signal;
	in->signal = 0;
	input_taken(w);
}

static int handle_signal(struct watch *w, unsigned number)
{
	/* SIGXFSZ and SIGXCPU, which the kernel sends for a limit, are missing: without BPF, they would count as evidence. */
	static const unsigned signals = 1u << SIGHUP | 1u << SIGINT | 1u << SIGQUIT | 1u << SIGKILL | 1u << SIGUSR1 | 1u << SIGUSR2 | 1u << SIGTERM;
	if (number > SIGNAL_MAX || !(signals >> number & 1))
		return -1;
	w->client->input->signal = number;
	input_send_signal(w);
	return 0;
}

static int handle_frame(struct watch *w)
{
	struct input *in = w->client->input;
	size_t size = body_size(in);
	in->received = 0;
	if (in->header[4] == FRAME_SIGNAL)
		return handle_signal(w, in->body[0]);
	if (in->header[4] == FRAME_RESIZE) {
		const uint8_t *b = in->body;
		run_resize(w->run, (struct terminal_size){(uint16_t)(b[0] | b[1] << 8), (uint16_t)(b[2] | b[3] << 8)});
		input_taken(w);
	} else if (size == 0) {
		end_input(w);
	} else {
		in->end = size;
		input_write(w);
	}
	return 0;
}

/* Reads frames without blocking, and does what they ask for. Returns -1 if the client has left, or has sent an invalid or another frame. */
static int input_read(struct watch *w)
{
	struct input *in = w->client->input;
	for (int rounds = READS_PER_ROUND; rounds > 0 && !input_is_pending(in) && !in->signal; rounds--) {
		uint8_t *to;
		size_t wants = input_missing(in, &to);
		ssize_t n = recv(w->client->connection, to, wants, MSG_DONTWAIT);
		if (n <= 0)
			return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
		in->received += (size_t)n;
		if (!input_valid(in) || (input_complete(in) && handle_frame(w) < 0))
			return -1;
	}
	return 0;
}

/* ---- the end ---- */

/*
 * Whether the parked program of a sandbox was killed before its exec because its group, or the sandbox, is out of memory. The program counts as
 * executed: the limits of memory decide about it.
 */
static bool parked_without_memory(const struct watch *w)
{
	const struct exec_args *exec_args = w->run->exec_args;
	uint64_t kills = 0;
	return w->run->box->attached && !exec_args->exec_ns && !exec_args->failure.step[0] &&
	       run_read(w->run, FACT_OOM_KILLS, &kills) == 0 && kills > 0;
}

/* Reads how far the process came before the exec. The process can write to this shared memory, so no pointer there is followed. */
static void read_exec_args(struct watch *w)
{
	const struct exec_args *exec_args = w->run->exec_args;
	const struct bytes *name = &w->request->arg[0];
	/* Other programs of a sandbox can signal the parked program, and change its limits. */
	const char *whose = w->run->box->attached ? "sandbox" : "box";
	bool without_memory = parked_without_memory(w), same = true;
	/* The executed file may have been compiled from the submission, so a failed exec must be distinguishable from other failures. */
	if (!strncmp(exec_args->failure.step, "exec", sizeof exec_args->failure.step))
		fail_with(&w->o->failure, exec_args->failure.err, "exec", "%.*s", name->size < 80 ? (int)name->size : 80,
			  (const char *)name->data);
	else if (!strncmp(exec_args->failure.step, "chdir", sizeof exec_args->failure.step))
		fail_with(&w->o->failure, exec_args->failure.err, "cwd", "%.*s", w->request->cwd.size < 80 ? (int)w->request->cwd.size : 80,
			  w->request->cwd.size ? (const char *)w->request->cwd.data : "");
	else if (exec_args->failure.step[0])
		fail_with(&w->o->failure, exec_args->failure.err, whose, "%.31s %.31s", exec_args->failure.step, exec_args->failure.object);
	else if (!exec_args->exec_ns && !without_memory)
		fail_with(&w->o->failure, ESRCH, whose, "the parked program was lost");
	for (int r = 0; r < RLIM_NLIMITS && !without_memory; r++)
		same = same && (!exec_args->set[r] || !memcmp(&exec_args->read[r], &exec_args->rlimit[r], sizeof exec_args->read[r]));
	control_note(w->run, CONTROL_resource_limits, same ? NULL : "read back differently");
	uint64_t from = exec_args->exec_ns ? exec_args->exec_ns : w->run->start_ns;
	resume_limits(w, w->o->ended_ns);
	from += w->paused_ns;
	w->o->wall_ns = w->o->ended_ns > from ? w->o->ended_ns - from : 0;
	memcpy(w->o->rlimit, without_memory ? exec_args->rlimit : exec_args->read, sizeof w->o->rlimit);
}

/* Reaps the program, and records how it ended, and how far it came before the exec. */
static void reap_program(struct watch *w)
{
	siginfo_t info = {0};
	/* The pidfd has reported the death of the program. If that were wrong, WNOHANG would keep this from waiting. */
	if (waitid((idtype_t)3 /* P_PIDFD */, (id_t)w->run->program_fd, &info, WEXITED | WNOHANG) < 0 || info.si_pid == 0) {
		fail_with(&w->o->failure, info.si_pid == 0 ? EAGAIN : errno, "wait", "program");
		return;
	}
	w->run->reaped = true;
	w->o->exited = info.si_code == CLD_EXITED;
	w->o->code = info.si_status;
	read_exec_args(w);
}

int read_process(int proc, pid_t process, const char *file, char *text, size_t size)
{
	char name[48];
	snprintf(name, sizeof name, "%d/%s", process, file);
	int fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
	int err = errno;
	if (fd >= 0)
		close(fd);
	errno = err;
	text[n > 0 ? n : 0] = 0;
	return n > 0 ? 0 : -1;
}

int task_flags(int proc, pid_t task, unsigned *flags)
{
	char text[512];
	if (read_process(proc, task, "stat", text, sizeof text) < 0)
		return -1;
	const char *after = strrchr(text, ')');
	/* The fields are state, parent, group, session, terminal, group of the terminal, and flags. */
	if (after && sscanf(after + 1, " %*c %*d %*d %*d %*d %*d %u", flags) == 1)
		return 0;
	errno = EBADMSG;
	return -1;
}

/*
 * Whether the init of the box was killed from outside. The kernel kills a whole pid namespace when its init dies. Nothing in the box
 * can end the init: if the init is exiting when the program ends, it was killed from outside, and the program did not end by itself.
 * The pidfd of the init does not show this, because an init is not dead before all processes of its namespace are reaped.
 */
static bool init_is_exiting(const struct watch *w)
{
	enum { PF_EXITING = 4 };
	unsigned flags = PF_EXITING; /* assume that it has exited if its state cannot be read */
	if (task_flags(w->slot->launcher->proc, w->run->box->init, &flags) < 0 && errno == EBADMSG)
		evidence_error(w->o, "state of the init", EBADMSG);
	return flags & PF_EXITING;
}

/* Whether the OOM killer has killed the whole run. It does so only on v2 (memory.oom.group), where there is no oom_event. */
static bool killed_as_group(struct watch *w)
{
	uint64_t kills = 0;
	return w->run->leaf->oom_event < 0 &&
	       run_read(w->run, FACT_OOM_KILLS, &kills) == 0 && kills > 0;
}

/*
 * Kills the processes that outlived the main program, because the run ends with that program. After a kill by the OOM killer, they are
 * dying already and do not count as survivors. Returns false if there are none.
 */
static bool kill_survivors(struct watch *w)
{
	bool dying = killed_as_group(w);
	if (!dying && run_read(w->run, FACT_PIDS_CURRENT, &w->o->survivors) < 0)
		evidence_error(w->o, fact_name(FACT_PIDS_CURRENT), errno);
	if (!dying && w->o->survivors == 0)
		return false;
	kill_processes(w);
	return true;
}

/* No process of the run is left, or it is not known when the last one ends. */
static void end_run(struct watch *w)
{
	struct outcome *o = w->o;
	end_helpers(w); /* it is part of the end: a helper can be the last to leave an address space, and then has to free it */
	if (w->killed_ns && !w->unkillable)
		o->end_ns = now_ns() - (o->reason != KILL_NONE ? w->killed_ns : o->ended_ns);
	w->state = ENDED;
	clear_limits(w);
	w->deadline[DEADLINE_SIGNAL] = w->deadline[DEADLINE_HELP] = w->deadline[DEADLINE_PROGRESS] = NEVER;
	if (w->pair)
		relay_rest(w);
}

/* Ends the run of a program whose other processes stay in the sandbox. */
static void leave_processes(struct watch *w)
{
	if (run_read(w->run, FACT_PIDS_CURRENT, &w->o->processes_left) < 0)
		evidence_error(w->o, fact_name(FACT_PIDS_CURRENT), errno);
	if (leaf_freeze(w->run->leaf, false) < 0) /* a check may have stopped them */
		evidence_error(w->o, "cgroup.freeze", errno);
	end_run(w);
}

/* The program has ended. If the run was not killed, and has no other processes, it is over. */
static void end_program(struct watch *w)
{
	struct outcome *o = w->o;
	o->ended_ns = now_ns();
	if (w->pair)
		record_end(w);
	clear_limits(w);
	w->deadline[DEADLINE_FIRST_READ] = w->deadline[DEADLINE_SIGNAL] = NEVER;
	reap_program(w);
	w->state = ENDING;
	if (o->reason != KILL_NONE)
		return;
	bool clean = o->exited && o->code == 0;
	w->init_lost = !clean && init_is_exiting(w);
	if (w->run->leaves && !o->failure.step)
		leave_processes(w);
	else if (!kill_survivors(w))
		end_run(w);
}

void give_up(struct watch *w)
{
	if (w->state == ENDING) {
		evidence_error(w->o, "end of the pid namespace", ETIMEDOUT);
	} else {
		/* The slot reports a failure and ends, instead of waiting for ever. The launcher removes what is left. */
		fail_with(&w->o->failure, ETIMEDOUT, "wait", "program did not end after SIGKILL");
		w->unkillable = true;
		if (w->pair)
			record_end(w);
	}
	end_run(w);
}

/*
 * A peak of memory that the leaf had before, and that cannot begin anew, is that of an earlier execution unless it is higher now. Then the most that was
 * seen of this run counts, or its limit if it has reached that.
 */
static uint64_t real_peak(const struct run *run, uint64_t peak)
{
	const struct samples *s = &run->outcome.samples;
	uint64_t most = 0, now;
	if (!run->earlier_peak || peak + run->base[FACT_MEMORY_PEAK] > run->earlier_peak)
		return peak;
	if (run->outcome.fact[FACT_MEMORY_HITS])
		return run->outcome.fact[FACT_MEMORY_LIMIT];
	for (unsigned i = 0; i < s->count; i++)
		if (s->list[i].memory > most)
			most = s->list[i].memory;
	return run_read(run, FACT_MEMORY_NOW, &now) == 0 && now > most ? now : most;
}

/* Reads the final counters. */
static void read_counters(struct watch *w)
{
	struct outcome *o = w->o;
	const struct launcher *l = w->slot->launcher;
	for (int i = 0; i < FACTS_OF_A_RUN; i++) {
		o->known[i] = run_read(w->run, i, &o->fact[i]) == 0;
		if (!o->known[i] && errno != ENODATA && !(i == FACT_PIDS_PEAK && errno == EBADF))
			evidence_error(o, fact_name(i), errno);
	}
	/* A peak that the leaf had before may be that of an earlier execution. */
	if (w->run->earlier_pids_peak > 1 && o->fact[FACT_PIDS_PEAK] <= w->run->earlier_pids_peak)
		o->known[FACT_PIDS_PEAK] = false;
	o->fact[FACT_MEMORY_PEAK] = real_peak(w->run, o->fact[FACT_MEMORY_PEAK]);
	if (w->run->base_errno)
		evidence_error(o, "counters before the step", w->run->base_errno);
	if (w->memory_limit)
		o->fact[FACT_MEMORY_LIMIT] = w->memory_limit;
	/* v1 has no file that counts OOM events, but reports each one by the eventfd. */
	if (w->run->leaf->oom_event >= 0)
		o->fact[FACT_OOM_EVENTS] = count_oom_events(w);
	/* The eventfd also reports that the sandbox as a whole is out of memory. That concerns the run only if one of its processes was killed. */
	if (w->run->leaf->oom_event >= 0 && w->run->box->attached && !o->fact[FACT_OOM_KILLS])
		o->fact[FACT_OOM_EVENTS] = 0;
	o->fact[FACT_CPU_USEC] -= w->run->base_cpu_usec;
	o->fact[FACT_PRESSURE_FULL_USEC] -= w->run->base_full_usec;
	o->fact[FACT_PRESSURE_SOME_USEC] -= w->run->base_some_usec;

	struct signal_counts counts = {0};
	if (l->signal_map >= 0) {
		if (signals_take(l->signal_map, w->run->leaf->id, &counts) < 0)
			evidence_error(o, "signal counts", errno);
		o->file_size_signals = counts.file_size;
		o->cpu_time_signals = counts.cpu_time;
	}
}

/* Reads the rest of the output, and the counters. */
static void collect_results(struct watch *w)
{
	struct outcome *o = w->o;
	if (w->unkillable)
		return;
	if (w->run->box->attached)
		read_rest(w);
	else
		drain_pipes(w);
	read_counters(w);
	if (w->init_lost && !(o->known[FACT_OOM_KILLS] && o->fact[FACT_OOM_KILLS]) && !o->failure.step)
		fail_with(&o->failure, ESRCH, "box", "the init was lost before the program ended");
}

/* ---- deadlines ---- */

/*
 * Whether all processes of a run in a sandbox have ended. The leaf shows that: the init of the sandbox lives on. After the kill of a
 * program, the program itself must have been reaped as well.
 */
static bool is_emptied(const struct watch *w)
{
	uint64_t populated;
	return w->run->box->attached && w->state == ENDING && run_read(w->run, FACT_POPULATED, &populated) == 0 && !populated;
}

enum {
	FIRST_READ_NS = 2000000,  /* how long only the end is awaited: each wake-up that is saved shortens a run of 0.5 ms by 20 to 40 us */
	FLUSH_DELAY_NS = 5000000, /* output and end of a short program then reach the service in one piece */
	PAIR_FLUSH_DELAY_NS = 20000000, /* a pair can exchange many short messages */
};

/* Returns when the slot must wake up, even without an event. This is the only place that computes it. */
static uint64_t next_deadline(const struct watch *w, int programs)
{
	uint64_t next = NEVER;
	for (int i = 0; i < programs; i++)
		for (int d = w[i].paused_at ? DEADLINES_OF_LIMITS : 0; d < DEADLINES; d++)
			if (w[i].deadline[d] < next)
				next = w[i].deadline[d];
	return next;
}

static struct timespec time_until(uint64_t deadline)
{
	uint64_t now = now_ns(), wait = deadline > now ? deadline - now : 0;
	return (struct timespec){.tv_sec = (time_t)(wait / 1000000000u), .tv_nsec = (long)(wait % 1000000000u)};
}

static bool output_waits(const struct watch *w);

static void read_stdout(struct watch *w, bool readable)
{
	if (w->pair)
		relay_output(w, readable);
	else if (readable && !output_waits(w))
		read_stream(w, 0);
}

static void act(struct watch *w, enum deadline which, uint64_t now)
{
	switch (which) {
	case DEADLINE_OOM: check_oom(w, now); break;
	case DEADLINE_WALL: check_wall(w, now); break;
	case DEADLINE_CPU: check_cpu(w, now); break;
	case DEADLINE_KERNEL_MEMORY: check_kernel_memory(w, now); break;
	case DEADLINE_LOCKS: check_locks(w, now); break;
	case DEADLINE_SAMPLE: take_sample(w, now); break;
	case DEADLINE_HELP:
		if (is_emptied(w))
			end_run(w);
		else
			help_killed_processes(w);
		break;
	case DEADLINE_PROGRESS: check_progress(w, now); break;
	case DEADLINE_FIRST_READ: break; /* poll_program() now includes the output */
	case DEADLINE_STDOUT: read_stdout(w, true); break;
	case DEADLINE_STDERR: read_stream(w, 1); break;
	case DEADLINE_SIGNAL: input_send_signal(w); break;
	case DEADLINE_FLUSH: w->client->sending = true; break;
	case DEADLINE_CLOSE: relay_output(w, false); break;
	case DEADLINE_TURN: check_turn(w, now); break;
	case DEADLINES: break;
	}
}

static void act_on_deadlines(struct watch *w)
{
	uint64_t now = now_ns();
	/* An OOM kill stays the reason if another limit is exceeded before the next look at the counter of OOM kills. */
	if (w->deadline[DEADLINE_OOM] != NEVER && (now >= w->deadline[DEADLINE_WALL] || now >= w->deadline[DEADLINE_CPU]))
		w->deadline[DEADLINE_OOM] = now;
	for (int d = w->paused_at ? DEADLINES_OF_LIMITS : 0; d < DEADLINES; d++) {
		bool early = d == DEADLINE_SAMPLE && w->deadline[d] != NEVER && samples_due(&w->o->samples, now);
		if (!early && now < w->deadline[d])
			continue;
		w->deadline[d] = NEVER; /* act() sets it again if it is to come again */
		act(w, (enum deadline)d, now);
	}
}

/* ---- the event loop ---- */

/* Indices of the descriptors of one program in the list for poll. */
enum { ON_END, ON_OUT, ON_ERR, ON_OOM, ON_IN, EVENTS };

/* Whether a paced program must wait before more of its output is read. */
static bool output_waits(const struct watch *w)
{
	const struct queue *out = w->client->out;
	return is_paced(w, 0) && w->client->connection >= 0 && out->size - out->sent > PACED_BYTES;
}

static void poll_program(const struct watch *w, struct pollfd *on)
{
	const struct run *run = w->run;
	const struct input *in = w->client->input;
	bool running = w->state == RUNNING;
	/* Most programs write little and end at once, so at first only the end is awaited. */
	bool reads = w->deadline[DEADLINE_FIRST_READ] == NEVER;
	bool out = reads && w->deadline[DEADLINE_STDOUT] == NEVER && !(w->pair && relay_is_pending(w)) && !output_waits(w);
	bool err = reads && w->deadline[DEADLINE_STDERR] == NEVER;
	bool input = w->pair ? relayed_input_is_pending(w) : running && in && input_is_pending(in);
	bool attached = run->box->attached; /* then cgroup.events of the leaf tells of the end of the last process */
	int last = w->state != ENDING ? -1 : attached ? run->leaf->fact[FACT_POPULATED] : run->box->init_fd;
	on[ON_END] = (struct pollfd){.fd = running ? run->program_fd : last, .events = running || !attached ? POLLIN : POLLPRI};
	on[ON_OUT] = (struct pollfd){.fd = out ? run->out_fd : -1, .events = POLLIN};
	on[ON_ERR] = (struct pollfd){.fd = err ? run->err_fd : -1, .events = POLLIN};
	on[ON_OOM] = (struct pollfd){.fd = running ? run->leaf->oom_event : -1, .events = POLLIN};
	on[ON_IN] = (struct pollfd){.fd = input ? run->in_fd : -1, .events = POLLOUT};
}

static struct pollfd poll_client(const struct watch *w)
{
	const struct client *c = w->client;
	/* The connection is read only when the program has taken what came before. */
	bool reads = c->input && w->state == RUNNING && !input_is_pending(c->input) && !c->input->signal;
	return (struct pollfd){.fd = c->connection, .events = (short)(POLLRDHUP | (reads ? POLLIN : 0) | (c->sending ? POLLOUT : 0))};
}

/* What has ended is the program, or the init of its box, which ends after all other processes there. */
static void serve_end(struct watch *w)
{
	if (w->state == RUNNING)
		end_program(w);
	else if (!w->run->box->attached || is_emptied(w))
		end_run(w);
}

static void serve_program(struct watch *w, const struct pollfd *on)
{
	read_stdout(w, on[ON_OUT].revents);
	if (on[ON_ERR].revents)
		read_stream(w, 1);
	if (on[ON_IN].revents && !w->pair)
		input_write(w);
	if (on[ON_OOM].revents) {
		count_oom_events(w);
		w->oom_checks = 0;
		if (w->state == RUNNING && w->o->reason == KILL_NONE)
			w->deadline[DEADLINE_OOM] = 0;
	}
}

void client_left(struct client *c)
{
	c->left = true;
	c->connection = -1; /* otherwise poll would return at once until the programs have ended */
}

/* The client has closed its connection. A step can go on without it, which the holder of the sandbox decides. */
static void lose_client(struct watch *w)
{
	struct client *c = w->client;
	if (!c->on_left || w->state != RUNNING) {
		client_left(c);
		return;
	}
	c->connection = -1;
	c->on_left(c->context);
	c->on_left = NULL;
}

static void serve_client(struct watch *w, int programs, short events)
{
	struct client *c = w->client;
	bool disconnected = events & (POLLRDHUP | POLLHUP | POLLERR);
	/* After the end of the program, which this poll may have found as well, nothing that the client sends concerns it. */
	if ((events & POLLIN) && !disconnected && w->state == RUNNING && input_read(w) < 0) {
		shutdown(c->connection, SHUT_RDWR);
		disconnected = true;
	}
	/* A client that closes only its sending side ends the step. */
	if (disconnected && (events & POLLHUP))
		lose_client(w);
	else if (disconnected)
		client_left(c);
	for (int i = 0; i < programs && (*c->stopping || c->left); i++)
		kill_for(&w[i], KILL_CLIENT);
}

/* Reads a message of the holder of the sandbox. */
static void serve_holder(struct watch *w)
{
	struct client *c = w->client;
	int told = c->on_holder(c->context, c->holder);
	if (told == HOLDER_PAUSED && w->state == RUNNING)
		pause_limits(w, now_ns());
	else if (told == HOLDER_RESUMED)
		resume_limits(w, now_ns());
	else if (told == HOLDER_STAY && !c->left)
		c->stays = true;
	else if (told == HOLDER_ENDS)
		client_left(c);
	if (c->stays)
		queue_free(c->out);
	if (told >= 0)
		return;
	c->holder = -1;
	kill_for(w, KILL_CLIENT);
}

/* Sends queued output if it is time, or sets that time. The output of a program with live input does not wait. */
static void send_output(struct watch *w)
{
	struct client *c = w->client;
	bool waits = c->connection >= 0 && !queue_empty(c->out);
	const bool at_once = c->input || c->holder >= 0;
	if (waits && (c->sending || at_once) && queue_flush(c->out, c->connection) < 0)
		lose_client(w);
	waits = c->connection >= 0 && !queue_empty(c->out);
	c->sending = waits && (c->sending || at_once);
	if (!waits)
		w->deadline[DEADLINE_FLUSH] = NEVER;
	else if (!c->sending && w->deadline[DEADLINE_FLUSH] == NEVER)
		w->deadline[DEADLINE_FLUSH] = now_ns() + (w->pair ? PAIR_FLUSH_DELAY_NS : FLUSH_DELAY_NS);
}

static bool all_ended(const struct watch *w, int programs)
{
	return w->state == ENDED && w[programs - 1].state == ENDED;
}

static void watch_programs(struct watch *w, int programs)
{
	struct pollfd on[PROGRAMS_MAX * EVENTS + 2];
	const int events = programs * EVENTS, holder = events + 1;
	sigset_t none;
	sigemptyset(&none);
	for (;;) {
		for (int i = 0; i < programs; i++)
			poll_program(&w[i], on + i * EVENTS);
		on[events] = poll_client(w);
		on[holder] = (struct pollfd){.fd = w->client->holder, .events = POLLIN};
		struct timespec wait = time_until(next_deadline(w, programs));
		int n = ppoll(on, (nfds_t)events + 2, &wait, &none);
		if (n < 0 && errno != EINTR)
			evidence_error(w->o, "poll", errno);
		for (int i = 0; n <= 0 && i <= holder; i++)
			on[i].revents = 0;
		/* The interactor comes first: if both have ended since the last poll, it decided without knowing of the program's end. */
		for (int i = programs - 1; i >= 0; i--)
			if (on[i * EVENTS + ON_END].revents)
				serve_end(&w[i]);
		if (all_ended(w, programs))
			return;
		for (int i = programs - 1; i >= 0; i--)
			serve_program(&w[i], on + i * EVENTS);
		serve_client(w, programs, on[events].revents);
		if (on[holder].revents)
			serve_holder(w);
		for (int i = programs - 1; i >= 0; i--)
			act_on_deadlines(&w[i]);
		if (w->pair)
			check_sides(w->pair);
		if (all_ended(w, programs))
			return;
		send_output(w);
	}
}

/*
 * The parked program is a copy of the slot, so each page that the slot writes to in a run must be copied first. Hence what most runs do
 * not need is not in the watch, which is small.
 */
static void begin_watch(struct watch *w, struct slot *s, struct run *run, struct client *client, struct kill_helpers *helpers)
{
	w->slot = s;
	w->run = run;
	w->request = run->request;
	w->o = &run->outcome;
	w->client = client;
	w->kill = helpers;
	w->paced_limit = UINT64_MAX;
	w->cpu_budget_usec = run->request->number[KEY_CPU_MS] * 1000;
	for (int d = 0; d < DEADLINES; d++)
		w->deadline[d] = NEVER;
}

void supervise(struct slot *s, struct run *run[], int runs, struct client *client)
{
	static struct kill_helpers helpers[PROGRAMS_MAX];
	struct watch w[PROGRAMS_MAX] = {0};
	struct pair pair;
	begin_watch(&w[0], s, run[0], client, &helpers[0]);
	if (runs == PROGRAMS_MAX) {
		begin_watch(&w[1], s, run[1], client, &helpers[1]);
		pair_programs(&pair, w);
	}
	if (start_programs(w, runs, &w->o->failure) == 0) {
		if (w->pair)
			begin_turns(w->pair);
		else
			w->deadline[DEADLINE_FIRST_READ] = w->run->start_ns + FIRST_READ_NS;
		if (client->on_start)
			client->on_start(client->context);
		watch_programs(w, runs);
		for (int i = 0; i < runs; i++)
			collect_results(&w[i]);
		if (w->pair)
			report_pair(w->pair);
	} else {
		for (int i = 1; i < runs; i++)
			w[i].o->failure = w->o->failure;
	}
	cpus_release(s->launcher->cpus, s->number);
}
