/* Writes the ENDED frame of a step, from the outcome and the controls of its run. slot/slot.c calls this after the run. */
#define _GNU_SOURCE
#include <stdio.h>

#include "run/run.h"

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

void outcome_report(const struct run *run, struct queue *out)
{
	const struct outcome *o = &run->outcome;
	static const char *const reason[] = {"none", "wall", "cpu", "oom", "client"};
	enum { ONE, OPT };
	static const struct { enum fact fact; enum key key; bool optional; } facts[] = {
#define FRAME(...)
#define KEY(...)
#define FACT(number, name, count, text) {FACT_##name, KEY_##name, count == OPT},
#include "protocol.def"
#undef FRAME
#undef KEY
#undef FACT
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
	if (o->paired) {
		queue_int(out, KEY_WAITED_NS, o->waited_ns);
		queue_int(out, KEY_ENDED_FIRST, o->ended_first);
		queue_int(out, KEY_EXCEEDED_FIRST, o->exceeded_first);
	}
	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
		if (!facts[i].optional || o->known[facts[i].fact])
			queue_int(out, facts[i].key, o->known[facts[i].fact] ? o->fact[facts[i].fact] : 0);
	queue_int(out, KEY_SURVIVORS, o->survivors);
	if (run->leaf && run->leaf->kind == LEAF_OF_HOLDER)
		queue_int(out, KEY_PROCESSES_LEFT, o->processes_left);
	queue_int(out, KEY_KEPT_BYTES, o->kept_bytes);
	queue_int(out, KEY_KERNEL_MEMORY, o->kernel_bytes);
	queue_int(out, KEY_WALKABLE, o->walkable_bytes);
	queue_int(out, KEY_PARKED_RUNTIME, run->runtime);
	queue_int(out, KEY_END_USEC, o->end_ns / 1000);
	queue_int(out, KEY_FSIZE_SIGNALS, o->file_size_signals);
	queue_int(out, KEY_CPU_RLIMIT_SIGNALS, o->cpu_time_signals);
	queue_int(out, KEY_STDOUT_SEEN, o->output_bytes[0]);
	queue_int(out, KEY_STDERR_SEEN, o->output_bytes[1]);
	if (o->last_output_ns)
		queue_int(out, KEY_OUTPUT_AGE_USEC,
			  o->ended_ns > o->last_output_ns ? (o->ended_ns - o->last_output_ns) / 1000 : 0);
	queue_int(out, KEY_READ_ERROR, o->read_error);
	report_rlimits(o, out);
	samples_report(&o->samples, out);
	if (o->sent_signal)
		queue_int(out, KEY_SENT_SIGNAL, o->sent_signal);
	for (int c = 0; c < CONTROL_COUNT; c++) {
		char text[160];
		if (!control_belongs(run, c))
			continue;
		snprintf(text, sizeof text, "%s: %s", control_name_of(run, c), run->control[c] ? run->control[c] : "was not read");
		if (control_applied(run, c))
			queue_text(out, KEY_CONTROL, control_name_of(run, c));
		else
			queue_text(out, KEY_CONTROL_MISSING, text);
	}
	for (unsigned i = 0; i < o->errors; i++)
		queue_text(out, KEY_EVIDENCE_ERROR, o->error[i]);
	queue_frame_end(out);
}
