/*
 * Memory use and CPU time of a box over the time of its run: for users, never evidence or a limit. A sample reads two
 * counters whose cost does not depend on the number of processes. A full list is halved and the interval doubled: a run of
 * any length has at most SAMPLES_MAX, and takes 64 more for each doubling of its time, some 700 in ten minutes.
 */
#define _GNU_SOURCE
#include "supervise-parts.h"

enum { SLACK = 8 };
_Static_assert(SAMPLES_MAX % 2 == 0, "halve() takes pairs");

/* The part of the interval by which a sample may come early or late, to share a wake-up with another check. */
static uint64_t slack(const struct samples *s)
{
	return s->interval_ns / SLACK;
}

void plan_samples(struct watch *w)
{
	struct samples *s = &w->o->samples;
	s->interval_ns = w->request->number[KEY_SAMPLE_MS] * 1000000;
	s->next_ns = w->start_ns + s->interval_ns;
}

uint64_t next_sample(const struct watch *w)
{
	const struct samples *s = &w->o->samples;
	return s->interval_ns ? s->next_ns + slack(s) : UINT64_MAX;
}

/* Of each pair, the time and CPU time of the second and the memory of the larger remain, so that no peak is lost. */
static void halve(struct samples *s)
{
	for (unsigned i = 0; i < SAMPLES_MAX / 2; i++) {
		struct sample first = s->taken[2 * i], second = s->taken[2 * i + 1];
		if (second.memory < first.memory)
			second.memory = first.memory;
		s->taken[i] = second;
	}
	s->count = SAMPLES_MAX / 2;
	s->interval_ns *= 2;
}

/* Times of the list increase, and CPU time never decreases. */
static void add_sample(struct samples *s, struct sample one)
{
	if (s->count == SAMPLES_MAX)
		halve(s);
	if (s->count) {
		const struct sample *last = &s->taken[s->count - 1];
		if (one.at_usec <= last->at_usec)
			return;
		if (one.cpu_usec < last->cpu_usec)
			one.cpu_usec = last->cpu_usec;
	}
	s->taken[s->count++] = one;
}

void sample_if_due(struct watch *w, uint64_t now)
{
	const struct groups *g = &w->slot->launcher->groups;
	const struct leaf *leaf = w->box->leaf;
	struct samples *s = &w->o->samples;
	uint64_t cpu, memory, from = w->box->lane->exec_args->exec_ns;
	if (!s->interval_ns || now + slack(s) < s->next_ns)
		return;
	s->next_ns = now + s->interval_ns;
	/* Before the exec there is nothing to show. A counter that cannot be read leaves a gap, which no verdict depends on. */
	if (!from || now <= from || leaf_read(g, leaf, FACT_MEMORY_NOW, &memory) < 0 || leaf_read(g, leaf, FACT_CPU_USEC, &cpu) < 0)
		return;
	uint64_t base = w->box->base_cpu_usec;
	add_sample(s, (struct sample){(now - from) / 1000, cpu > base ? cpu - base : 0, memory});
}

static void store64(uint8_t *p, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

void report_samples(const struct samples *s, struct queue *out)
{
	uint8_t bytes[SAMPLES_MAX * SAMPLE_BYTES];
	for (unsigned i = 0; i < s->count; i++) {
		uint8_t *at = bytes + (size_t)i * SAMPLE_BYTES;
		store64(at, s->taken[i].at_usec);
		store64(at + 8, s->taken[i].cpu_usec);
		store64(at + 16, s->taken[i].memory);
	}
	if (s->count)
		queue_bytes(out, KEY_SAMPLES, bytes, (size_t)s->count * SAMPLE_BYTES);
}
