/* The end of a run: how the program ended, the end of all other processes, the counters. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "signals.h"
#include "supervise-parts.h"

/* Reads the progress of the program before its exec. The program shares this memory: no pointer in it is followed. */
static void read_exec_args(struct watch *w)
{
	const struct exec_args *exec_args = w->box->lane->exec_args;
	const struct bytes *name = &w->request->arg[0];
	/* The executed file may be an artifact of the program itself, so this failure must be distinguishable. */
	if (!strncmp(exec_args->fail_step, "exec", sizeof exec_args->fail_step))
		fail_with(&w->o->failure, exec_args->fail_errno, "exec", "%.*s", name->size < 80 ? (int)name->size : 80,
			  (const char *)name->data);
	else if (exec_args->fail_step[0])
		fail_with(&w->o->failure, exec_args->fail_errno, "box", "%.31s %.31s", exec_args->fail_step, exec_args->fail_object);
	else if (!exec_args->exec_ns)
		fail_with(&w->o->failure, ESRCH, "box", "the parked program was lost");
	bool same = true;
	for (int r = 0; r < RLIM_NLIMITS; r++)
		same = same && (!exec_args->set[r] || !memcmp(&exec_args->read[r], &exec_args->rlimit[r], sizeof exec_args->read[r]));
	control_note(w->box, CONTROL_resource_limits, same ? NULL : "read back differently");
	uint64_t from = exec_args->exec_ns ? exec_args->exec_ns : w->start_ns;
	w->o->wall_ns = w->o->ended_ns > from ? w->o->ended_ns - from : 0;
	memcpy(w->o->rlimit, exec_args->read, sizeof w->o->rlimit);
}

void reap_program(struct watch *w)
{
	siginfo_t info = {0};
	if (w->unkillable) {
		fail_with(&w->o->failure, ETIMEDOUT, "wait", "program did not end after SIGKILL");
		return;
	}
	/* Its pidfd reported its death. If that were wrong, WNOHANG avoids a wait. */
	if (waitid((idtype_t)3 /* P_PIDFD */, (id_t)w->box->program_fd, &info, WEXITED | WNOHANG) < 0 || info.si_pid == 0) {
		fail_with(&w->o->failure, info.si_pid == 0 ? EAGAIN : errno, "wait", "program");
		return;
	}
	w->box->reaped_program = true;
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
	/* State, parent, group, session, terminal, its group, flags. */
	if (after && sscanf(after + 1, " %*c %*d %*d %*d %*d %*d %u", flags) == 1)
		return 0;
	errno = EBADMSG;
	return -1;
}

/*
 * The kernel kills a whole pid namespace when its init dies. Nothing inside can end the init: if the init is exiting
 * when the program ends, it was killed from outside and the end is not the program's. Its pidfd does not show this,
 * because an init is not dead before all processes of its namespace are reaped.
 */
bool init_is_exiting(const struct watch *w)
{
	enum { PF_EXITING = 4 };
	unsigned flags = PF_EXITING; /* assume that it has exited if its state cannot be read */
	if (task_flags(w->slot->launcher->proc, w->box->init, &flags) < 0 && errno == EBADMSG)
		evidence_error(w->o, "state of the init", EBADMSG);
	return flags & PF_EXITING;
}

/* On v2, which has no event to wait for, the OOM killer ends the whole group (memory.oom.group). */
static bool killed_as_group(struct watch *w)
{
	uint64_t kills = 0;
	return w->box->leaf->oom_event < 0 &&
	       leaf_read(&w->slot->launcher->groups, w->box->leaf, FACT_OOM_KILLS, &kills) == 0 && kills > 0;
}

/*
 * Processes that outlived the main program are killed: the run ends with it. After a kill of the whole box, by the slot
 * or the kernel, the others are dying already and do not count as survivors.
 */
void kill_survivors(struct watch *w)
{
	const struct groups *g = &w->slot->launcher->groups;
	if (w->o->reason == KILL_NONE) {
		bool dying = killed_as_group(w);
		if (!dying && leaf_read(g, w->box->leaf, FACT_PIDS_CURRENT, &w->o->survivors) < 0)
			evidence_error(w->o, fact_name(FACT_PIDS_CURRENT), errno);
		if (!dying && w->o->survivors == 0)
			return;
		kill_box(w);
	}
	struct pollfd init = {.fd = w->box->init_fd, .events = POLLIN};
	uint64_t deadline = now_ns() + END_TIMEOUT_MS * 1000000ull;
	while (poll(&init, 1, HURRY_MS) <= 0) {
		if (now_ns() >= deadline) {
			evidence_error(w->o, "end of the pid namespace", ETIMEDOUT);
			break;
		}
		hurry_end(w);
	}
	end_helpers(w); /* one of them can be the last to leave an address space, and then removes it */
	w->o->end_ns = now_ns() - (w->killed_ns ? w->killed_ns : w->o->ended_ns);
}

void read_counters(struct watch *w)
{
	struct outcome *o = w->o;
	const struct launcher *l = w->slot->launcher;
	for (int i = 0; i < FACTS_OF_A_RUN; i++) {
		o->known[i] = leaf_read(&l->groups, w->box->leaf, i, &o->fact[i]) == 0;
		if (!o->known[i] && errno != ENODATA && !(i == FACT_PIDS_PEAK && errno == EBADF))
			evidence_error(o, fact_name(i), errno);
	}
	if (w->box->base_errno)
		evidence_error(o, "counters before the step", w->box->base_errno);
	if (w->memory_limit)
		o->fact[FACT_MEMORY_LIMIT] = w->memory_limit;
	/* v1 has no file that counts these events, but reports each one. */
	if (w->box->leaf->oom_event >= 0)
		o->fact[FACT_OOM_EVENTS] = count_oom_events(w);
	o->fact[FACT_CPU_USEC] -= w->box->base_cpu_usec;
	o->fact[FACT_PRESSURE_FULL] -= w->box->base_full_usec;
	o->fact[FACT_PRESSURE_SOME] -= w->box->base_some_usec;

	struct signal_counts counts = {0};
	if (l->signal_map >= 0) {
		if (signals_take(l->signal_map, w->box->leaf->id, &counts) < 0)
			evidence_error(o, "signal counts", errno);
		o->file_size_signals = counts.file_size;
		o->cpu_time_signals = counts.cpu_time;
	}
}
