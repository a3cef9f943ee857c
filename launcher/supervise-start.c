/* Turns a request into a running program. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "supervise-parts.h"

/* More threads than runtimes have. */
enum { TASKS_MAX = 128 };

#ifndef F_ADD_SEALS
#define F_ADD_SEALS 1033
#endif

static char *copy_string(struct exec_args *h, size_t *used, struct bytes text)
{
	size_t space = EXEC_ARGS_BYTES - offsetof(struct exec_args, strings);
	if (text.size + 1 > space - *used)
		return NULL;
	char *to = h->strings + *used;
	memcpy(to, text.data, text.size);
	to[text.size] = 0;
	*used += text.size + 1;
	return to;
}

static int fill_exec_args(struct exec_args *h, const struct request *r, bool runtime, struct failure *f)
{
	const struct bytes *arg = runtime ? r->park_arg : r->arg;
	const uint64_t *n = r->number;
	const struct { int resource; uint64_t soft, hard; } limits[] = {
		/* One second apart: SIGXCPU has an identifiable sender, the SIGKILL of the hard limit does not. */
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
	h->runtime = runtime;
	for (unsigned i = 0; i < (runtime ? r->park_args : r->args); i++)
		if (!(h->argv[i] = copy_string(h, &used, arg[i])))
			return fail_with(f, E2BIG, "request", "arguments");
	for (unsigned i = 0; i < r->envs; i++)
		if (!(h->envp[i] = copy_string(h, &used, r->env[i])))
			return fail_with(f, E2BIG, "request", "environment");
	return 0;
}

static int write_stdin(int fd, struct bytes data, struct failure *f)
{
	for (size_t done = 0; done < data.size;) {
		ssize_t n = pwrite(fd, data.data + done, data.size - done, (off_t)done);
		if (n <= 0)
			return fail(f, "stdin", "write");
		done += (size_t)n;
	}
	/* F_SEAL_SEAL, SHRINK, GROW, WRITE: the program reads exactly what was sent. */
	return fcntl(fd, F_ADD_SEALS, 1 | 2 | 4 | 8) < 0 ? fail(f, "stdin", "seal") : 0;
}

/* Sets the limits, then reads them back as evidence. The kernel may round down to whole pages. */
static int apply_limits(const struct slot *s, struct box *b, const struct request *r, struct failure *f)
{
	const struct groups *g = &s->launcher->groups;
	const uint64_t *n = r->number;
	uint64_t memory, pids;
	if (leaf_limit(g, b->leaf, n[KEY_MEMORY_BYTES], n[KEY_PROCESSES], f) < 0)
		return -1;
	bool read = leaf_read(g, b->leaf, FACT_MEMORY_LIMIT, &memory) == 0;
	bool same = read && memory <= n[KEY_MEMORY_BYTES] && memory + 65536 > n[KEY_MEMORY_BYTES];
	control_note(b, CONTROL_memory_limit, !read ? "cannot be read back" : same ? NULL : "reads back differently");
	read = leaf_read(g, b->leaf, FACT_PIDS_LIMIT, &pids) == 0;
	same = read && pids == n[KEY_PROCESSES];
	control_note(b, CONTROL_process_limit, !read ? "cannot be read back" : same ? NULL : "reads back differently");
	return 0;
}

/* Passes command and limits of the step, or of its runtime, to the parked program. */
static int pass_request(const struct slot *s, struct box *b, const struct request *r, bool runtime, struct failure *f)
{
	return fill_exec_args(b->lane->exec_args, r, runtime, f) < 0 ? -1 : apply_limits(s, b, r, f);
}

static int signal_go(struct box *b, struct failure *f)
{
	uint64_t one = 1;
	return write(b->go, &one, sizeof one) == sizeof one ? 0 : fail(f, "go", "write");
}

/* As each step, a runtime has one CPU; its step may get another one. */
int start_runtime(const struct slot *s, struct box *b, const struct request *r, struct failure *f)
{
	unsigned given;
	struct cpus *cpus = s->launcher->cpus;
	if (pass_request(s, b, r, true, f) < 0 || cpus_acquire(cpus, s->number, &b->program, 1, r->number[KEY_CPUS], &given, f) < 0)
		return -1;
	int done = signal_go(b, f) < 0 ? -1 : await_ready(s, b, b->program_fd, "runtime", f);
	cpus_release(cpus, s->number);
	if (done < 0)
		return -1;
	/* Again, because the first time was before its exec. */
	controls_read(s, b);
	if (!runtime_waits(s, b))
		return fail_with(f, ESRCH, "box", "the runtime does not wait");
	b->runtime = true;
	return 0;
}

bool runtime_waits(const struct slot *s, const struct box *b)
{
	struct pollfd on[] = {{.fd = b->program_fd, .events = POLLIN}, {.fd = b->out_fd, .events = POLLIN}, {.fd = b->err_fd, .events = POLLIN}};
	static const enum fact must_be_zero[] = {FACT_OOM_KILLS, FACT_MEMORY_HITS, FACT_PIDS_REFUSED};
	uint64_t value;
	if (poll(on, 3, 0) != 0)
		return false;
	for (size_t i = 0; i < sizeof must_be_zero / sizeof *must_be_zero; i++)
		if (leaf_read(&s->launcher->groups, b->leaf, must_be_zero[i], &value) < 0 || value > 0)
			return false;
	return true;
}

int bind_programs(struct watch *w, int programs, struct failure *f)
{
	const struct launcher *l = w->slot->launcher;
	pid_t task[TASKS_MAX];
	int tasks = 0;
	for (int i = 0; i < programs; i++)
		task[tasks++] = w[i].box->program;
	/* The threads of a runtime one by one: affinity belongs to a thread. It starts none while it waits. */
	if (w->box->runtime) {
		int threads = leaf_tasks(&l->groups, w->box->leaf, task, TASKS_MAX);
		tasks = threads < 1 ? 1 : threads; /* 0: it is not in its group, which its evidence shows */
	}
	if (tasks > TASKS_MAX)
		return fail_with(f, EINVAL, "cpus", "%d threads of a runtime", tasks);
	if (cpus_acquire(l->cpus, w->slot->number, task, tasks, w->request->number[KEY_CPUS], &w->cpus, f) < 0)
		return -1;
	for (int i = 1; i < programs; i++)
		w[i].cpus = w->cpus;
	return 0;
}

int prepare_program(struct watch *w, struct failure *f)
{
	struct box *b = w->box;
	if ((!b->runtime && pass_request(w->slot, b, w->request, false, f) < 0) ||
	    (b->stdin_fd >= 0 && write_stdin(b->stdin_fd, w->request->stdin_data, f) < 0))
		return -1;
	if (w->request->number[KEY_KEEP_WORK]) {
		int64_t kept = work_bytes(w->slot, f);
		if (kept < 0)
			return -1;
		w->o->kept_bytes = (uint64_t)kept;
	}
	return 0;
}

int start_program(struct watch *w, struct failure *f)
{
	const struct groups *g = &w->slot->launcher->groups;
	struct box *b = w->box;
	if (b->runtime) {
		leaf_reset_peak(b->leaf);
		read_baseline(g, b);
		b->lane->exec_args->exec_ns = now_ns();
	}
	w->start_ns = now_ns();
	return signal_go(b, f);
}
