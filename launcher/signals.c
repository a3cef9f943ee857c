/*
 * Counts signals by a small BPF program (signals.h). prepare.c and check.c load it, run/run.c starts the count for a run,
 * supervise/supervise.c takes the counts, and serve.c deletes those of dead slots.
 */
#define _GNU_SOURCE
#include "signals.h"

#include <errno.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "seccomp.h"

/* The descriptor of the tracepoint. It stays open for the life of the process, because closing it would detach the BPF program. */
static int attached = -1;

static long call_bpf(int command, union bpf_attr *attr) { return keyed(bpf, command, attr, sizeof *attr); }

#define OP(code_, dst, src, off_, imm_) \
	((struct bpf_insn){.code = (code_), .dst_reg = (dst), .src_reg = (src), .off = (off_), .imm = (imm_)})

int signals_open(struct failure *f)
{
	union bpf_attr attr;
	memset(&attr, 0, sizeof attr);
	attr.map_type = BPF_MAP_TYPE_HASH;
	attr.key_size = sizeof(uint64_t);
	attr.value_size = sizeof(struct signal_counts);
	attr.max_entries = 65536;
	attr.map_flags = BPF_F_NO_PREALLOC;
	int map = (int)call_bpf(BPF_MAP_CREATE, &attr);
	if (map < 0)
		return fail(f, "bpf", "map");

	enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, FP };
	const struct bpf_insn code[] = {
		/* ctx: u64 signal number, u64 address of its siginfo */
		OP(BPF_LDX | BPF_MEM | BPF_DW, R2, R1, 0, 0),
		OP(BPF_LDX | BPF_MEM | BPF_DW, R3, R1, 8, 0),
		OP(BPF_JMP | BPF_JEQ | BPF_K, R2, 0, 2, SIGXFSZ),
		OP(BPF_JMP | BPF_JEQ | BPF_K, R2, 0, 4, SIGXCPU),
		OP(BPF_JMP | BPF_JA, 0, 0, 16, 0),
		/* SEND_SIG_NOINFO is 0: file size */
		OP(BPF_JMP | BPF_JNE | BPF_K, R3, 0, 15, 0),
		OP(BPF_ALU64 | BPF_MOV | BPF_K, R7, 0, 0, offsetof(struct signal_counts, file_size)),
		OP(BPF_JMP | BPF_JA, 0, 0, 2, 0),
		/* SEND_SIG_PRIV is 1: CPU time */
		OP(BPF_JMP | BPF_JNE | BPF_K, R3, 0, 12, 1),
		OP(BPF_ALU64 | BPF_MOV | BPF_K, R7, 0, 0, offsetof(struct signal_counts, cpu_time)),
		/* counts[current leaf] += 1 at that offset, if the leaf is watched */
		OP(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_current_cgroup_id),
		OP(BPF_STX | BPF_MEM | BPF_DW, FP, R0, -8, 0),
		OP(BPF_LD | BPF_IMM | BPF_DW, R1, BPF_PSEUDO_MAP_FD, 0, map),
		OP(0, 0, 0, 0, 0),
		OP(BPF_ALU64 | BPF_MOV | BPF_X, R2, FP, 0, 0),
		OP(BPF_ALU64 | BPF_ADD | BPF_K, R2, 0, 0, -8),
		OP(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem),
		OP(BPF_JMP | BPF_JEQ | BPF_K, R0, 0, 3, 0),
		OP(BPF_ALU64 | BPF_ADD | BPF_X, R0, R7, 0, 0),
		OP(BPF_ALU64 | BPF_MOV | BPF_K, R1, 0, 0, 1),
		OP(BPF_STX | BPF_ATOMIC | BPF_DW, R0, R1, 0, BPF_ADD),
		OP(BPF_ALU64 | BPF_MOV | BPF_K, R0, 0, 0, 0),
		OP(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	static char log[4096];
	memset(&attr, 0, sizeof attr);
	attr.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	attr.insns = (uint64_t)(uintptr_t)code;
	attr.insn_cnt = sizeof code / sizeof *code;
	attr.license = (uint64_t)(uintptr_t) "assay";
	attr.log_buf = (uint64_t)(uintptr_t)log;
	attr.log_size = sizeof log;
	attr.log_level = 1;
	int program = (int)call_bpf(BPF_PROG_LOAD, &attr);
	if (program < 0) {
		close(map);
		return fail(f, "bpf", "program %.60s", log);
	}
	memset(&attr, 0, sizeof attr);
	attr.raw_tracepoint.name = (uint64_t)(uintptr_t) "signal_generate";
	attr.raw_tracepoint.prog_fd = (uint32_t)program;
	attached = (int)call_bpf(BPF_RAW_TRACEPOINT_OPEN, &attr);
	int err = errno;
	close(program);
	if (attached < 0) {
		close(map);
		return fail_with(f, err, "bpf", "tracepoint signal_generate");
	}
	return map;
}

static long map_element(int command, int map, const uint64_t *key, void *value)
{
	union bpf_attr attr;
	memset(&attr, 0, sizeof attr);
	attr.map_fd = (uint32_t)map;
	attr.key = (uint64_t)(uintptr_t)key;
	attr.value = (uint64_t)(uintptr_t)value;
	return call_bpf(command, &attr);
}

int signals_watch(int map, uint64_t leaf_id, uint64_t owner)
{
	struct signal_counts counts = {.owner = owner};
	return (int)map_element(BPF_MAP_UPDATE_ELEM, map, &leaf_id, &counts);
}

int signals_take(int map, uint64_t leaf_id, struct signal_counts *counts)
{
	if (map_element(BPF_MAP_LOOKUP_ELEM, map, &leaf_id, counts) < 0)
		return -1;
	return (int)map_element(BPF_MAP_DELETE_ELEM, map, &leaf_id, NULL);
}

void signals_drop_owner(int map, uint64_t owner)
{
	/* The search begins again after each deletion, because a deletion can change the order of a hash map. */
	for (;;) {
		uint64_t key = 0, next, *from = NULL;
		struct signal_counts counts;
		bool found = false;
		while (!found && map_element(BPF_MAP_GET_NEXT_KEY, map, from, &next) == 0) {
			key = next;
			from = &key;
			found = map_element(BPF_MAP_LOOKUP_ELEM, map, &key, &counts) == 0 && counts.owner == owner;
		}
		if (!found)
			return;
		map_element(BPF_MAP_DELETE_ELEM, map, &key, NULL);
	}
}
