/*
 * A fuzzer that needs only gcc, for the short run of the tests. It mutates its inputs, keeps those that reach new code
 * (gcc reports each edge), and uses the same seed each time, so that failures are reproducible. Long runs use libFuzzer
 * on the same targets (build --libfuzzer).
 *
 *   fuzz SECONDS CORPUS-DIRECTORY [SEED]      prints executions, inputs and edges
 *   fuzz FILE                                 tries one input, such as a failed one
 *
 * If a target aborts, or takes longer than a minute (no input needs that on the busiest machine), the current input is
 * in ./failed-input.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void __sanitizer_cov_trace_pc(void);
void __asan_on_error(void);

enum { TIMEOUT_S = 60, INPUT_MAX = 256 * 1024, INPUTS_MAX = 4096, MAP = 1 << 13 };

struct input {
	uint8_t *data;
	size_t size;
};

static struct input corpus[INPUTS_MAX];
static unsigned inputs;
static uint8_t seen[MAP], hit[MAP];
static uintptr_t previous;
static uint64_t state;
static uint8_t current[INPUT_MAX];
static size_t current_size;

/* Called by the instrumented code at every edge; this file is not instrumented. */
void __sanitizer_cov_trace_pc(void)
{
	uintptr_t here = (uintptr_t)__builtin_return_address(0);
	hit[(here ^ previous) % MAP] = 1;
	previous = here >> 1;
}

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static size_t below(size_t n) { return n ? (size_t)(next() % n) : 0; }

static void save_current(void)
{
	int fd = open("failed-input", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd >= 0 && write(fd, current, current_size) >= 0)
		close(fd);
}

static void aborted(int sig)
{
	static const char message[] = "fuzz: an input takes too long\n";
	save_current();
	if (sig == SIGALRM && write(2, message, sizeof message - 1) < 0)
		_exit(2);
	signal(SIGABRT, SIG_DFL);
	raise(SIGABRT);
}

/* The sanitizers call this before they report and end the process. */
void __asan_on_error(void) { save_current(); }

/* Runs the target on the current input. Returns whether this input reached new code. */
static bool try_current(void)
{
	bool fresh = false;
	memset(hit, 0, sizeof hit);
	previous = 0;
	alarm(TIMEOUT_S);
	LLVMFuzzerTestOneInput(current, current_size);
	for (size_t i = 0; i < MAP; i++)
		if (hit[i] && !seen[i])
			seen[i] = fresh = true;
	return fresh;
}

static void add_current(void)
{
	if (inputs == INPUTS_MAX)
		return;
	uint8_t *copy = malloc(current_size ? current_size : 1);
	if (!copy)
		abort();
	memcpy(copy, current, current_size);
	corpus[inputs++] = (struct input){copy, current_size};
}

static void insert(size_t at, const uint8_t *data, size_t size)
{
	if (size > INPUT_MAX - current_size)
		size = INPUT_MAX - current_size;
	memmove(current + at + size, current + at, current_size - at);
	memcpy(current + at, data, size);
	current_size += size;
}

static void erase(size_t at, size_t size)
{
	if (size > current_size - at)
		size = current_size - at;
	memmove(current + at, current + at + size, current_size - at - size);
	current_size -= size;
}

static void mutate(void)
{
	static const uint64_t edges[] = {0, 1, 2, 3, 4, 7, 8, 9, 63, 64, 65, 127, 128, 255, 256, 4095, 4096, 65535, 65536,
		1 << 20, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, INT64_MAX, UINT64_MAX};
	static uint8_t other[4096];
	size_t at = below(current_size), length;
	uint64_t value = edges[below(sizeof edges / sizeof *edges)];
	const struct input *from;
	switch (below(8)) {
	case 0: /* a bit */
		if (current_size)
			current[at] ^= (uint8_t)(1u << below(8));
		break;
	case 1: /* a byte */
		if (current_size)
			current[at] = (uint8_t)next();
		break;
	case 2: /* a frequent boundary value, in 1, 4 or 8 bytes */
		length = (size_t[]){1, 4, 8}[below(3)];
		for (size_t i = 0; i < length && at + i < current_size; i++)
			current[at + i] = (uint8_t)(value >> (8 * i));
		break;
	case 3:
		erase(at, 1 + below(below(4) ? 16 : 4096));
		break;
	case 4: /* an entry of a known or unknown key, of any length */
		length = below(below(4) ? 32 : sizeof other - 5);
		other[0] = (uint8_t)(below(4) ? 1 + below(24) : next());
		other[1] = (uint8_t)length;
		other[2] = (uint8_t)(length >> 8);
		other[3] = other[4] = 0;
		for (size_t i = 0; i < length; i++)
			other[5 + i] = (uint8_t)(below(8) ? 'a' + below(26) : next());
		insert(at, other, 5 + length);
		break;
	case 5: /* a part of another input */
		from = &corpus[below(inputs)];
		length = below(from->size);
		insert(at, from->data + length, below(from->size - length + 1));
		break;
	case 6: /* a copy of a part of itself */
		length = below(current_size - at + (current_size == 0));
		length = length < sizeof other ? length : sizeof other;
		memcpy(other, current + at, length);
		insert(below(current_size), other, length);
		break;
	default: /* cut off the end */
		current_size = at;
	}
}

static void load(const char *directory, const char *name)
{
	char path[4096];
	snprintf(path, sizeof path, "%s%s%s", directory, *directory ? "/" : "", name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, current, sizeof current);
	if (n < 0) {
		perror(path);
		exit(2);
	}
	close(fd);
	current_size = (size_t)n;
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }
static int is_file(const struct dirent *entry) { return entry->d_name[0] != '.'; }

int main(int argc, char **argv)
{
	signal(SIGABRT, aborted);
	signal(SIGALRM, aborted);
	if (argc == 2) {
		load("", argv[1]);
		try_current();
		return 0;
	}
	if (argc < 3 || argc > 4) {
		fputs("usage: fuzz SECONDS CORPUS-DIRECTORY [SEED] | fuzz FILE\n", stderr);
		return 2;
	}
	state = argc == 4 ? strtoull(argv[3], NULL, 10) | 1 : 0x9e3779b97f4a7c15;

	/* The inputs are sorted by name, because the order of a directory differs between machines. */
	struct dirent **list;
	int found = scandir(argv[2], &list, is_file, by_name);
	for (int i = 0; i < found; i++) {
		load(argv[2], list[i]->d_name);
		try_current();
		add_current();
		free(list[i]);
	}
	if (found >= 0)
		free(list);
	if (inputs == 0) {
		fprintf(stderr, "fuzz: no input in %s\n", argv[2]);
		return 2;
	}
	time_t end = time(NULL) + atoi(argv[1]);
	unsigned long executions = (unsigned long)found;
	for (; (executions & 255) || time(NULL) < end; executions++) {
		const struct input *from = &corpus[below(inputs)];
		memcpy(current, from->data, from->size);
		current_size = from->size;
		for (size_t n = 1 + below(6); n > 0; n--)
			mutate();
		if (try_current())
			add_current();
	}
	unsigned reached = 0;
	for (size_t i = 0; i < MAP; i++)
		reached += seen[i];
	printf("{\"executions\":%lu,\"corpus\":%d,\"inputs\":%u,\"edges\":%u}\n", executions, found, inputs, reached);
	for (unsigned i = 0; i < inputs; i++)
		free(corpus[i].data);
	return 0;
}
