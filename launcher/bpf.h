#ifndef ASSAY_BPF_H
#define ASSAY_BPF_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "failure.h"

/*
 * Programs of the kernel's BPF machine, written as arrays of its instructions, so that the launcher needs no compiler for them. A jump names a
 * LABEL of the same array, and bpf_load() computes the distance.
 */
enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, FP };
enum { BPF_LABEL = 0xff /* no instruction has this code */ };

#define OP(code_, dst, src, off_, imm_) \
	((struct bpf_insn){.code = (code_), .dst_reg = (dst), .src_reg = (src), .off = (int16_t)(off_), .imm = (int32_t)(imm_)})
#define LABEL(number) OP(BPF_LABEL, 0, 0, number, 0)
#define COPY(dst, src) OP(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
#define SET(dst, value) OP(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, value)
#define ADD(dst, value) OP(BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, value)
#define AND(dst, value) OP(BPF_ALU64 | BPF_AND | BPF_K, dst, 0, 0, value)
#define GET(size, dst, src, off) OP(BPF_LDX | BPF_MEM | (size), dst, src, off, 0)
#define PUT(size, dst, off, src) OP(BPF_STX | BPF_MEM | (size), dst, src, off, 0)
#define MAP(dst, fd) OP(BPF_LD | BPF_IMM | BPF_DW, dst, BPF_PSEUDO_MAP_FD, 0, fd), OP(0, 0, 0, 0, 0)
#define CALL(function) OP(BPF_JMP | BPF_CALL, 0, 0, 0, function)
#define RETURN OP(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
/* Adds the register to the number in memory, and, if FETCH, leaves the previous number in the register. */
#define ATOMIC_ADD(dst, off, src) OP(BPF_STX | BPF_ATOMIC | BPF_DW, dst, src, off, BPF_ADD)
#define FETCH_ADD(dst, off, src) OP(BPF_STX | BPF_ATOMIC | BPF_DW, dst, src, off, BPF_ADD | BPF_FETCH)
#define IF(condition, dst, value, label) OP(BPF_JMP | (condition) | BPF_K, dst, 0, label, value)
#define IF_REGISTER(condition, dst, src, label) OP(BPF_JMP | (condition) | BPF_X, dst, src, label, 0)
#define GOTO(label) OP(BPF_JMP | BPF_JA, 0, 0, label, 0)

long bpf_call(int command, union bpf_attr *attr);
/* Makes a map. Returns its descriptor, or -1 with the failure. */
int bpf_map(enum bpf_map_type type, uint32_t key, uint32_t value, uint32_t entries, uint32_t flags, struct failure *f);
long bpf_element(int command, int map, const void *key, void *value);
/* Reads what the kernel says about a program, a map or a link: a struct bpf_prog_info, bpf_map_info or bpf_link_info, which is 0 before. Returns -1 with errno. */
int bpf_info(int object, void *info, uint32_t size);
/*
 * Deletes at most so many entries of an owner from a hash map with keys of 64 bits, whose values have `size` bytes and their owner at the offset
 * `owner_at`. Returns the key of the last one, and copies its value to `last`; 0: there was none. Entries that others add or delete meanwhile change
 * nothing for the rest.
 */
uint64_t bpf_forget(int map, uint64_t owner, size_t owner_at, unsigned most, void *last, size_t size);

struct bpf_program {
	const char *name; /* for failures */
	enum bpf_prog_type type;
	enum bpf_attach_type attach;
	const struct bpf_insn *code;
	size_t count;
	bool gpl; /* it calls functions that the kernel offers only to programs under a licence compatible with its own, so it is under the MIT licence as well */
};
/* Loads a program of at most 256 instructions. Returns its descriptor, or -1 with the failure. */
int bpf_load(const struct bpf_program *program, struct failure *f);
/* Loads a program and attaches it to a tracepoint, until the returned descriptor is closed. Returns -1 with the failure. */
int bpf_trace(const struct bpf_program *program, const char *tracepoint, struct failure *f);

/* A member of a struct of the running kernel, which is looked for in the kernel's type information. */
struct btf_wanted {
	const char *name, *member;
	uint32_t found; /* its offset in bytes; UINT32_MAX: there is none */
};
/* Looks for all of them. Returns -1 with the failure if the kernel has no type information that can be read. */
int btf_find(struct btf_wanted *wanted, size_t count, struct failure *f);

#endif
