/*
 * Two filters of system calls: that of programs, and that of the service's user (seccomp_refuse_user_namespaces).
 *
 * The filter of programs is built from seccomp.def. prepare.c tries to build it, and slot/resources.c installs one in each slot. The
 * filter refuses calls through other entries of the kernel, such as the 32-bit one. Then it searches a tree over ranges of call
 * numbers for the answer to a call, or for the rules for the arguments of the call. The kernel caches which calls are always
 * allowed, so the filter takes no time for these at run time.
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
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <unistd.h>

#include "calls.h"

#define NATIVE OF(AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64)

/* DONE instead of an errno: the call is not made and returns 0. NEVER instead of a number of arguments: no key permits the call. */
enum { DONE = 0, NEVER = -1 };

struct refused {
	long number;
	int err;
	int arguments; /* how many arguments the call has; the key is one more */
	unsigned column; /* the column without which no key permits the call; 0: none */
};

static const struct refused refused[] = {
#define GROUP(...)
#define ALLOW(...)
#define RULE(...)
#define IN_SANDBOX(...)
#define SANDBOX_RULE(...)
#define REFUSE(name, err, reason) {__NR_##name, err, NEVER, 0},
#define KEYED(name, arguments, err, reason) {__NR_##name, err, arguments, 0},
#define KEYED_FOR(column, name, arguments, err, reason) {__NR_##name, err, arguments, SECCOMP_##column},
#include "seccomp.def"
#undef ALLOW
#undef REFUSE
#undef KEYED
#undef KEYED_FOR
};

static const long allowed[] = {
#define ALLOW(group, name) __NR_##name,
#define REFUSE(...)
#define KEYED(...)
#define KEYED_FOR(...)
#include "seccomp.def"
#undef ALLOW
#undef IN_SANDBOX
};

/* The calls that only programs in a sandbox may make, each with the column that it needs. */
static const struct { long number; unsigned column; } allowed_in_sandbox[] = {
#define ALLOW(...)
#define IN_SANDBOX(column, name, reason) {__NR_##name, SECCOMP_##column},
#include "seccomp.def"
#undef ALLOW
#undef IN_SANDBOX
#undef RULE
#undef SANDBOX_RULE
};

/*
 * How an argument is compared. BELOW compares all 64 bits. The others compare the lower 32 bits, because the kernel treats each
 * argument that they are used for as 32 bits, or defines no higher bit.
 */
enum kind { ONE_OF, NONE_OF, NO_BIT_BUT, NO_BIT_OF, BELOW };

enum { VALUES = 32, ALWAYS = -1 };

/* A call is allowed if all its rules hold; otherwise the first rule that does not hold gives the errno. */
struct rule {
	long number;
	unsigned column; /* the column that it needs; 0: none */
	int when; /* the rule applies only if the argument with this index equals when_value; ALWAYS: it applies to each call */
	uint32_t when_value;
	int argument;
	enum kind kind;
	int err;
	int count;
	uint32_t values[VALUES];
};

#define WHEN(argument, value) argument, (uint32_t)(value)
#define EACH_TIME ALWAYS, 0
/* Types of sockets, with each flag that the argument can have. */
#define TYPES(type) type, (type) | SOCK_CLOEXEC, (type) | SOCK_NONBLOCK, (type) | SOCK_CLOEXEC | SOCK_NONBLOCK
#define COUNT(...) ((int)(sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)))
#define ALLOW(...)
#define IN_SANDBOX(...)
static const struct rule rules[] = {
#define RULE(name, condition, argument, kind, err, reason, ...) \
	{__NR_##name, SECCOMP_SUBMISSION, condition, argument, kind, err, COUNT(__VA_ARGS__), {__VA_ARGS__}},
#define SANDBOX_RULE(...)
#include "seccomp.def"
#undef RULE
#undef SANDBOX_RULE
};
static const struct rule sandbox_rules[] = {
#define RULE(...)
#define SANDBOX_RULE(column, name, condition, argument, kind, err, reason, ...) \
	{__NR_##name, SECCOMP_##column, condition, argument, kind, err, COUNT(__VA_ARGS__), {__VA_ARGS__}},
#include "seccomp.def"
};
#undef GROUP
#undef ALLOW
#undef RULE
#undef REFUSE
#undef KEYED
#undef KEYED_FOR
#undef IN_SANDBOX
#undef SANDBOX_RULE
enum {
	REFUSED = sizeof refused / sizeof *refused, ALLOWED_CALLS = sizeof allowed / sizeof *allowed, RULES = sizeof rules / sizeof *rules,
	SANDBOX_CALLS = sizeof allowed_in_sandbox / sizeof *allowed_in_sandbox, SANDBOX_RULES = sizeof sandbox_rules / sizeof *sandbox_rules,
};

/* CALLS is above the highest number in seccomp.def. */
enum { CALLS = 512, INSTRUCTIONS_MAX = 1000 };

uint64_t seccomp_key;
/* The filter, and how many instructions it has so far. */
static struct sock_filter program[INSTRUCTIONS_MAX];
static unsigned short length;
static bool jump_too_long; /* the offset of a conditional jump is at most 255 instructions */

static void emit(struct sock_filter op)
{
	if (length < INSTRUCTIONS_MAX)
		program[length] = op;
	length++;
}

#define ANSWER(err) ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)(err)))
#define PASS ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW))
#define LOAD(field) ((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(field)))
#define ARGUMENT(n) (offsetof(struct seccomp_data, args) + 8 * (size_t)(n))
#define JUMP(skip) ((struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, (uint32_t)(skip)))
#define UNLESS_EQUAL(value, skip) \
	((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), 0, (uint8_t)(skip)))
#define IF_EQUAL(value, skip) \
	((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), (uint8_t)(skip), 0))
#define IF_BELOW(value, skip) \
	((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)(value), 0, (uint8_t)(skip)))
#define IF_ANY_BIT(value, skip) \
	((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (uint32_t)(value), (uint8_t)(skip), 0))

static void emit_below(const struct rule *rule)
{
	if (rule->when != ALWAYS) {
		emit(LOAD(ARGUMENT(rule->when)));
		emit(UNLESS_EQUAL(rule->when_value, 5));
	}
	emit(LOAD(ARGUMENT(rule->argument) + 4));
	emit(UNLESS_EQUAL(0, 2));
	emit(LOAD(ARGUMENT(rule->argument)));
	emit(IF_BELOW(rule->values[0], 1));
	emit(ANSWER(rule->err));
}

static void emit_rule(const struct rule *rule)
{
	bool bits = rule->kind == NO_BIT_BUT || rule->kind == NO_BIT_OF;
	int values = bits ? 1 : rule->count;
	if (rule->when != ALWAYS) {
		emit(LOAD(ARGUMENT(rule->when)));
		emit(UNLESS_EQUAL(rule->when_value, values + (rule->kind == ONE_OF ? 2 : 3)));
	}
	emit(LOAD(ARGUMENT(rule->argument)));
	if (bits)
		emit(IF_ANY_BIT(rule->kind == NO_BIT_OF ? rule->values[0] : ~rule->values[0], 1));
	else
		for (int i = 0; i < values; i++)
			emit(IF_EQUAL(rule->values[i], values - i));
	if (rule->kind != ONE_OF)
		emit(JUMP(1));
	emit(ANSWER(rule->err));
}

/* Compares both halves of the key at once: two comparisons would show by their time that the first half is right. */
static void emit_key(int argument, int err)
{
	emit(LOAD(ARGUMENT(argument)));
	emit((struct sock_filter)BPF_STMT(BPF_ALU | BPF_XOR | BPF_K, (uint32_t)seccomp_key));
	emit((struct sock_filter)BPF_STMT(BPF_MISC | BPF_TAX, 0));
	emit(LOAD(ARGUMENT(argument) + 4));
	emit((struct sock_filter)BPF_STMT(BPF_ALU | BPF_XOR | BPF_K, (uint32_t)(seccomp_key >> 32)));
	emit((struct sock_filter)BPF_STMT(BPF_ALU | BPF_OR | BPF_X, 0));
	emit(UNLESS_EQUAL(0, 1));
	emit(PASS);
	emit(ANSWER(err));
}

/*
 * Refuses changes of three limits. The kernel's signals for RLIMIT_FSIZE and RLIMIT_CPU prove FSE and TLE, but do not show the value
 * of the limit, so a program that could lower these limits would choose its verdict. RLIMIT_CORE keeps the host's core handler, which
 * runs as root, from starting (see slot/resources.c): with the limit 0 instead of 1 it would start.
 *
 * The parked program itself sets its limits, with the key, because the slot would need CAP_SYS_RESOURCE, which containers often
 * withhold. Reading a limit is allowed: both halves of the pointer to the new limit are then 0.
 */
static void emit_prlimit64(void)
{
	emit(LOAD(ARGUMENT(1)));
	emit(IF_EQUAL(RLIMIT_FSIZE, 2));
	emit(IF_EQUAL(RLIMIT_CORE, 1));
	emit(UNLESS_EQUAL(RLIMIT_CPU, 4)); /* to PASS */
	emit(LOAD(ARGUMENT(2)));
	emit(UNLESS_EQUAL(0, 3)); /* to the key */
	emit(LOAD(ARGUMENT(2) + 4));
	emit(UNLESS_EQUAL(0, 1));
	emit(PASS);
	emit_key(4, EPERM);
}

/* Emits all rules for the call that need this column. */
static void emit_rows(const struct rule *rows, int count, long number, unsigned column)
{
	for (int i = 0; i < count; i++)
		if (rows[i].number == number && rows[i].column == column)
			(rows[i].kind == BELOW ? emit_below : emit_rule)(&rows[i]);
}

/* Of the columns that rules for the call need, finds the last one that there is; 0 if there is none. */
static unsigned column_of(long number, unsigned columns)
{
	unsigned last = 0;
	for (int i = 0; i < SANDBOX_RULES; i++)
		if (sandbox_rules[i].number == number && sandbox_rules[i].column & columns && sandbox_rules[i].column > last)
			last = sandbox_rules[i].column;
	return last;
}

/* Emits the instructions for a call whose outcome is BY_RULES: it must have the key if it is KEYED, and otherwise all its rules must hold. */
static void emit_rules(long number, unsigned columns)
{
	if (number == __NR_prlimit64) {
		emit_prlimit64();
		return;
	}
	for (int i = 0; i < REFUSED; i++)
		if (refused[i].number == number) {
			emit_key(refused[i].arguments, refused[i].err);
			return;
		}
	unsigned column = column_of(number, columns);
	if (column)
		emit_rows(sandbox_rules, SANDBOX_RULES, number, column);
	else
		emit_rows(rules, RULES, number, SECCOMP_SUBMISSION);
	emit(PASS);
}

/* The outcome for each number of a call: an errno, DONE, or one of these. */
enum { ALLOWED = -1, BY_RULES = -2 };
static int outcome[CALLS];

static void decide_outcomes(unsigned columns)
{
	for (int number = 0; number < CALLS; number++)
		outcome[number] = ENOSYS;
	for (int i = 0; i < ALLOWED_CALLS; i++)
		if (allowed[i] >= 0)
			outcome[allowed[i]] = ALLOWED;
	for (int i = 0; i < REFUSED; i++) {
		bool is_keyed = refused[i].arguments != NEVER && (refused[i].column & columns) == refused[i].column;
		if (refused[i].number >= 0)
			outcome[refused[i].number] = is_keyed ? BY_RULES : refused[i].err;
	}
	for (int i = 0; i < RULES; i++)
		if (rules[i].number >= 0)
			outcome[rules[i].number] = BY_RULES;
	for (int i = 0; i < SANDBOX_CALLS; i++)
		if (allowed_in_sandbox[i].number >= 0 && allowed_in_sandbox[i].column & columns)
			outcome[allowed_in_sandbox[i].number] = ALLOWED;
	for (int i = 0; i < SANDBOX_RULES; i++)
		if (sandbox_rules[i].number >= 0 && sandbox_rules[i].column & columns)
			outcome[sandbox_rules[i].number] = BY_RULES;
	outcome[__NR_prlimit64] = BY_RULES;
}

struct range {
	int first; /* the first of consecutive numbers with the same outcome */
	unsigned short leaf; /* the instruction of this range in the tree */
};
static struct range ranges[CALLS];

static int find_ranges(void)
{
	int count = 0;
	for (int number = 0; number < CALLS; number++)
		if (number == 0 || outcome[number] == BY_RULES || outcome[number] != outcome[number - 1])
			ranges[count++].first = number;
	return count;
}

static void emit_tree(struct range *range, int count)
{
	if (count == 1) {
		int found = outcome[range->first];
		range->leaf = length;
		emit(found == ALLOWED ? PASS : found == BY_RULES ? JUMP(0) : ANSWER(found));
		return;
	}
	int middle = count / 2;
	unsigned short at = length;
	emit((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)range[middle].first, 0, 0));
	emit_tree(range, middle);
	if (length - at - 1 > UINT8_MAX)
		jump_too_long = true;
	if (at < INSTRUCTIONS_MAX)
		program[at].jt = (uint8_t)(length - at - 1);
	emit_tree(range + middle, count - middle);
}

/* Begins a filter. It refuses calls through the 32-bit entry, and has loaded the number of the call. */
static void begin(void)
{
	length = 0;
	emit(LOAD(offsetof(struct seccomp_data, arch)));
	emit(IF_EQUAL(NATIVE, 1));
	emit(ANSWER(ENOSYS));
	emit(LOAD(offsetof(struct seccomp_data, nr)));
}

int seccomp_prepare(unsigned columns, struct failure *f)
{
	if (getrandom(&seccomp_key, sizeof seccomp_key, 0) != sizeof seccomp_key)
		return fail(f, "seccomp", "random number");
	seccomp_key &= INT64_MAX >> 1; /* discard_output() passes it as a length */
	begin();
	/* The last range has no end. It refuses newer calls, calls through the x32 entry, and numbers that no table has. */
	decide_outcomes(columns);
	int count = find_ranges();
	emit_tree(ranges, count);
	for (int i = 0; i < count; i++)
		if (outcome[ranges[i].first] == BY_RULES && length < INSTRUCTIONS_MAX) {
			program[ranges[i].leaf].k = (uint32_t)(length - ranges[i].leaf - 1);
			emit_rules(ranges[i].first, columns);
		}
	if (length > INSTRUCTIONS_MAX || jump_too_long)
		return fail_with(f, ENOSPC, "seccomp", "filter of %u instructions", length);
	return 0;
}

int seccomp_enter(void)
{
	struct sock_fprog fprog = {length, program};
	long done = keyed(seccomp, SECCOMP_SET_MODE_FILTER, 0, &fprog); /* a filter that is there already asks for its key */
	explicit_bzero(program, sizeof program); /* it contains the key */
	return (int)done;
}

int seccomp_refuse_user_namespaces(void)
{
	enum { X32 = 0x40000000 }; /* the bit of the numbers of the x32 entry */
	begin();
	emit(IF_BELOW(X32, 1));
	emit(ANSWER(ENOSYS));
	emit(UNLESS_EQUAL(__NR_clone3, 1));
	emit(ANSWER(ENOSYS));
	emit(IF_EQUAL(__NR_clone, 2));
	emit(IF_EQUAL(__NR_unshare, 1));
	emit(PASS);
	emit(LOAD(ARGUMENT(0)));
	emit(IF_ANY_BIT(CLONE_NEWUSER, 1));
	emit(PASS);
	emit(ANSWER(EPERM));
	return seccomp_enter();
}

int seccomp_permit_only(const struct seccomp_call *calls, size_t count)
{
	begin();
	for (size_t i = 0; i < count; i++) {
		if (calls[i].number < 0)
			continue;
		emit(UNLESS_EQUAL(calls[i].number, calls[i].first < 0 ? 1 : 4));
		if (calls[i].first >= 0) {
			emit(LOAD(ARGUMENT(0)));
			emit(IF_EQUAL(calls[i].first, 1));
			emit((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
		}
		emit(PASS);
	}
	emit((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
	return seccomp_enter();
}
