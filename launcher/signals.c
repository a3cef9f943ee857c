/*
 * Counts signals by a small BPF program (signals.h). prepare.c and check.c load it, run/run.c starts the count for a run,
 * supervise/supervise.c takes the counts, and serve.c deletes those of dead slots.
 */
#define _GNU_SOURCE
#include "signals.h"

#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "bpf.h"

/* The descriptor of the tracepoint. It stays open for the life of the process, because closing it would detach the BPF program. */
static int attached = -1;

int signals_open(struct failure *f)
{
	int map = bpf_map(BPF_MAP_TYPE_HASH, sizeof(uint64_t), sizeof(struct signal_counts), 65536, BPF_F_NO_PREALLOC, f);
	if (map < 0)
		return -1;

	enum { FILE_SIZE, CPU_TIME, COUNT, OUT };
	const struct bpf_insn code[] = {
		/* ctx: u64 signal number, u64 address of its siginfo */
		GET(BPF_DW, R2, R1, 0),
		GET(BPF_DW, R3, R1, 8),
		IF(BPF_JEQ, R2, SIGXFSZ, FILE_SIZE),
		IF(BPF_JEQ, R2, SIGXCPU, CPU_TIME),
		GOTO(OUT),
		LABEL(FILE_SIZE), /* SEND_SIG_NOINFO is 0 */
		IF(BPF_JNE, R3, 0, OUT),
		SET(R7, offsetof(struct signal_counts, file_size)),
		GOTO(COUNT),
		LABEL(CPU_TIME), /* SEND_SIG_PRIV is 1 */
		IF(BPF_JNE, R3, 1, OUT),
		SET(R7, offsetof(struct signal_counts, cpu_time)),
		/* counts[current leaf] += 1 at that offset, if the leaf is watched */
		LABEL(COUNT),
		CALL(BPF_FUNC_get_current_cgroup_id),
		PUT(BPF_DW, FP, -8, R0),
		MAP(R1, map),
		COPY(R2, FP),
		ADD(R2, -8),
		CALL(BPF_FUNC_map_lookup_elem),
		IF(BPF_JEQ, R0, 0, OUT),
		OP(BPF_ALU64 | BPF_ADD | BPF_X, R0, R7, 0, 0),
		SET(R1, 1),
		ATOMIC_ADD(R0, 0, R1),
		LABEL(OUT),
		SET(R0, 0),
		RETURN,
	};
	const struct bpf_program program = {"signals", BPF_PROG_TYPE_RAW_TRACEPOINT, 0, code, sizeof code / sizeof *code, false};
	attached = bpf_trace(&program, "signal_generate", f);
	if (attached < 0) {
		close(map);
		return -1;
	}
	return map;
}

int signals_watch(int map, uint64_t leaf_id, uint64_t owner)
{
	struct signal_counts counts = {.owner = owner};
	return (int)bpf_element(BPF_MAP_UPDATE_ELEM, map, &leaf_id, &counts);
}

int signals_take(int map, uint64_t leaf_id, struct signal_counts *counts)
{
	if (bpf_element(BPF_MAP_LOOKUP_ELEM, map, &leaf_id, counts) < 0)
		return -1;
	return (int)bpf_element(BPF_MAP_DELETE_ELEM, map, &leaf_id, NULL);
}

void signals_drop_owner(int map, uint64_t owner)
{
	/* The search begins again after each deletion, because a deletion can change the order of a hash map. */
	for (;;) {
		uint64_t key = 0, next, *from = NULL;
		struct signal_counts counts;
		bool found = false;
		while (!found && bpf_element(BPF_MAP_GET_NEXT_KEY, map, from, &next) == 0) {
			key = next;
			from = &key;
			found = bpf_element(BPF_MAP_LOOKUP_ELEM, map, &key, &counts) == 0 && counts.owner == owner;
		}
		if (!found)
			return;
		bpf_element(BPF_MAP_DELETE_ELEM, map, &key, NULL);
	}
}
