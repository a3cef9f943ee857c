/*
 * The filter: refuse foreign entries, then walk the deny list (seccomp.def), then
 * look at the arguments of socket, socketpair, setsockopt, clone, ioctl, prctl, setrlimit and prlimit64. Everything
 * else is allowed. The kernel remembers which calls are always allowed, so at run
 * time the filter costs nothing for them.
 */
#if !defined(__x86_64__) && !defined(__aarch64__)
#error "no syscall table for this architecture"
#elif __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the filter reads the lower half of an argument first"
#endif
#define _GNU_SOURCE
#include "seccomp.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What differs between the two that have a table. */
#if defined(__x86_64__)
#define OF(x86_64, aarch64) (x86_64)
#else
#define OF(x86_64, aarch64) (aarch64)
#endif
#define NATIVE OF(AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64)

enum { NAMESPACE_FLAGS = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
	CLONE_NEWPID | CLONE_NEWNET | 0x00000080 /* CLONE_NEWTIME */ };

/*
 * The program is the slot's child, so a child that it makes with CLONE_PARENT is
 * the slot's as well: nobody waits for it, its zombie holds up the end of the pid
 * namespace, and a teardown that fails after ten seconds costs us the slot.
 */
enum { CLONE_REFUSED = NAMESPACE_FLAGS | CLONE_PARENT };

struct denied {
	long number;
	int err;
};

/*
 * Calls that our C library's headers may not name: younger than they are, or gone since. The kernel that we run on may
 * have them all the same. Numbers from 424 on are the same on every architecture.
 */
enum { NONE = -1 }; /* this architecture never had it */
#ifndef __NR_quotactl_fd
#define __NR_quotactl_fd 443
#endif
#ifndef __NR_memfd_secret
#define __NR_memfd_secret 447
#endif
#ifndef __NR_set_mempolicy_home_node
#define __NR_set_mempolicy_home_node 450
#endif
#ifndef __NR_cachestat
#define __NR_cachestat 451
#endif
#ifndef __NR_statmount
#define __NR_statmount 457
#endif
#ifndef __NR_listmount
#define __NR_listmount 458
#endif
#ifndef __NR_lsm_set_self_attr
#define __NR_lsm_set_self_attr 460
#endif
#ifndef __NR_open_tree_attr
#define __NR_open_tree_attr 467
#endif
#ifndef __NR_nfsservctl
#define __NR_nfsservctl OF(180, 42)
#endif
#ifndef __NR_lookup_dcookie
#define __NR_lookup_dcookie OF(212, 18)
#endif
#ifndef PR_SCHED_CORE
#define PR_SCHED_CORE 62
#endif
#ifndef SO_ATTACH_REUSEPORT_CBPF
#define SO_ATTACH_REUSEPORT_CBPF 51
#endif
#ifndef SO_ATTACH_REUSEPORT_EBPF
#define SO_ATTACH_REUSEPORT_EBPF 52
#endif
#if defined(__aarch64__)
#define __NR_iopl NONE
#define __NR_ioperm NONE
#define __NR_modify_ldt NONE
#define __NR_ustat NONE
#define __NR_sysfs NONE
#define __NR_uselib NONE
#endif
/* Of 32-bit x86 alone, whose entry is refused. */
#define __NR_vm86 NONE
#define __NR_vm86old NONE

static const struct denied denied[] = {
#define CALL(name, err, reason) {__NR_##name, err},
#include "seccomp.def"
#undef CALL
};

/* Each number below this one was looked at: 469 is file_setattr, of Linux 6.17. The same on both architectures. */
enum { CALLS_KNOWN = 470 };

enum { ROWS_IN_A_LEAF = 4, MOST = 500 };
static struct sock_filter program[MOST];
static unsigned short length;

static unsigned short to_allowed[sizeof denied / sizeof *denied]; /* jumps from leaves of the search tree to behind it */
static unsigned short leaves;
static bool too_far; /* a conditional jump reaches 255 instructions */

static void emit(struct sock_filter op)
{
	if (length < MOST)
		program[length] = op;
	length++;
}

#define ANSWER(err) ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (err)))
#define ALLOW ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW))
#define LOAD(field) ((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(field)))
#define ARGUMENT(n) (offsetof(struct seccomp_data, args) + 8 * (n))
#define UNLESS_EQUAL(value, skip) ((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), 0, skip))
#define IF_EQUAL(value, skip) ((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), skip, 0))
#define IF_ANY_BIT(value, skip) ((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (uint32_t)(value), skip, 0))

/* Sockets: AF_UNIX only (arguments are compared in their low half, as the kernel takes them: int). */
static void allow_unix_sockets(long number)
{
	emit(UNLESS_EQUAL(number, 4));
	emit(LOAD(ARGUMENT(0)));
	emit(IF_EQUAL(AF_UNIX, 1));
	emit(ANSWER(EAFNOSUPPORT));
	emit(ALLOW);
}

/* Flags are compared in their low half: the kernel takes them as int, or knows none above. */
static void refuse_bits(long number, int argument, uint32_t bits)
{
	emit(UNLESS_EQUAL(number, 4));
	emit(LOAD(ARGUMENT(argument)));
	emit(IF_ANY_BIT(bits, 1));
	emit(ALLOW);
	emit(ANSWER(EPERM));
}

/*
 * Programs for the kernel, by the doors that are open to everybody. Their machine code
 * is charged to no group: 3,500 sockets held 400 MiB of the host's with 90 MiB on the
 * box. And it has one bound for the machine, past which no filter is installed, ours
 * of the next box included.
 */
static void refuse_kernel_programs(void)
{
	static const int options[] = {SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF, SO_ATTACH_REUSEPORT_EBPF};
	enum { OPTIONS = sizeof options / sizeof *options };
	emit(UNLESS_EQUAL(__NR_setsockopt, OPTIONS + 3));
	emit(LOAD(ARGUMENT(2)));
	for (int i = 0; i < OPTIONS; i++)
		emit(IF_EQUAL(options[i], (uint8_t)(OPTIONS - i)));
	emit(ALLOW);
	emit(ANSWER(EPERM));
}

/*
 * What the kernel sends for the first two limits proves FSE and TLE, and it does not say
 * whose limit it was: a program that could lower them would choose its verdict. The third
 * keeps the host's core handler, which is root, from being started (see inside.c): with 0
 * in place of 1 it would be. They are set by the parked program, after it is filtered and before it execs. It knows
 * a number, drawn when we start, that the filter wants in an argument which the call
 * does not have; no memory of it outlives the exec. (The slot could set them from
 * outside, but for that root needs CAP_SYS_RESOURCE, which containers often withhold;
 * a second filter after the limits would cost each run 20 us.)
 * Reading is allowed: prlimit64 with no new value, a null pointer in both halves.
 */
static uint64_t limits_key;

long seccomp_set_rlimit(int resource, const struct rlimit *limit)
{
	return syscall(__NR_prlimit64, 0, resource, limit, NULL, limits_key);
}

static void keep_limits(void)
{
	emit(UNLESS_EQUAL(__NR_setrlimit, 6));
	emit(LOAD(ARGUMENT(0)));
	emit(IF_EQUAL(RLIMIT_FSIZE, 3));
	emit(IF_EQUAL(RLIMIT_CORE, 2));
	emit(IF_EQUAL(RLIMIT_CPU, 1));
	emit(ALLOW);
	emit(ANSWER(EPERM));

	emit(UNLESS_EQUAL(__NR_prlimit64, 14));
	emit(LOAD(ARGUMENT(1)));
	emit(IF_EQUAL(RLIMIT_FSIZE, 2));
	emit(IF_EQUAL(RLIMIT_CORE, 1));
	emit(UNLESS_EQUAL(RLIMIT_CPU, 8)); /* to the first ALLOW */
	emit(LOAD(ARGUMENT(4)));
	emit(UNLESS_EQUAL((uint32_t)limits_key, 2));
	emit(LOAD(ARGUMENT(4) + 4));
	emit(IF_EQUAL((uint32_t)(limits_key >> 32), 4));
	emit(LOAD(ARGUMENT(2)));
	emit(UNLESS_EQUAL(0, 3));
	emit(LOAD(ARGUMENT(2) + 4));
	emit(UNLESS_EQUAL(0, 1));
	emit(ALLOW);
	emit(ANSWER(EPERM));
}

/*
 * A search tree over the sorted numbers, with short runs as leaves. When a filter is
 * installed the kernel runs it once for every number it knows, to find those that
 * are always allowed: a flat list makes that 110 us a box, the tree half of it.
 */
static void emit_tree(const struct denied *rows, size_t count)
{
	if (count > ROWS_IN_A_LEAF) {
		size_t middle = count / 2;
		unsigned short at = length;
		emit((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)rows[middle].number, 0, 0));
		emit_tree(rows, middle);
		if (length - at - 1 > UINT8_MAX)
			too_far = true;
		if (at < MOST)
			program[at].jt = (uint8_t)(length - at - 1);
		emit_tree(rows + middle, count - middle);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		emit(UNLESS_EQUAL(rows[i].number, 1));
		emit(ANSWER((uint32_t)rows[i].err));
	}
	to_allowed[leaves++] = length;
	emit((struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 0));
}

static int by_number(const void *a, const void *b)
{
	long x = ((const struct denied *)a)->number, y = ((const struct denied *)b)->number;
	return (x > y) - (x < y);
}

int seccomp_prepare(struct failure *f)
{
	struct denied rows[sizeof denied / sizeof *denied];
	size_t count = 0;
	for (size_t i = 0; i < sizeof denied / sizeof *denied; i++)
		if (denied[i].number >= 0)
			rows[count++] = denied[i];
	qsort(rows, count, sizeof *rows, by_number);
	length = leaves = 0;
	if (getrandom(&limits_key, sizeof limits_key, 0) != sizeof limits_key)
		return fail(f, "seccomp", "random number");
	emit(LOAD(offsetof(struct seccomp_data, arch)));
	emit(IF_EQUAL(NATIVE, 1));
	emit(ANSWER(ENOSYS)); /* the 32-bit entry */
	emit(LOAD(offsetof(struct seccomp_data, nr)));
	/* What no row was written for: calls younger than this list, the x32 entry, and numbers that no table has. */
	emit((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, CALLS_KNOWN, 0, 1));
	emit(ANSWER(ENOSYS));
	emit_tree(rows, count);
	for (unsigned short i = 0; i < leaves; i++)
		program[to_allowed[i]].k = (uint32_t)(length - to_allowed[i] - 1);
	allow_unix_sockets(__NR_socket);
	allow_unix_sockets(__NR_socketpair);
	refuse_kernel_programs();

	refuse_bits(__NR_clone, 0, CLONE_REFUSED);

	/* Huge pages come out of a pool of the host's that no limit of the box counts. */
	refuse_bits(__NR_mmap, 3, MAP_HUGETLB);
	refuse_bits(__NR_memfd_create, 1, MFD_HUGETLB);
	refuse_bits(__NR_shmget, 2, SHM_HUGETLB);

	/* Terminals: push input into, or take over, whatever terminal a descriptor might lead to. */
	emit(UNLESS_EQUAL(__NR_ioctl, 5));
	emit(LOAD(ARGUMENT(1)));
	emit(IF_EQUAL(TIOCSTI, 2));
	emit(IF_EQUAL(TIOCLINUX, 1));
	emit(ALLOW);
	emit(ANSWER(EPERM));

	/*
	 * A parent's death is told without sender information, as a broken file-size limit
	 * is: with SIGXFSZ as the signal of that death the proof of FSE could be forged.
	 */
	emit(UNLESS_EQUAL(__NR_prctl, 9));
	emit(LOAD(ARGUMENT(0)));
	emit(IF_EQUAL(PR_SET_SECCOMP, 1)); /* as the call of that name */
	emit(UNLESS_EQUAL(PR_SCHED_CORE, 1)); /* would keep the other thread of its core from everybody else */
	emit(ANSWER(EPERM));
	emit(UNLESS_EQUAL(PR_SET_PDEATHSIG, 3));
	emit(LOAD(ARGUMENT(1)));
	emit(UNLESS_EQUAL(SIGXFSZ, 1));
	emit(ANSWER(EPERM));
	emit(ALLOW);

	keep_limits();

	emit(ALLOW);
	if (length > MOST || too_far)
		return fail_with(f, ENOSPC, "seccomp", "filter of %u instructions", length);
	return 0;
}

int seccomp_enter(void)
{
	struct sock_fprog fprog = {length, program};
	return (int)syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &fprog);
}
