/*
 * Tests how a slot reads what a running program writes: its output, and the memory that it shares until its exec. Also tests
 * how the strings of a request get into that memory, and the samples of a run.
 *
 * Input: one byte that chooses what is tested, then the data for it.
 */
#include "../cgroup/cgroup.c"
#include "../run/run.c"
#include "../run/samples.c"
#include "../supervise/limits.c"
#include "../supervise/supervise.c"
#include "files.h"

static struct request request;
static struct queue out;
static struct launcher launcher = {.groups.backend = &backends[BACKEND_V2]};
static struct box box = {.groups = &launcher.groups, .init_fd = -1, .terminals = -1};
static struct slot slot = {.launcher = &launcher};
static struct exec_args *exec_args;
static struct leaf leaf;
static struct run run;
static struct outcome *const outcome = &run.outcome;
static struct client client = {.connection = -1, .holder = -1, .out = &out};
static struct kill_helpers helpers;
static struct watch watch = {.slot = &slot, .run = &run, .request = &request, .o = &run.outcome, .client = &client, .kill = &helpers};

/* ---- output: the limit of each stream, then writes of many sizes ---- */

static void check_output(int stream, const uint8_t *sent, size_t total)
{
	size_t forwarded = 0, limit = request.number[stream == 0 ? KEY_STDOUT_BYTES : KEY_STDERR_BYTES];
	for (size_t at = 0; at < out.size;) {
		const uint8_t *h = out.area.data + at;
		size_t length = h[0] | (size_t)h[1] << 8 | (size_t)h[2] << 16 | (size_t)h[3] << 24;
		EXPECT(h[4] == (stream == 0 ? FRAME_STDOUT : FRAME_STDERR) && length > 0 && length <= READ_AT_ONCE);
		EXPECT(length <= out.size - at - FRAME_HEADER && forwarded + length <= total);
		EXPECT(!memcmp(h + FRAME_HEADER, sent + forwarded, length));
		forwarded += length;
		at += FRAME_HEADER + length;
	}
	EXPECT(outcome->output_bytes[stream] == total && forwarded == (total < limit ? total : limit));
}

static void try_output(const uint8_t *data, size_t size)
{
	int ends[2], stream = data[0] & 1;
	size_t sent = 0;
	EXPECT(pipe2(ends, O_NONBLOCK | O_CLOEXEC | (data[0] & 2 ? O_DIRECT : 0)) == 0);
	request.number[KEY_STDOUT_BYTES] = request.number[KEY_STDERR_BYTES] = (uint64_t)data[1] << (data[0] & 7);
	const uint8_t *text = data + 2;
	for (size -= 2; sent < size;) {
		size_t length = 1 + text[sent] % 64;
		if (length > size - sent)
			length = size - sent;
		ssize_t n = write(ends[1], text + sent, length);
		EXPECT(n > 0 || errno == EAGAIN);
		sent += n > 0 ? (size_t)n : 0;
		if (n < 0 || length % 8 == 0)
			EXPECT(forward_output(&watch, &ends[0], stream, 1 + (int)length % 3));
	}
	close(ends[1]);
	while (forward_output(&watch, &ends[0], stream, 1))
		continue;
	EXPECT(ends[0] == -1 && !outcome->read_error);
	check_output(stream, text, size);
}

/* ---- the memory that is shared until the exec ---- */

static void try_exec_args(const uint8_t *data, size_t size)
{
	static const uint8_t name[] = {'.', '/', 'm'};
	memcpy(exec_args, data, size < sizeof *exec_args ? size : sizeof *exec_args);
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		uint8_t set;
		memcpy(&set, &exec_args->set[i], 1);
		exec_args->set[i] = set & 1; /* written by the slot, so it is 0 or 1 */
	}
	request.arg[0] = (struct bytes){name, sizeof name};
	run.start_ns = 1000;
	outcome->ended_ns = 2000;
	check_wall(&watch, 1500);
	EXPECT(outcome->reason == KILL_WALL || watch.deadline[DEADLINE_WALL] == exec_args->exec_ns);
	for (int d = 0; outcome->reason == KILL_WALL && d < DEADLINES_OF_LIMITS; d++)
		EXPECT(watch.deadline[d] == NEVER);
	read_exec_args(&watch);
	EXPECT(strnlen(outcome->failure.object, sizeof outcome->failure.object) < sizeof outcome->failure.object);
	EXPECT(outcome->failure.step || (exec_args->exec_ns && !exec_args->failure.step[0]));
	EXPECT(run.control[CONTROL_resource_limits] && outcome->wall_ns <= 2000);
	outcome_report(&run, &out);
}

/* ---- the strings of a request ---- */

static void try_strings(const uint8_t *data, size_t size)
{
	struct failure f = {0};
	struct refusal why;
	size_t total = 0, space = EXEC_ARGS_BYTES - offsetof(struct exec_args, strings), nearly = space - data[0];
	struct bytes all = {data, size};
	EXPECT(!copy_string(exec_args, &nearly, all) == (size + 1 > data[0]));
	if (request_parse(FRAME_STEP, data, size, &request, &why) < 0)
		return;
	for (unsigned i = 0; i < request.args; i++)
		total += request.arg[i].size + 1;
	for (unsigned i = 0; i < request.envs; i++)
		total += request.env[i].size + 1;
	bool filled = fill_exec_args(exec_args, &request, false, &f) == 0;
	EXPECT(filled == (total <= space));
	for (unsigned i = 0; filled && i < request.args; i++)
		EXPECT(strlen(exec_args->argv[i]) == request.arg[i].size && !memcmp(exec_args->argv[i], request.arg[i].data, request.arg[i].size));
	for (unsigned i = 0; filled && i < request.envs; i++)
		EXPECT(strlen(exec_args->envp[i]) == request.env[i].size && !memcmp(exec_args->envp[i], request.env[i].data, request.env[i].size));
	EXPECT(!exec_args->argv[request.args] && !exec_args->envp[request.envs]);
}

/* ---- samples: three bytes each, for time, CPU time and memory ---- */

static void try_samples(const uint8_t *data, size_t size)
{
	struct samples *s = &outcome->samples;
	struct sample one = {0};
	uint64_t peak = 0, start = 1 + data[0];
	s->interval_ns = start;
	for (size_t i = 1; i + 3 <= size; i += 3) {
		bool later = data[i] > 0 || i == 1;
		one = (struct sample){one.at_usec + data[i], (uint64_t)data[i + 1] << (data[i] & 31), (uint64_t)data[i + 2] << 48};
		peak = later && one.memory > peak ? one.memory : peak;
		add_sample(s, one);
		EXPECT(s->count > 0 && s->count <= SAMPLES_MAX && s->interval_ns % start == 0);
	}
	uint64_t highest = 0;
	for (unsigned i = 0; i < s->count; i++) {
		highest = s->list[i].memory > highest ? s->list[i].memory : highest;
		EXPECT(i == 0 || (s->list[i].at_usec > s->list[i - 1].at_usec && s->list[i].cpu_usec >= s->list[i - 1].cpu_usec));
	}
	EXPECT(highest == peak);
	queue_frame(&out, FRAME_ENDED);
	samples_report(s, &out);
	EXPECT(out.size == FRAME_HEADER + (s->count ? 5 + s->count * SAMPLE_BYTES : 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 3)
		return 0;
	if (!slot.dev_null)
		slot.dev_null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (!seccomp_key)
		seccomp_key = PIPE_BYTES;
	struct failure f = {0};
	if (!launcher.cpus)
		launcher.cpus = cpus_open(1, &f);
	EXPECT(launcher.cpus);
	/* The memory has exactly the size that it has in a run lane, so that the sanitizer detects a read beyond it, and is reused as there. */
	if (!exec_args)
		exec_args = malloc(EXEC_ARGS_BYTES);
	EXPECT(exec_args);
	memset(exec_args, 0, sizeof *exec_args);
	memset(&request, 0, sizeof request);
	for (int d = 0; d < DEADLINES; d++)
		watch.deadline[d] = NEVER;
	leaf = (struct leaf){.dir = {-1, -1, -1, -1}};
	run = (struct run){.box = &box, .leaf = &leaf, .exec_args = exec_args, .program_fd = -1, .request = &request, .out = &out};
	switch (data[0] % 4) {
	case 0: try_output(data + 1, size - 1); break;
	case 1: try_exec_args(data + 1, size - 1); break;
	case 2: try_strings(data + 1, size - 1); break;
	default: try_samples(data + 1, size - 1);
	}
	queue_free(&out);
	return 0;
}
