/*
 * Bounds how long a run holds a lock that all look-ups of files on the machine wait for (the kernel's rename_lock). A rename
 * holds it while the kernel walks from the directory to the root of its file system: 0.25 ms at a depth of 32,000. One process
 * that renames a file there again and again makes every creation and removal of a file on the machine ten times as slow, and
 * that time is charged to those who wait. No limit of the kernel bounds the depth or the time.
 *
 * So supervise.c calls check_locks() from time to time. If the box of a run has files enough for a deep directory, and the run uses a
 * CPU, the slot looks up names that do not exist, from another CPU. If these look-ups wait, the slot freezes the run, each time for
 * twice as long, up to FREEZE_LONGEST_NS. A run that itself only waits for the lock of another one can be frozen as well. It continues
 * while the other one is frozen, and then its slot finds that look-ups do not wait.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "clock.h"
#include "supervise/watch.h"

enum {
	CHECK_NS = 10000000, /* the shortest time between two checks; the longest is three times this, so that a program cannot predict one */
	RUN_NS = 10000000, /* how long a run continues after a freeze */
	/* The first freeze, and the longest. Each is twice as long as the one before, until CALM_CHECKS checks in a row were not slow. */
	FREEZE_NS = 90000000, FREEZE_LONGEST_NS = 1440000000, CALM_CHECKS = 12,
	/* How long one check looks up names, without the time for which the look-ups wait. */
	PROBE_NS = 200000,
	LOOKUPS_MAX = 128, LOOKUP_PAUSE_NS = 4000, SLOW_FACTOR = 3, SLOW_LOOKUPS_ENOUGH = 4,
	/* Look-ups are blocked if they wait for 1/WAITING_SHARE of the time. A run can be the cause if it uses 1/RUNNING_SHARE of a CPU. */
	WAITING_SHARE = 4, RUNNING_SHARE = 16,
	/* One slow check alone can be an accident. The run is frozen if another check was slow at most this many checks before. */
	REMEMBERED_CHECKS = 4,
	INODES_NS = 100000000, /* how often the files are counted */
	/* With fewer files, no directory is so deep that a rename takes longer than others. A directory counts twice in a tmpfs. */
	DEEP_INODES = 1024,
	BASELINE_LOOKUPS = 64, /* measured before any program runs */
};

/* Returns how long a look-up of a name that does not exist takes. */
static uint64_t lookup_ns(int proc)
{
	uint64_t began = now_ns();
	bool exists = faccessat(proc, "no-such-name", F_OK, 0) == 0;
	return exists ? 0 : now_ns() - began;
}

uint64_t baseline_lookup_ns(int proc)
{
	uint64_t least = UINT64_MAX;
	for (int i = 0; i < BASELINE_LOOKUPS; i++) {
		uint64_t took = lookup_ns(proc);
		least = took < least ? took : least;
	}
	return least;
}

/* Returns a random number below the bound, which the program cannot predict. */
static uint64_t random_below(struct lock_checks *l, uint64_t bound)
{
	l->random ^= l->random << 13;
	l->random ^= l->random >> 7;
	l->random ^= l->random << 17;
	return l->random % bound;
}

/*
 * Whether look-ups, with pauses of random length between them, wait for a lock for 1/WAITING_SHARE of the time. If only one look-up is
 * slow, the slot was probably interrupted, and the answer is no.
 */
static bool lookups_are_blocked(struct watch *w)
{
	const struct launcher *l = w->slot->launcher;
	uint64_t waited = 0, unblocked = 0;
	int slow = 0;
	lookup_ns(l->proc); /* fills the caches */
	for (int i = 0; i < LOOKUPS_MAX && unblocked < PROBE_NS && slow < SLOW_LOOKUPS_ENOUGH; i++) {
		uint64_t began = now_ns(), took = lookup_ns(l->proc), pause = random_below(&w->locks, LOOKUP_PAUSE_NS);
		if (took > SLOW_FACTOR * l->lookup_ns) {
			slow++;
			waited += took;
			began += took;
		}
		while (now_ns() < began + pause)
			continue;
		unblocked += now_ns() - began;
	}
	return slow > 1 && waited * WAITING_SHARE >= waited + unblocked;
}

/* Returns the number of files in that writable file system of the box which has the most. */
static uint64_t most_inodes(const struct watch *w)
{
	static const char *const directories[] = {"tmp", "dev/shm", "box"}; /* a sandbox has no /box; its /tmp answers for all other files */
	uint64_t most = 0;
	for (size_t i = 0; i < sizeof directories / sizeof *directories - w->run->box->attached; i++) {
		char path[48];
		struct statfs st;
		snprintf(path, sizeof path, "%d/root/%s", (int)w->run->box->init, directories[i]);
		int fd = openat(w->slot->launcher->proc, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && fstatfs(fd, &st) == 0 && st.f_files - st.f_ffree > most)
			most = st.f_files - st.f_ffree;
		if (fd >= 0)
			close(fd);
	}
	return most;
}

/* Whether the run has used at least 1/RUNNING_SHARE of a CPU since the last call. */
static bool has_used_cpu(struct watch *w, uint64_t now)
{
	struct lock_checks *l = &w->locks;
	uint64_t used = 0;
	if (run_read(w->run, FACT_CPU_USEC, &used) < 0)
		return false;
	bool ran = (used - l->cpu_usec) * 1000 * RUNNING_SHARE >= now - l->cpu_read_ns;
	l->cpu_usec = used;
	l->cpu_read_ns = now;
	return ran;
}

/* Whether limits.c keeps the run frozen, until it ends or until the kernel has freed memory. */
static bool is_frozen_by_limits(const struct watch *w)
{
	return w->uncharge_by || w->kill->oom_forcer_ns;
}

/*
 * Moves the slot away from the CPUs of its run while the box has enough files for a deep directory, and back afterwards. On the CPU
 * of its run, the slot would see nothing, because the run would not continue meanwhile; and a program would notice each check.
 */
static void set_deep(struct watch *w, bool deep)
{
	struct cpus *c = w->slot->launcher->cpus;
	if (deep && !w->locks.deep)
		cpus_move_slot_away(c, w->slot->number);
	else if (!deep && w->locks.deep)
		cpus_move_slot_back(c, w->slot->number);
	w->locks.deep = deep;
}

void plan_lock_checks(struct watch *w)
{
	w->deadline[DEADLINE_LOCKS] = w->run->start_ns + CHECK_NS;
	w->locks = (struct lock_checks){
		.cpu_usec = w->run->base_cpu_usec, .cpu_read_ns = w->run->start_ns, .random = w->run->start_ns,
	};
}

void check_locks(struct watch *w, uint64_t now)
{
	struct lock_checks *l = &w->locks;
	if (l->frozen) {
		l->frozen = false;
		w->deadline[DEADLINE_LOCKS] = now + RUN_NS;
		if (!is_frozen_by_limits(w))
			set_frozen(w, false);
		has_used_cpu(w, now);
		return;
	}
	if (now >= l->count_files_at) {
		l->count_files_at = now + INODES_NS;
		set_deep(w, most_inodes(w) >= DEEP_INODES);
	}
	bool slow = l->deep && has_used_cpu(w, now) && lookups_are_blocked(w), suspected = l->suspected_checks > 0;
	l->calm_checks = slow ? 0 : l->calm_checks + 1;
	if (l->calm_checks >= CALM_CHECKS)
		l->freeze_ns = 0;
	if (slow)
		l->suspected_checks = REMEMBERED_CHECKS;
	else if (suspected)
		l->suspected_checks--;
	/* In a sandbox, which can wait for hours, nothing is to be checked before there are many files. */
	bool rarely = w->run->box->attached && !l->deep;
	w->deadline[DEADLINE_LOCKS] = now_ns() + (rarely ? INODES_NS : CHECK_NS + random_below(l, 2 * CHECK_NS));
	if (!slow || !suspected || is_frozen_by_limits(w))
		return;
	if (!l->freeze_ns)
		l->freeze_ns = FREEZE_NS;
	else if (l->freeze_ns < FREEZE_LONGEST_NS)
		l->freeze_ns *= 2;
	l->frozen = true;
	w->deadline[DEADLINE_LOCKS] = now_ns() + l->freeze_ns;
	set_frozen(w, true);
}
