/* Samples of a run for users (samples.h explains them). supervise/limits.c takes them, and report.c sends them. */
#define _GNU_SOURCE
#include "run/samples.h"

#include "run/run.h"

enum { SLACK_SHARE = 8 };
_Static_assert(SAMPLES_MAX % 2 == 0, "halve() takes pairs");

/* By how much a sample may come early or late, so that it shares a wake-up with another check. */
static uint64_t slack(const struct samples *s)
{
	return s->interval_ns / SLACK_SHARE;
}

void samples_start(struct samples *s, uint64_t start_ns, uint64_t interval_ms)
{
	s->interval_ns = interval_ms * 1000000;
	s->next_ns = start_ns + s->interval_ns;
}

uint64_t samples_deadline(const struct samples *s)
{
	return s->interval_ns ? s->next_ns + slack(s) : UINT64_MAX;
}

bool samples_due(const struct samples *s, uint64_t now)
{
	return s->interval_ns && now + slack(s) >= s->next_ns;
}

/* Merges each pair of samples: the time and CPU time are those of the second one, the memory is the larger one, so that no peak is lost. */
static void halve(struct samples *s)
{
	for (unsigned i = 0; i < SAMPLES_MAX / 2; i++) {
		struct sample first = s->list[2 * i], second = s->list[2 * i + 1];
		if (second.memory < first.memory)
			second.memory = first.memory;
		s->list[i] = second;
	}
	s->count = SAMPLES_MAX / 2;
	s->interval_ns *= 2;
}

/* The service relies on a list in which times increase and CPU time never decreases. */
static void add_sample(struct samples *s, struct sample one)
{
	if (s->count == SAMPLES_MAX)
		halve(s);
	if (s->count) {
		const struct sample *last = &s->list[s->count - 1];
		if (one.at_usec <= last->at_usec)
			return;
		if (one.cpu_usec < last->cpu_usec)
			one.cpu_usec = last->cpu_usec;
	}
	s->list[s->count++] = one;
}

void samples_take(struct samples *s, const struct run *run, uint64_t now)
{
	uint64_t cpu, memory, exec_ns = run->exec_args->exec_ns;
	s->next_ns = now + s->interval_ns;
	/* Before the exec there is nothing to show. If a counter cannot be read, there is no sample: no verdict depends on it. */
	if (!exec_ns || now <= exec_ns || run_read(run, FACT_MEMORY_NOW, &memory) < 0 || run_read(run, FACT_CPU_USEC, &cpu) < 0)
		return;
	add_sample(s, (struct sample){(now - exec_ns) / 1000, cpu > run->base_cpu_usec ? cpu - run->base_cpu_usec : 0, memory});
}

static void store64(uint8_t *p, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

void samples_report(const struct samples *s, struct queue *out)
{
	uint8_t bytes[SAMPLES_MAX * SAMPLE_BYTES];
	for (unsigned i = 0; i < s->count; i++) {
		uint8_t *at = bytes + (size_t)i * SAMPLE_BYTES;
		store64(at, s->list[i].at_usec);
		store64(at + 8, s->list[i].cpu_usec);
		store64(at + 16, s->list[i].memory);
	}
	if (s->count)
		queue_bytes(out, KEY_SAMPLES, bytes, (size_t)s->count * SAMPLE_BYTES);
}
