/* Loads BPF programs (bpf.h) for signals.c, loopback.c and locks.c. */
#define _GNU_SOURCE
#include "bpf.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "seccomp.h"

enum { INSTRUCTIONS_MAX = 256, LABELS_MAX = 16 };

long bpf_call(int command, union bpf_attr *attr) { return keyed(bpf, command, attr, sizeof *attr); }

int bpf_map(enum bpf_map_type type, uint32_t key, uint32_t value, uint32_t entries, uint32_t flags, struct failure *f)
{
	union bpf_attr attr;
	memset(&attr, 0, sizeof attr);
	attr.map_type = type;
	attr.key_size = key;
	attr.value_size = value;
	attr.max_entries = entries;
	attr.map_flags = flags;
	int map = (int)bpf_call(BPF_MAP_CREATE, &attr);
	return map < 0 ? fail(f, "bpf", "map of type %d", (int)type) : map;
}

long bpf_element(int command, int map, const void *key, void *value)
{
	union bpf_attr attr;
	memset(&attr, 0, sizeof attr);
	attr.map_fd = (uint32_t)map;
	attr.key = (uint64_t)(uintptr_t)key;
	attr.value = (uint64_t)(uintptr_t)value;
	return bpf_call(command, &attr);
}

int bpf_info(int object, void *info, uint32_t size)
{
	union bpf_attr attr;
	memset(&attr, 0, sizeof attr);
	attr.info.bpf_fd = (uint32_t)object;
	attr.info.info = (uint64_t)(uintptr_t)info;
	attr.info.info_len = size;
	return (int)bpf_call(BPF_OBJ_GET_INFO_BY_FD, &attr);
}

uint64_t bpf_forget(int map, uint64_t owner, size_t owner_at, unsigned most, void *last, size_t size)
{
	enum { BATCH = 256, VALUE_BYTES = 64 };
	uint64_t key[BATCH], found = 0;
	char value[BATCH * VALUE_BYTES];
	uint32_t at = 0;
	unsigned deleted = 0;
	union bpf_attr attr;
	for (bool first = true, more = size <= VALUE_BYTES; more && deleted < most; first = false) {
		memset(&attr, 0, sizeof attr);
		attr.batch.in_batch = first ? 0 : (uint64_t)(uintptr_t)&at;
		attr.batch.out_batch = (uint64_t)(uintptr_t)&at;
		attr.batch.keys = (uint64_t)(uintptr_t)key;
		attr.batch.values = (uint64_t)(uintptr_t)value;
		attr.batch.count = BATCH;
		attr.batch.map_fd = (uint32_t)map;
		more = bpf_call(BPF_MAP_LOOKUP_BATCH, &attr) == 0;
		if (!more && errno != ENOENT) /* ENOENT: these are the last ones */
			break;
		for (unsigned i = 0; i < attr.batch.count && deleted < most; i++) {
			uint64_t its;
			memcpy(&its, value + i * size + owner_at, sizeof its);
			if (its != owner || bpf_element(BPF_MAP_DELETE_ELEM, map, &key[i], NULL) < 0)
				continue;
			memcpy(last, value + i * size, size);
			found = key[i];
			deleted++;
		}
	}
	return found;
}

static bool is_jump(const struct bpf_insn *op)
{
	uint8_t what = BPF_OP(op->code);
	return BPF_CLASS(op->code) == BPF_JMP && what != BPF_CALL && what != BPF_EXIT;
}

/* Copies the program without its labels, and computes the distances of its jumps. Returns how many instructions that are; 0: too many. */
static size_t assemble(const struct bpf_program *program, struct bpf_insn to[INSTRUCTIONS_MAX])
{
	size_t at[LABELS_MAX] = {0}, count = 0;
	for (size_t i = 0; i < program->count; i++) {
		const struct bpf_insn *op = &program->code[i];
		if (op->code == BPF_LABEL && op->off >= 0 && op->off < LABELS_MAX)
			at[op->off] = count;
		else if (count < INSTRUCTIONS_MAX)
			to[count++] = *op;
		else
			return 0;
	}
	for (size_t i = 0; i < count; i++)
		if (is_jump(&to[i]) && to[i].off >= 0 && to[i].off < LABELS_MAX)
			to[i].off = (int16_t)((int)at[to[i].off] - (int)i - 1);
	return count;
}

int bpf_load(const struct bpf_program *program, struct failure *f)
{
	static char log[16384];
	struct bpf_insn code[INSTRUCTIONS_MAX];
	union bpf_attr attr;
	size_t count = assemble(program, code);
	if (!count)
		return fail_with(f, E2BIG, "bpf", "%s", program->name);
	memset(&attr, 0, sizeof attr);
	attr.prog_type = program->type;
	attr.expected_attach_type = program->attach;
	attr.insns = (uint64_t)(uintptr_t)code;
	attr.insn_cnt = (uint32_t)count;
	attr.license = (uint64_t)(uintptr_t)(program->gpl ? "Dual MIT/GPL" : "assay");
	int loaded = (int)bpf_call(BPF_PROG_LOAD, &attr);
	if (loaded >= 0)
		return loaded;
	int err = errno;
	/* The kernel says why only if it is asked, and fails with ENOSPC if it has more to say than there is room for. */
	log[0] = 0;
	attr.log_buf = (uint64_t)(uintptr_t)log;
	attr.log_size = sizeof log;
	attr.log_level = 1;
	if ((loaded = (int)bpf_call(BPF_PROG_LOAD, &attr)) >= 0)
		return loaded;
	size_t length = strlen(log);
	return fail_with(f, err, "bpf", "%s: %.70s", program->name, length > 70 ? log + length - 70 : log);
}

int bpf_trace(const struct bpf_program *program, const char *tracepoint, struct failure *f)
{
	int loaded = bpf_load(program, f);
	if (loaded < 0)
		return -1;
	union bpf_attr attr;
	memset(&attr, 0, sizeof attr);
	attr.raw_tracepoint.name = (uint64_t)(uintptr_t)tracepoint;
	attr.raw_tracepoint.prog_fd = (uint32_t)loaded;
	int attached = (int)bpf_call(BPF_RAW_TRACEPOINT_OPEN, &attr), err = errno;
	close(loaded);
	return attached < 0 ? fail_with(f, err, "bpf", "tracepoint %s", tracepoint) : attached;
}
