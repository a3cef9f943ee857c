/* Counts and bounds locks of files in sandboxes (locks.h). prepare.c loads the programs, and sandbox/holder.c permits and watches locks of a sandbox. */
#define _GNU_SOURCE
#include "locks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "bpf.h"

enum { SANDBOXES_MOST = 4096 /* HOLDERS_MAX_NUMBER */, DEPTH_MOST = 24, KERNEL_MINOR_BITS = 20 };
enum { OUT, NEXT_LEVEL, FOUND, INNER, COUNT, NEXT, COUNTED, KNOWN, UPDATE, SHARED, KILL };
/* Cells on the stack of a program. */
enum { KEY = -8, OWNER = -16, VALUE = -32 /* and -24 */, CELL = -40 };

/* What is known of a list, or of an open file with flock(): the number of its records, and the group of the sandbox to which they count. */
struct known {
	uint64_t records, owner;
};

/* Where the kernel keeps what the programs read. Linux 6.9 has put the last two into a struct of their own. */
enum { INODE_SUPER, INODE_LOCKS, SUPER_DEVICE, LOCKS_RANGES, LIST_LOCK, LOCK_FILE, LOCK_TYPE, LOCK_FILE_BEFORE, LOCK_TYPE_BEFORE, WANTED };

struct maps {
	int known, sandboxes, all; /* `all`: the group of all sandboxes */
	uint64_t group; /* the same */
	uint32_t shared[2]; /* device numbers of file systems with files that all tenants share */
};

#define NUMBER(dst, value) OP(BPF_LD | BPF_IMM | BPF_DW, dst, 0, 0, (uint32_t)(value)), OP(0, 0, 0, 0, (uint32_t)((uint64_t)(value) >> 32))
/* Reads bytes of the kernel at the address in R3 into CELL. */
#define READ(size) COPY(R1, FP), ADD(R1, CELL), SET(R2, size), CALL(BPF_FUNC_probe_read_kernel)
#define READ_AT(base, offset, size) COPY(R3, base), ADD(R3, (int)(offset)), READ(size)
#define FIND(map, key) MAP(R1, map), COPY(R2, FP), ADD(R2, key), CALL(BPF_FUNC_map_lookup_elem)

/*
 * Finds the sandbox of the current program and leaves its group in OWNER, or ends if there is none: its group is the one below that of all
 * sandboxes, or below that of its account (cgroup/sandboxes.h). R6: the inode. R7 is then 1 if the file is one that all tenants share.
 */
#define FIND_SANDBOX(m, w) \
	SET(R8, 1), \
	LABEL(NEXT_LEVEL), \
	COPY(R1, R8), CALL(BPF_FUNC_get_current_ancestor_cgroup_id), \
	IF(BPF_JEQ, R0, 0, OUT), \
	NUMBER(R1, (m)->group), \
	IF_REGISTER(BPF_JEQ, R0, R1, FOUND), \
	ADD(R8, 1), \
	IF(BPF_JLT, R8, DEPTH_MOST, NEXT_LEVEL), \
	GOTO(OUT), \
	LABEL(FOUND), \
	ADD(R8, 1), \
	COPY(R1, R8), CALL(BPF_FUNC_get_current_ancestor_cgroup_id), \
	PUT(BPF_DW, FP, OWNER, R0), \
	FIND((m)->sandboxes, OWNER), \
	IF(BPF_JNE, R0, 0, INNER), \
	ADD(R8, 1), \
	COPY(R1, R8), CALL(BPF_FUNC_get_current_ancestor_cgroup_id), \
	PUT(BPF_DW, FP, OWNER, R0), \
	FIND((m)->sandboxes, OWNER), \
	IF(BPF_JEQ, R0, 0, OUT), \
	LABEL(INNER), \
	READ_AT(R6, (w)[INODE_SUPER].found, 8), \
	GET(BPF_DW, R3, FP, CELL), ADD(R3, (int)(w)[SUPER_DEVICE].found), READ(4), \
	GET(BPF_W, R1, FP, CELL), \
	SET(R7, 1), \
	IF(BPF_JEQ, R1, (m)->shared[0], COUNT), \
	IF(BPF_JEQ, R1, (m)->shared[1], COUNT), \
	SET(R7, 0)
/* Notes R8 records of OWNER as new. */
#define INSERT(m) \
	PUT(BPF_DW, FP, VALUE, R8), \
	GET(BPF_DW, R1, FP, OWNER), PUT(BPF_DW, FP, VALUE + 8, R1), \
	MAP(R1, (m)->known), COPY(R2, FP), ADD(R2, KEY), COPY(R3, FP), ADD(R3, VALUE), SET(R4, BPF_NOEXIST), CALL(BPF_FUNC_map_update_elem), \
	IF(BPF_JEQ, R0, -EEXIST, OUT), /* another thread has noted this record */ \
	IF(BPF_JNE, R0, 0, KILL), \
	COPY(R7, R8), \
	GOTO(UPDATE)
/*
 * Adds R7 to the records of OWNER, and kills the program if these are now too many, or those of the file, which are R8. An entry can be that of a
 * file that has ended, at whose address another tenant now has one: only programs of a sandbox are killed.
 */
#define FINISH(m) \
	LABEL(UPDATE), \
	FIND((m)->sandboxes, OWNER), \
	IF(BPF_JEQ, R0, 0, OUT), \
	SET(R1, 1), ATOMIC_ADD(R0, offsetof(struct lock_counts, changes), R1), \
	COPY(R1, R7), FETCH_ADD(R0, offsetof(struct lock_counts, records), R1), \
	OP(BPF_ALU64 | BPF_ADD | BPF_X, R1, R7, 0, 0), \
	IF(BPF_JGT, R8, LOCKS_OF_FILE, KILL), \
	IF(BPF_JSLE, R7, 0, OUT), \
	GET(BPF_DW, R2, R0, offsetof(struct lock_counts, most)), \
	IF_REGISTER(BPF_JSGT, R1, R2, KILL), \
	LABEL(OUT), \
	SET(R0, 0), \
	RETURN, \
	LABEL(SHARED), \
	FIND((m)->sandboxes, OWNER), \
	IF(BPF_JEQ, R0, 0, OUT), \
	SET(R1, 1), ATOMIC_ADD(R0, offsetof(struct lock_counts, shared), R1), \
	LABEL(KILL), \
	MAP(R1, (m)->all), SET(R2, 0), CALL(BPF_FUNC_current_task_under_cgroup), \
	IF(BPF_JNE, R0, 1, OUT), \
	FIND((m)->sandboxes, OWNER), \
	IF(BPF_JEQ, R0, 0, OUT), \
	SET(R1, 1), ATOMIC_ADD(R0, offsetof(struct lock_counts, kills), R1), \
	SET(R1, SIGKILL), CALL(BPF_FUNC_send_signal), \
	GOTO(OUT)

static int attach_to(const char *tracepoint, const struct bpf_insn *code, size_t count, struct failure *f)
{
	const struct bpf_program program = {tracepoint, BPF_PROG_TYPE_RAW_TRACEPOINT, 0, code, count, .gpl = true};
	return bpf_trace(&program, tracepoint, f);
}

/*
 * The kernel reports a change of a list of ranges before it releases the list, so the program can count the records: one call can make two, or remove
 * any number. R6: the inode, later the head of the list; R8: records; R9: what is known.
 */
static int attach_ranges(const struct btf_wanted *w, const struct maps *m, struct failure *f)
{
	const struct bpf_insn code[] = {
		GET(BPF_DW, R6, R1, 0),
		PUT(BPF_DW, FP, KEY, R6),
		SET(R7, 0),
		FIND(m->known, KEY),
		COPY(R9, R0),
		IF(BPF_JNE, R9, 0, COUNT),
		FIND_SANDBOX(m, w),
		LABEL(COUNT),
		READ_AT(R6, w[INODE_LOCKS].found, 8),
		GET(BPF_DW, R6, FP, CELL),
		SET(R8, 0),
		IF(BPF_JEQ, R6, 0, COUNTED),
		ADD(R6, (int)w[LOCKS_RANGES].found),
		COPY(R3, R6),
		LABEL(NEXT),
		READ(8),
		GET(BPF_DW, R3, FP, CELL),
		IF_REGISTER(BPF_JEQ, R3, R6, COUNTED),
		ADD(R8, 1),
		IF(BPF_JLE, R8, LOCKS_OF_FILE, NEXT),
		LABEL(COUNTED),
		IF(BPF_JNE, R9, 0, KNOWN),
		IF(BPF_JEQ, R8, 0, OUT),
		IF(BPF_JEQ, R7, 1, SHARED),
		INSERT(m),
		LABEL(KNOWN),
		GET(BPF_DW, R1, R9, offsetof(struct known, owner)), PUT(BPF_DW, FP, OWNER, R1),
		GET(BPF_DW, R1, R9, offsetof(struct known, records)),
		PUT(BPF_DW, R9, offsetof(struct known, records), R8),
		COPY(R7, R8),
		OP(BPF_ALU64 | BPF_SUB | BPF_X, R7, R1, 0, 0),
		IF(BPF_JNE, R8, 0, UPDATE),
		MAP(R1, m->known), COPY(R2, FP), ADD(R2, KEY), CALL(BPF_FUNC_map_delete_elem),
		FINISH(m),
	};
	return attach_to("posix_lock_inode", code, sizeof code / sizeof *code, f);
}

/*
 * An open file has one record or none, so the program looks only at the request and its result. A request that fails, or waits and is reported again, has
 * removed the record of the same open file: another kind of lock is a new one. R6: the inode; R8: records of the open file.
 */
static int attach_whole(const struct btf_wanted *w, const struct maps *m, struct failure *f)
{
	const struct bpf_insn code[] = {
		GET(BPF_DW, R6, R1, 0),
		GET(BPF_DW, R9, R1, 8),
		GET(BPF_DW, R7, R1, 16),
		READ_AT(R9, w[LOCK_FILE].found, 8),
		GET(BPF_DW, R1, FP, CELL),
		PUT(BPF_DW, FP, KEY, R1),
		READ_AT(R9, w[LOCK_TYPE].found, 1),
		GET(BPF_B, R8, FP, CELL),
		FIND(m->known, KEY),
		COPY(R9, R0),
		IF(BPF_JEQ, R8, F_UNLCK, NEXT),
		IF(BPF_JNE, R7, 0, NEXT),
		IF(BPF_JNE, R9, 0, OUT),
		FIND_SANDBOX(m, w),
		LABEL(COUNT),
		SET(R8, 1),
		IF(BPF_JEQ, R7, 1, SHARED),
		INSERT(m),
		LABEL(NEXT), /* its record is removed */
		IF(BPF_JEQ, R9, 0, OUT),
		GET(BPF_DW, R1, R9, offsetof(struct known, owner)), PUT(BPF_DW, FP, OWNER, R1),
		MAP(R1, m->known), COPY(R2, FP), ADD(R2, KEY), CALL(BPF_FUNC_map_delete_elem),
		IF(BPF_JNE, R0, 0, OUT), /* another thread was faster */
		SET(R8, 0),
		SET(R7, -1),
		FINISH(m),
	};
	return attach_to("flock_lock_inode", code, sizeof code / sizeof *code, f);
}

/*
 * Whether the kernel reports a change of a list of ranges before it releases the list: since Linux 6.11, and in some earlier ones. Otherwise the list
 * could change while a program reads it. The program of this test reads the lock of the list, which is not 0 while it is held.
 */
static bool is_reported_in_time(const struct btf_wanted *w, struct failure *f)
{
	uint32_t first = 0;
	uint64_t held = 0;
	int file = memfd_create("lock", MFD_CLOEXEC), map = bpf_map(BPF_MAP_TYPE_ARRAY, sizeof(uint32_t), sizeof(uint64_t), 1, 0, f);
	const struct bpf_insn code[] = {
		GET(BPF_DW, R6, R1, 0),
		CALL(BPF_FUNC_get_current_pid_tgid),
		OP(BPF_ALU64 | BPF_RSH | BPF_K, R0, 0, 0, 32),
		IF(BPF_JNE, R0, getpid(), OUT),
		READ_AT(R6, w[INODE_LOCKS].found, 8),
		GET(BPF_DW, R3, FP, CELL),
		IF(BPF_JEQ, R3, 0, OUT),
		ADD(R3, (int)w[LIST_LOCK].found),
		READ(4),
		GET(BPF_W, R7, FP, CELL),
		SET(R1, 0), PUT(BPF_DW, FP, KEY, R1),
		FIND(map, KEY),
		IF(BPF_JEQ, R0, 0, OUT),
		PUT(BPF_DW, R0, 0, R7),
		LABEL(OUT),
		SET(R0, 0),
		RETURN,
	};
	int attached = file < 0 || map < 0 ? -1 : attach_to("posix_lock_inode", code, sizeof code / sizeof *code, f);
	struct flock lock = {.l_type = F_WRLCK};
	bool read = attached >= 0 && fcntl(file, F_SETLK, &lock) == 0 && bpf_element(BPF_MAP_LOOKUP_ELEM, map, &first, &held) == 0;
	const int opened[] = {attached, file, map};
	for (size_t i = 0; i < sizeof opened / sizeof *opened; i++)
		if (opened[i] >= 0)
			close(opened[i]);
	if (!read || !held)
		fail_with(f, ENOSYS, "bpf", "locks are reported too late, as by kernels before 6.11");
	return read && held;
}

/* A device number as the kernel has it in a super_block. */
static uint32_t kernel_number(dev_t device) { return (uint32_t)(major(device) << KERNEL_MINOR_BITS | minor(device)); }

static int find_shared(uint32_t shared[2], struct failure *f)
{
	struct stat anonymous, namespaces;
	int fd = eventfd(0, EFD_CLOEXEC);
	bool found = fd >= 0 && fstat(fd, &anonymous) == 0 && stat("/proc/self/ns/user", &namespaces) == 0;
	int err = errno;
	if (fd >= 0)
		close(fd);
	if (!found)
		return fail_with(f, err, "bpf", "files that all share");
	shared[0] = kernel_number(anonymous.st_dev);
	shared[1] = kernel_number(namespaces.st_dev);
	return 0;
}

static int find_offsets(struct btf_wanted w[WANTED], struct failure *f)
{
	if (btf_find(w, WANTED, f) < 0)
		return -1;
	for (int i = LOCK_FILE; i <= LOCK_TYPE; i++)
		if (w[i].found == UINT32_MAX)
			w[i].found = w[LOCK_FILE_BEFORE + i - LOCK_FILE].found;
	for (int i = 0; i <= LOCK_TYPE; i++)
		if (w[i].found > INT16_MAX)
			return fail_with(f, ENOENT, "bpf", "%s %s in the types of the kernel", w[i].name, w[i].member);
	return 0;
}

static int group_id(int dir, uint64_t *id)
{
	struct stat st;
	int done = fstat(dir, &st);
	*id = done == 0 ? st.st_ino : 0;
	return done;
}

int locks_open(struct locks *l, const struct group_set *sandboxes, struct failure *f)
{
	struct btf_wanted w[WANTED] = {
		[INODE_SUPER] = {"inode", "i_sb", 0}, [INODE_LOCKS] = {"inode", "i_flctx", 0}, [SUPER_DEVICE] = {"super_block", "s_dev", 0},
		[LOCKS_RANGES] = {"file_lock_context", "flc_posix", 0}, [LIST_LOCK] = {"file_lock_context", "flc_lock", 0}, [LOCK_FILE] = {"file_lock_core", "flc_file", 0},
		[LOCK_TYPE] = {"file_lock_core", "flc_type", 0}, [LOCK_FILE_BEFORE] = {"file_lock", "fl_file", 0},
		[LOCK_TYPE_BEFORE] = {"file_lock", "fl_type", 0},
	};
	struct maps m = {-1, -1, -1, 0, {0}};
	int dir = sandboxes->own.dir[TREE_UNIFIED], ranges = -1, whole = -1;
	uint32_t first = 0;
	l->sandboxes = l->known = -1;
	if (find_offsets(w, f) == 0 && is_reported_in_time(w, f) && find_shared(m.shared, f) == 0 && group_id(dir, &m.group) == 0 &&
	    (m.known = bpf_map(BPF_MAP_TYPE_HASH, sizeof(uint64_t), sizeof(struct known), LOCKS_OF_ALL, BPF_F_NO_PREALLOC, f)) >= 0 &&
	    (m.sandboxes = bpf_map(BPF_MAP_TYPE_HASH, sizeof(uint64_t), sizeof(struct lock_counts), SANDBOXES_MOST, BPF_F_NO_PREALLOC, f)) >= 0 &&
	    (m.all = bpf_map(BPF_MAP_TYPE_CGROUP_ARRAY, sizeof(uint32_t), sizeof(uint32_t), 1, 0, f)) >= 0 &&
	    (bpf_element(BPF_MAP_UPDATE_ELEM, m.all, &first, &dir) == 0 || fail(f, "bpf", "group of the sandboxes") == 0) &&
	    (ranges = attach_ranges(w, &m, f)) >= 0 && (whole = attach_whole(w, &m, f)) >= 0)
		*l = (struct locks){.sandboxes = m.sandboxes, .known = m.known, .tracepoint = {ranges, whole}};
	/* The programs keep their maps. */
	const int unneeded[] = {m.all, whole < 0 ? ranges : -1, whole < 0 ? m.known : -1, whole < 0 ? m.sandboxes : -1};
	for (size_t i = 0; i < sizeof unneeded / sizeof *unneeded; i++)
		if (unneeded[i] >= 0)
			close(unneeded[i]);
	return l->sandboxes < 0 ? -1 : 0;
}

int locks_permit(const struct locks *l, const struct group_set *sandbox, unsigned sandboxes, uint64_t owner, struct failure *f)
{
	uint64_t group, share = LOCKS_OF_ALL / (sandboxes ? sandboxes : 1);
	struct lock_counts counts = {.most = share < LOCKS_OF_SANDBOX ? share : LOCKS_OF_SANDBOX, .owner = owner};
	if (group_id(sandbox->own.dir[TREE_UNIFIED], &group) < 0 || bpf_element(BPF_MAP_UPDATE_ELEM, l->sandboxes, &group, &counts) < 0)
		return fail(f, "bpf", "locks of the sandbox");
	return 0;
}

bool locks_attached(const struct locks *l)
{
	for (size_t i = 0; i < sizeof l->tracepoint / sizeof *l->tracepoint; i++) {
		struct bpf_link_info info = {0};
		if (bpf_info(l->tracepoint[i], &info, sizeof info) < 0 || info.type != BPF_LINK_TYPE_RAW_TRACEPOINT || !info.prog_id)
			return false;
	}
	return true;
}

int locks_read(const struct locks *l, const struct group_set *sandbox, struct lock_counts *counts)
{
	uint64_t group;
	return group_id(sandbox->own.dir[TREE_UNIFIED], &group) < 0 ? -1 : (int)bpf_element(BPF_MAP_LOOKUP_ELEM, l->sandboxes, &group, counts);
}

bool locks_exceeded(const struct locks *l, const struct group_set *sandbox, uint64_t *seen)
{
	struct lock_counts counts;
	if (locks_read(l, sandbox, &counts) < 0)
		return false;
	bool shared = counts.shared != *seen;
	*seen = counts.shared;
	/* Two threads that change a list at the same time can let the count be below 0 for a moment. */
	return shared || (int64_t)counts.records > (int64_t)counts.most;
}

void locks_forget(const struct locks *l, uint64_t owner)
{
	struct lock_counts counts = {0};
	struct known known = {0};
	uint64_t group = bpf_forget(l->sandboxes, owner, offsetof(struct lock_counts, owner), 1, &counts, sizeof counts);
	if (group && counts.changes)
		bpf_forget(l->known, group, offsetof(struct known, owner), UINT_MAX, &known, sizeof known);
}
