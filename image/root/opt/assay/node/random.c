/*
 * Gives V8's generator of random numbers a new seed, without which each run of a frozen Node would continue the same sequence.
 * The contexts of the main thread take the seeds of Math.random() from it. V8 has no interface for that, so stack.c lets this file
 * find the generator in memory before the wait for a step, and set its seed after it. Both files are one library, stack.node: another
 * library would be in the list of loaded libraries only of a process that has waited.
 *
 * Worker threads have generators of their own, with seeds from OpenSSL, which notices a new process.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ISOLATE_BYTES = 256 << 10, RANGES = 4096, DRAWN = 100000 };

/* This is v8::base::RandomNumberGenerator: an xorshift128+, whose state follows from the seed. */
struct generator {
	uint64_t seed, state[2];
};

/* v8::Isolate::GetCurrent(), v8::base::RandomNumberGenerator::SetSeed(int64_t) and NextInt64(). */
void *current_isolate(void) __asm__("_ZN2v87Isolate10GetCurrentEv");
void set_seed(struct generator *generator, int64_t seed) __asm__("_ZN2v84base21RandomNumberGenerator7SetSeedEl");
int64_t draw(struct generator *generator) __asm__("_ZN2v84base21RandomNumberGenerator9NextInt64Ev");

int napi_throw_error(void *env, const char *code, const char *message);
void find_generator(void *env);
void renew_seed(void *env);

static struct range {
	uintptr_t start, end;
} range[RANGES];
static size_t ranges;

static bool read_ranges(void)
{
	char line[512], modes[8];
	FILE *maps = fopen("/proc/self/maps", "re");
	if (!maps)
		return false;
	while (ranges < RANGES && fgets(line, sizeof line, maps)) {
		struct range *r = &range[ranges];
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s", &r->start, &r->end, modes) == 3 && !strncmp(modes, "rw", 2))
			ranges++;
	}
	fclose(maps);
	return true;
}

/* Returns how many bytes of writable memory begin at the address. */
static size_t writable_bytes(uintptr_t address)
{
	for (size_t i = 0; i < ranges; i++)
		if (address >= range[i].start && address < range[i].end)
			return range[i].end - address;
	return 0;
}

/* Whether these words are a seed and the state after some draws from it. Other memory is not so by chance. */
static bool is_generator(const struct generator *words)
{
	struct generator copy;
	/* This excludes pointers, sizes and texts in tables at once: most of them have zeroes in front. */
	if ((words->seed >> 48 == 0) + (words->state[0] >> 48 == 0) + (words->state[1] >> 48 == 0) > 1)
		return false;
	set_seed(&copy, (int64_t)words->seed);
	for (int drawn = 0; drawn < DRAWN; drawn++) {
		if (!memcmp(copy.state, words->state, sizeof copy.state))
			return true;
		draw(&copy);
	}
	return false;
}

/* Searches the isolate for a pointer to the generator, whose offset depends on the version of V8. */
static struct generator *search_isolate(void)
{
	const uintptr_t *isolate = current_isolate();
	if (!read_ranges())
		return NULL;
	size_t size = writable_bytes((uintptr_t)isolate);
	for (size_t i = 0; i < (size < ISOLATE_BYTES ? size : ISOLATE_BYTES) / sizeof *isolate; i++)
		if (isolate[i] % sizeof(uint64_t) == 0 && writable_bytes(isolate[i]) >= sizeof(struct generator) &&
		    is_generator((const struct generator *)isolate[i]))
			return (struct generator *)isolate[i];
	return NULL;
}

static struct generator *generator;

void find_generator(void *env)
{
	generator = search_isolate();
	if (!generator)
		napi_throw_error(env, NULL, "V8's generator of random numbers is not where it is expected");
}

void renew_seed(void *env)
{
	int64_t seed;
	/* The function of the C library would store a state in a mapping of its own, which a new Node does not have. */
	if (syscall(SYS_getrandom, &seed, sizeof seed, 0) == sizeof seed)
		set_seed(generator, seed);
	else
		napi_throw_error(env, NULL, "there is no seed for V8's generator of random numbers");
}
