/*
 * The snapshot of a program, which freeze.c writes and thaw.c restores: this structure, then pages of memory. README.md
 * explains both.
 */
#ifndef ASSAY_FROZEN_H
#define ASSAY_FROZEN_H

#include <stdint.h>

#define FROZEN_MAGIC 0x342d6e657a6f7266ull

enum {
	FROZEN_MAPS = 768, FROZEN_KERNEL_MAPPINGS = 8, FROZEN_SIGNALS = 64, FROZEN_THREADS = 24, FROZEN_FILES = 32, FROZEN_WATCHES = 32,
	FROZEN_TIMES = 128, FROZEN_FDS = 64, FROZEN_TEXT = 8192, VDSO_BYTES = 65536,
};

/* The descriptors of launcher/box/init.h. */
enum { GO_FD = 3, READY_FD = 4 };

enum frozen_kind {
	FROM_SNAPSHOT, /* pages of the snapshot, from offset */
	FROM_FILE,     /* pages of the file text[path] */
	ZEROES,
	STACK,         /* as large as its limit, because seccomp refuses MAP_GROWSDOWN; the last `filled` bytes are in the snapshot */
};

/* What the program, or its C library, has requested with madvise for a mapping. */
enum frozen_advice {
	WIPED_ON_FORK = 1,
	ABSENT_IN_CHILD = 2,
	NOT_DUMPED = 4,
	HUGE_PAGES = 8,
	SMALL_PAGES = 16,
	READ_AT_RANDOM = 32,
	READ_IN_SEQUENCE = 64,
};

struct frozen_map {
	uint64_t start, size, offset, filled;
	uint32_t kind, prot, path, advice;
};

enum frozen_file_kind {
	ORDINARY,      /* the file text[path], at the position value */
	EVENT_COUNTER, /* eventfd with this value */
	PIPE,          /* with its other end; holds the first `filled` bytes of content */
	POLL,          /* epoll; the descriptors that it watches are in frozen.watch */
};

struct frozen_file {
	uint32_t fd, flags, kind, path;
	uint32_t other_fd, other_flags, filled, unused;
	uint64_t value;
	char content[64];
};

struct frozen_watch {
	uint32_t poll_fd, fd, events, unused;
	uint64_t data;
};

/* How a program stores a time between its start and its freeze in its memory. */
enum frozen_clock { MONOTONIC_NS, MONOTONIC_NS_DOUBLE, REAL_US_DOUBLE };

struct frozen_time {
	uint64_t address, clock;
};

/* The action of a signal, as rt_sigaction takes it. */
struct frozen_action {
	uint64_t handler, flags, restorer, mask;
};

/* A thread at the end of a system call, or before one. Such a call overwrites rcx and r11, so they need not be restored. */
struct frozen_thread {
	uint64_t rax, rbx, rbp, rdx, rsi, rdi, r8, r9, r10, r12, r13, r14, r15, rsp, rip;
	uint64_t fs_base, tid_address, robust_list, robust_size, rseq, rseq_size, rseq_signature, signal_mask;
	uint64_t signal_stack[3]; /* stack_t; its size is 0 if there is none */
	char name[16];
	uint8_t fp[512] __attribute__((aligned(16)));
};

struct frozen {
	uint64_t magic;

	/* The machine: the program has chosen functions for this processor and calls those of this vDSO. */
	uint32_t processor[8];
	uint64_t vdso, vdso_size, vdso_offset;
	struct { uint64_t offset, size; } kernel_mapping[FROZEN_KERNEL_MAPPINGS]; /* vDSO and vvar, by their offset from the vDSO */
	uint32_t kernel_mappings;
	uint64_t random; /* the address of the 16 random bytes that each program gets from the kernel (AT_RANDOM) */

	/* The step for which it can be continued. Lists of strings begin at these offsets of text. */
	uint32_t args, arg, waiting_args, waiting_arg, envs, env;
	uint64_t stack_limit; /* the size of new threads' stacks depends on it */
	uint32_t standard[3]; /* file types of stdin, stdout and stderr: the program buffers them accordingly */
	uint32_t closed_on_exec[3]; /* whether the program has asked for FD_CLOEXEC of stdin, stdout and stderr */

	/* State that the kernel keeps for the process. */
	uint64_t has_action; /* bit 0 is signal 1 */
	struct frozen_action action[FROZEN_SIGNALS];
	uint32_t files, watches, times, threads, last, maps; /* thread[0] is the main thread, thread[last] has reached the point */
	struct frozen_file file[FROZEN_FILES];
	struct frozen_watch watch[FROZEN_WATCHES];
	int64_t monotonic_ns, real_ns; /* when it was frozen */
	struct frozen_time time[FROZEN_TIMES];
	struct frozen_thread thread[FROZEN_THREADS];

	uint32_t copied; /* whether written pages of the snapshot are copied at once, because most of them will be */
	struct frozen_map map[FROZEN_MAPS];
	char text[FROZEN_TEXT];
};

static inline void cpuid(uint32_t leaf, uint32_t *r)
{
	__asm__ volatile("cpuid" : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3]) : "a"(leaf), "c"(0));
}

/* Reads model and features. EBX of leaf 1 is left out, because it has the number of the current CPU. */
static inline void read_processor(uint32_t r[8])
{
	cpuid(1, r);
	r[1] = 0;
	cpuid(7, r + 4);
}

#endif
