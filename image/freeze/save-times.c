/*
 * Finds where a program stores the time of its start, so that thaw.c can move it: the program then seems to start when it
 * continues.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "freeze.h"

static struct candidate {
	struct frozen_time time;
	int64_t ns;
} *candidate;
static size_t candidates;

static bool since_start(int64_t ns, clockid_t clock)
{
	return ns >= started_ns[clock] && ns <= (clock == CLOCK_MONOTONIC ? frozen.monotonic_ns : frozen.real_ns);
}

/* Finds words of a mapping that can be times since the start of the program. */
static void find_times(const struct frozen_map *m)
{
	const uint64_t *words = mmap(NULL, m->size, PROT_READ, MAP_SHARED, snapshot, (off_t)m->offset);
	check(words != MAP_FAILED, "read the snapshot");
	for (uint64_t at = 0; at < m->size / sizeof *words; at++) {
		double number;
		struct candidate c = {.time.address = m->start + at * sizeof *words, .ns = (int64_t)words[at]};
		memcpy(&number, &words[at], sizeof number);
		if (since_start(c.ns, CLOCK_MONOTONIC)) {
			c.time.clock = MONOTONIC_NS;
		} else if (number > 1e9 && number < 1e18 && since_start((int64_t)number, CLOCK_MONOTONIC)) {
			c.time.clock = MONOTONIC_NS_DOUBLE;
			c.ns = (int64_t)number;
		} else if (number > 1e15 && number < 1e16 && since_start((int64_t)(number * 1e3), CLOCK_REALTIME)) {
			c.time.clock = REAL_US_DOUBLE;
			c.ns = (int64_t)(number * 1e3);
		} else {
			continue;
		}
		candidate = realloc(candidate, (candidates + 1) * sizeof *candidate);
		check(candidate, "memory");
		candidate[candidates++] = c;
	}
	munmap((void *)words, m->size);
}

/*
 * Whether a word is a time and not another number that is equal by chance: then another word has the same time in another form. A
 * program stores the time of its start on the monotonic clock as an integer and as a floating-point number, and its real time
 * for each of its contexts.
 */
static bool is_certain(const struct candidate *c)
{
	for (size_t i = 0; i < candidates; i++)
		if (&candidate[i] != c && candidate[i].ns == c->ns &&
		    (candidate[i].time.clock != c->time.clock || c->time.clock == REAL_US_DOUBLE))
			return true;
	return false;
}

void save_times(void)
{
	for (uint32_t i = 0; i < frozen.maps; i++)
		if (frozen.map[i].kind == FROM_SNAPSHOT && (frozen.map[i].prot & (PROT_WRITE | PROT_EXEC)) == PROT_WRITE)
			find_times(&frozen.map[i]);
	for (size_t i = 0; i < candidates; i++) {
		if (!is_certain(&candidate[i]))
			continue;
		if (frozen.times == FROZEN_TIMES)
			refuse("it keeps too many times");
		frozen.time[frozen.times++] = candidate[i].time;
	}
}
