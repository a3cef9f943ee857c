/* Turns a request into a running program. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "supervise-parts.h"

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

static int fill_exec_args(struct exec_args *h, const struct request *r, struct failure *f)
{
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
	for (unsigned i = 0; i < r->args; i++)
		if (!(h->argv[i] = copy_string(h, &used, r->arg[i])))
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
static int apply_limits(struct watch *w, struct failure *f)
{
	const struct groups *g = &w->slot->launcher->groups;
	const uint64_t *n = w->request->number;
	uint64_t memory, pids;
	if (leaf_limit(g, &w->box->leaf, n[KEY_MEMORY_BYTES], n[KEY_PROCESSES], f) < 0)
		return -1;
	bool read = leaf_read(g, &w->box->leaf, FACT_MEMORY_LIMIT, &memory) == 0;
	bool same = read && memory <= n[KEY_MEMORY_BYTES] && memory + 65536 > n[KEY_MEMORY_BYTES];
	control_note(w->box, CONTROL_memory_limit, !read ? "cannot be read back" : same ? NULL : "reads back differently");
	read = leaf_read(g, &w->box->leaf, FACT_PIDS_LIMIT, &pids) == 0;
	same = read && pids == n[KEY_PROCESSES];
	control_note(w->box, CONTROL_process_limit, !read ? "cannot be read back" : same ? NULL : "reads back differently");
	return 0;
}

int start_program(struct watch *w, struct failure *f)
{
	uint64_t one = 1;
	if (fill_exec_args(w->box->lane->exec_args, w->request, f) < 0 || write_stdin(w->box->stdin_fd, w->request->stdin_data, f) < 0 ||
	    apply_limits(w, f) < 0)
		return -1;
	if (w->request->number[KEY_KEEP_WORK]) {
		int64_t kept = work_bytes(f);
		if (kept < 0)
			return -1;
		w->o->kept_bytes = (uint64_t)kept;
	}
	if (cpus_acquire(w->slot->launcher->cpus, w->slot->number, w->box->program, w->request->number[KEY_CPUS], &w->cpus, f) < 0)
		return -1;
	w->start_ns = now_ns();
	if (write(w->box->go, &one, sizeof one) != sizeof one)
		return fail(f, "go", "write");
	return 0;
}
