/*
 * Bounds how long a box holds a lock that all look-ups of files on the machine wait for (the kernel's rename_lock). A rename
 * holds it while the kernel walks from the directory to the root of its file system: 0.25 ms at a depth of 32,000. One process
 * that renames a file there again and again makes every creation and removal of a file on the machine ten times as slow, and
 * that time is charged to those who wait. No limit of the kernel bounds the depth or the time.
 *
 * So the slot of a box that has files enough for a deep directory, and uses a CPU, looks up names that do not exist from time
 * to time, from another CPU. If these look-ups wait, the box is frozen, each time for twice as long. A box that only waits for
 * another one can be frozen as well; it continues while the other one is frozen, and then sees that look-ups do not wait.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "clock.h"
#include "supervise-parts.h"

enum {
	CHECK_NS = 10000000, /* between two checks at least, and at most three times as much: a box must not know when */
	RUN_NS = 10000000,
	/* The first freeze, and the longest: each is twice as long as the one before, until some checks in a row see nothing. */
	PAUSE_NS = 90000000, PAUSE_LONGEST_NS = 1440000000, CALM_CHECKS = 12,
	/* One check looks up names for so long, without the time for which they wait. */
	LOOK_NS = 200000,
	LOOKUPS_MAX = 128, PAUSE_MOST_NS = 4000, SLOW_FACTOR = 3, SLOW_ENOUGH = 4,
	/* Shares: of the time of the look-ups that waiting may take, and of a CPU that a box uses at least if it is to blame. */
	WAITING_SHARE = 4, RUNNING_SHARE = 16,
	/* One slow check alone can be an accident: the box is frozen if another one was slow not more than so many checks before. */
	REMEMBERED_CHECKS = 4,
	INODES_NS = 100000000, /* the files are counted so often */
	/* Fewer files give a depth at which a rename is as fast as others. A directory counts twice in a tmpfs. */
	DEEP_INODES = 1024,
	USUAL = 64, /* look-ups that are measured before any box runs */
};

static uint64_t lookup_ns(int proc)
{
	uint64_t began = now_ns();
	bool exists = faccessat(proc, "no-such-name", F_OK, 0) == 0;
	return exists ? 0 : now_ns() - began;
}

uint64_t usual_lookup_ns(int proc)
{
	uint64_t least = UINT64_MAX;
	for (int i = 0; i < USUAL; i++) {
		uint64_t took = lookup_ns(proc);
		least = took < least ? took : least;
	}
	return least;
}

/* A number below the bound that the box cannot know. */
static uint64_t any_below(struct lock_checks *l, uint64_t bound)
{
	l->random ^= l->random << 13;
	l->random ^= l->random >> 7;
	l->random ^= l->random << 17;
	return l->random % bound;
}

/*
 * Whether look-ups wait for a lock: for a quarter of the time, with pauses of any length between them. One that is slow alone has
 * been interrupted.
 */
static bool lookups_wait(struct watch *w)
{
	const struct launcher *l = w->slot->launcher;
	uint64_t waited = 0, others = 0;
	int slow = 0;
	lookup_ns(l->proc); /* fills the caches */
	for (int i = 0; i < LOOKUPS_MAX && others < LOOK_NS && slow < SLOW_ENOUGH; i++) {
		uint64_t began = now_ns(), took = lookup_ns(l->proc), pause = any_below(&w->locks, PAUSE_MOST_NS);
		if (took > SLOW_FACTOR * l->lookup_ns) {
			slow++;
			waited += took;
			began += took;
		}
		while (now_ns() < began + pause)
			continue;
		others += now_ns() - began;
	}
	return slow > 1 && waited * WAITING_SHARE >= waited + others;
}

/* The most files in one of the writable file systems of the box. */
static uint64_t most_inodes(const struct watch *w)
{
	static const char *const places[] = {"box", "tmp", "dev/shm"};
	uint64_t most = 0;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		char path[48];
		struct statfs st;
		snprintf(path, sizeof path, "%d/root/%s", (int)w->box->init, places[i]);
		int fd = openat(w->slot->launcher->proc, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0 && fstatfs(fd, &st) == 0 && st.f_files - st.f_ffree > most)
			most = st.f_files - st.f_ffree;
		if (fd >= 0)
			close(fd);
	}
	return most;
}

/* Whether the box has used a part of a CPU since the last time that this was asked. */
static bool has_run(struct watch *w, uint64_t now)
{
	struct lock_checks *l = &w->locks;
	uint64_t used = 0;
	if (leaf_read(&w->slot->launcher->groups, w->box->leaf, FACT_CPU_USEC, &used) < 0)
		return false;
	bool ran = (used - l->cpu_usec) * 1000 * RUNNING_SHARE >= now - l->asked_ns;
	l->cpu_usec = used;
	l->asked_ns = now;
	return ran;
}

/* Another check keeps the box frozen until it ends, or until the kernel has freed memory. */
static bool is_frozen_otherwise(const struct watch *w)
{
	return w->settled_by || w->exhaust_ns;
}

/*
 * On the CPU of its box, the slot would see nothing, because the box would not run meanwhile; and the box would see that the slot
 * has taken its CPU.
 */
static void set_deep(struct watch *w, bool deep)
{
	struct cpus *c = w->slot->launcher->cpus;
	if (deep && !w->locks.deep)
		cpus_leave(c, w->slot->number);
	else if (!deep && w->locks.deep)
		cpus_return(c, w->slot->number);
	w->locks.deep = deep;
}

void plan_lock_checks(struct watch *w)
{
	w->locks = (struct lock_checks){
		.at = w->start_ns + CHECK_NS, .cpu_usec = w->box->base_cpu_usec, .asked_ns = w->start_ns, .random = w->start_ns,
	};
}

void check_locks(struct watch *w, uint64_t now)
{
	struct lock_checks *l = &w->locks;
	if (l->frozen) {
		l->frozen = false;
		l->at = now + RUN_NS;
		if (!is_frozen_otherwise(w))
			set_frozen(w, false);
		has_run(w, now);
		return;
	}
	if (now >= l->count_at) {
		l->count_at = now + INODES_NS;
		set_deep(w, most_inodes(w) >= DEEP_INODES);
	}
	bool slow = l->deep && has_run(w, now) && lookups_wait(w), suspected = l->suspected_checks > 0;
	l->calm_checks = slow ? 0 : l->calm_checks + 1;
	if (l->calm_checks >= CALM_CHECKS)
		l->pause_ns = 0;
	if (slow)
		l->suspected_checks = REMEMBERED_CHECKS;
	else if (suspected)
		l->suspected_checks--;
	l->at = now_ns() + CHECK_NS + any_below(l, 2 * CHECK_NS);
	if (!slow || !suspected || is_frozen_otherwise(w))
		return;
	if (!l->pause_ns)
		l->pause_ns = PAUSE_NS;
	else if (l->pause_ns < PAUSE_LONGEST_NS)
		l->pause_ns *= 2;
	l->frozen = true;
	l->at = now_ns() + l->pause_ns;
	set_frozen(w, true);
}
