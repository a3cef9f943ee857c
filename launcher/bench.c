/*
 * assay-bench: measures the cost of isolation. It is a program of its own, so that the serving launcher contains none of
 * this. The floor F is the time to vfork, exec a static hello, read its stdout to the end and reap it. A warm box runs the same
 * file; its time is that from the start signal until the evidence is read. Both alternate in one run, so that disturbances affect both.
 * The command `assay bench` starts this program and reads its JSON.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "prepare.h"
#include "supervise/supervise.h"
#include "unforked-memory.h"
#include "wire/wire.h"

enum { SATURATED_SECONDS = 5, PAUSE_US = 5000, WORKERS_MAX = 64, FIRST_WORKER = 8, SAMPLE_MS = 10, RUNS_PER_SECOND_RUN = 30,
	/*
	 * Building and ending a box includes waiting for grace periods of the kernel, so it takes more slots than CPUs to keep the CPUs
	 * busy.
	 */
	SLOTS_PER_CPU = 3 };

/* A mapping of the file, which a fork does not copy. */
static const void *program;
static size_t program_size;

static const struct shape shape = {16 << 20, 256, 16 << 20, 256};

static int load(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	program_size = (size_t)st.st_size;
	program = mmap(NULL, program_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	close(fd);
	return program == MAP_FAILED ? -1 : 0;
}

/* The launcher, and the only process that removes the groups of the launcher when a measurement fails: no worker does. */
static struct launcher *owner;
static pid_t owner_pid;

static _Noreturn void bench_failed(const struct failure *f)
{
	if (owner && getpid() == owner_pid)
		groups_close(&owner->groups, owner->instance);
	die(f);
}

/* Makes /box with the program, in a mount namespace of its own. */
static void prepare_bare(void)
{
	struct failure f = {0};
	if (unshare(CLONE_NEWNS) < 0)
		fail(&f, "namespaces", "mount");
	if (!f.step && mount("tmpfs", "/box", "tmpfs", WORK_FLAGS, "mode=0777") < 0)
		fail(&f, "mount", "/box");
	int work = open("/box", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (f.step || work_write_file(work, "hello", program, program_size, MODE_DEFAULT, &f) < 0)
		bench_failed(&f);
}

/* Runs the program without a box. Returns the microseconds that this took, or -1 on failure. */
static double run_bare(void)
{
	static char *const argv[] = {"./hello", NULL}, *const envp[] = {NULL};
	char byte[64];
	int ends[2];
	uint64_t start = now_ns();
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	pid_t pid = vfork();
	if (pid == 0) {
		dup2(ends[1], 1);
		execve("/box/hello", argv, envp);
		_exit(127);
	}
	close(ends[1]);
	while (read(ends[0], byte, sizeof byte) > 0)
		continue;
	close(ends[0]);
	int status;
	waitpid(pid, &status, 0);
	return status == 0 ? (double)(now_ns() - start) / 1000 : -1;
}

/* The socket of the process that measures the floor on request. That process never becomes a slot, which would have a filter and limits. */
static int floor_socket;

static void start_floor(void)
{
	int ends[2];
	char go;
	struct failure f = {0};
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
		fail(&f, "bench", "socket of the floor");
		bench_failed(&f);
	}
	floor_socket = ends[0];
	pid_t child = fork();
	if (child < 0) {
		fail(&f, "bench", "process of the floor");
		bench_failed(&f);
	}
	if (child > 0) {
		close(ends[1]);
		return;
	}
	close(ends[0]);
	prepare_bare();
	while (read(ends[1], &go, 1) == 1) {
		double us = run_bare();
		if (write(ends[1], &us, sizeof us) != sizeof us)
			break;
	}
	_exit(0);
}

static double floor_us(void)
{
	double us;
	struct failure f = {0};
	if (write(floor_socket, "", 1) == 1 && read(floor_socket, &us, sizeof us) == sizeof us && us >= 0)
		return us;
	fail(&f, "bench", "the floor did not run");
	bench_failed(&f);
}

static struct request request(void)
{
	/* The second argument is used only by second_us(), which sets `args` to 2. */
	static const char name[] = "./hello", second[] = "1000";
	struct request r = {.args = 1, .files = 1};
	r.file_name[0] = (struct bytes){(const uint8_t *)name + 2, sizeof name - 3};
	r.file_data[0] = (struct bytes){program, program_size};
	r.arg[0] = (struct bytes){(const uint8_t *)name, sizeof name - 1};
	r.arg[1] = (struct bytes){(const uint8_t *)second, sizeof second - 1};
	r.stdin_data.data = (const uint8_t *)"";
	static const struct { enum key key; uint64_t value; } numbers[] = {
		/* Every limit has its largest value, except for those that follow. */
#define FRAME(...)
#define KEY(...)
#define LIMIT(number, name, smallest, largest, rlimit) {KEY_##name, largest},
#include "protocol.def"
#undef FRAME
#undef KEY
#undef LIMIT
		{KEY_WALL_MS, 10000}, {KEY_CPU_MS, 10000}, {KEY_MEMORY_BYTES, 256 << 20}, {KEY_PROCESSES, 10},
		{KEY_FILE_BYTES, 1 << 20}, {KEY_OPEN_FILES, 32}, {KEY_ADDRESS_SPACE_BYTES, UINT64_MAX},
		{KEY_STACK_BYTES, 8 << 20}, {KEY_CPU_RLIMIT_SECS, 11}, {KEY_CPUS, 1}, {KEY_KERNEL_BYTES, 64 << 20}, {KEY_WALKABLE_BYTES, 64 << 20}, {KEY_PROCESSES_RLIMIT, 64},
		{KEY_STDOUT_BYTES, 65536}, {KEY_STDERR_BYTES, 65536},
		{KEY_SAMPLE_MS, SAMPLE_MS},
	};
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		r.number[numbers[i].key] = numbers[i].value;
	return r;
}

/* What a slot has in memory that no process of a box inherits (unforked-memory.h), as in slot/slot.c. */
struct state {
	struct slot slot;
	struct box box;
	struct run run;
	struct queue out;
	struct teardown teardown;
	struct request request;
};

/* Makes this process a slot. */
static struct state *become_slot(const struct launcher *l, unsigned number)
{
	static struct area area;
	struct state *state = area_of(&area, sizeof *state);
	struct failure f = {0};
	if (slot_prepare(&state->slot, l, number, &f) < 0)
		bench_failed(&f);
	state->request = request();
	return state;
}

static void park(struct state *state)
{
	struct failure f = {0};
	if (build_box_and_run(&state->slot, &state->box, &state->run, &shape, false, &f) < 0 ||
	    work_write_files(&state->slot, &state->box, &state->request, &f) < 0)
		bench_failed(&f);
}

/* What is measured of a box, in microseconds. The parts, in the order in which they come, add up to US_TORN. */
enum measure {
	US_BARE, /* the floor */
	US_WARM, /* from the start of a box to its evidence */
	US_TORN, /* from the start of a box to its removal */
	US_PREPARE, /* limits are set, and the program is bound to a CPU */
	US_EXEC,    /* the parked program wakes up and sets its rlimits */
	US_PROGRAM, /* from its exec until its slot knows of its end */
	US_EVIDENCE, /* the program is reaped, output and counters are read */
	US_REAP,    /* the rest of the run is killed */
	US_UNMOUNT, /* the box is removed */
	US_RELEASE, /* the memory of the run is no longer charged, and its groups are removed */
	MEASURES,
};
static const char *const measure_name[MEASURES] = {
	"bare", "warm", "torn", "prepare", "exec", "program", "evidence", "reap", "unmount", "release",
};

static double us_between(uint64_t from, uint64_t to) { return (double)(to - from) / 1000; }

/* Runs the parked program, removes its box, and stores all measures but US_BARE. */
static void run_box(struct state *state, double us[MEASURES])
{
	static const int never;
	struct run *run = &state->run;
	const struct outcome *o = &run->outcome;
	struct teardown *t = &state->teardown;
	struct client client = {.connection = -1, .holder = -1, .out = &state->out, .stopping = &never};
	run->request = &state->request;
	run->out = &state->out;
	uint64_t start = now_ns();
	supervise(&state->slot, &run, 1, &client);
	uint64_t evidence = now_ns();
	*t = (struct teardown){.reaped = true, .populated = -1};
	run_end(run, t); /* as in remove_box_and_run() */
	uint64_t reaped = now_ns();
	box_destroy(&state->slot, &state->box, t);
	uint64_t unmounted = now_ns();
	run_destroy(&state->slot, run, t);
	uint64_t released = now_ns();
	bool right = !o->failure.step && o->exited && o->code == 0 && o->output_bytes[0] > 0 && o->errors == 0 && controls_applied(run) &&
		t->reaped && t->pids_left == 0 && t->leftovers == 0 && t->mounts == 0;
	state->out.size = state->out.sent = state->out.frame = 0; /* nobody reads it */
	if (!right) {
		struct failure f = {o->failure.step ? o->failure.step : "bench", "hello did not run as it should", o->failure.err};
		bench_failed(&f);
	}
	us[US_WARM] = us_between(start, evidence);
	us[US_TORN] = us_between(start, released);
	us[US_PREPARE] = us_between(start, run->start_ns);
	us[US_EXEC] = us_between(run->start_ns, run->exec_args->exec_ns);
	us[US_PROGRAM] = us_between(run->exec_args->exec_ns, o->ended_ns);
	us[US_EVIDENCE] = us_between(o->ended_ns, evidence);
	us[US_REAP] = us_between(evidence, reaped);
	us[US_UNMOUNT] = us_between(reaped, unmounted);
	us[US_RELEASE] = us_between(unmounted, released);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void print_spread(const char *name, double *us, unsigned n, const char *end)
{
	qsort(us, n, sizeof *us, ascending);
	printf("\"%s\":{\"median\":%.1f,\"p99\":%.1f}%s", name, us[n / 2], us[n * 99 / 100], end);
}

/* Returns the CPU time of the slot, in microseconds, for a program that sleeps for a second, with samples or without. */
static double second_us(struct state *state, bool sampled)
{
	double unused[MEASURES];
	state->request = request();
	state->request.args = 2;
	state->request.number[KEY_SAMPLE_MS] = sampled ? SAMPLE_MS : 0;
	park(state);
	clock_t start = clock();
	run_box(state, unused);
	return (double)(clock() - start);
}

struct tally {
	uint64_t runs[WORKERS_MAX][SATURATED_SECONDS];
};

/*
 * Counts how many programs `workers` processes run together in each second: in boxes, each process with a slot of its own, or bare.
 * Returns 0, or -1 if a process failed.
 */
static int saturate(const struct launcher *l, bool boxes, unsigned workers, double *per_second)
{
	struct tally *tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (unsigned i = 0; i < workers; i++) {
		if (fork() != 0)
			continue;
		struct state *state = boxes ? become_slot(l, FIRST_WORKER + i) : NULL;
		double unused[MEASURES];
		if (!boxes)
			prepare_bare();
		uint64_t second, start = now_ns();
		while ((second = (now_ns() - start) / 1000000000u) < SATURATED_SECONDS) {
			if (boxes) {
				park(state);
				run_box(state, unused);
			} else if (run_bare() < 0) {
				_exit(1);
			}
			tally->runs[i][second]++;
		}
		_exit(0);
	}
	int status, failed = 0;
	while (waitpid(-1, &status, 0) > 0)
		failed |= status;
	for (unsigned second = 0; second < SATURATED_SECONDS; second++) {
		per_second[second] = 0;
		for (unsigned i = 0; i < workers; i++)
			per_second[second] += (double)tally->runs[i][second];
	}
	munmap(tally, sizeof *tally);
	return failed ? -1 : 0;
}

static void print_rates(const char *name, const double *rates, const char *end)
{
	printf("\"%s\":[", name);
	for (int i = 0; i < SATURATED_SECONDS; i++)
		printf("%s%.0f", i ? "," : "", rates[i]);
	printf("]%s", end);
}

static int measure(struct launcher *l, unsigned runs)
{
	owner = l;
	owner_pid = getpid();
	struct failure f = {0};
	unsigned seconds = runs / RUNS_PER_SECOND_RUN + 1;
	double *of_run = calloc(runs, MEASURES * sizeof *of_run), *column = calloc(runs, sizeof *column);
	double *sampled = calloc(seconds, sizeof *sampled), *unsampled = calloc(seconds, sizeof *unsampled);
	if (!of_run || !column || !sampled || !unsampled) {
		fail(&f, "bench", "memory");
		bench_failed(&f);
	}

	signal(SIGCHLD, SIG_DFL);
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned cpus = online > WORKERS_MAX / SLOTS_PER_CPU ? WORKERS_MAX / SLOTS_PER_CPU : (unsigned)online;
	double bare_rates[SATURATED_SECONDS], box_rates[SATURATED_SECONDS];
	/* Saturation is measured before this process becomes a slot, because a slot cannot make slots. */
	bool measured = saturate(l, false, cpus, bare_rates) == 0 && saturate(l, true, cpus * SLOTS_PER_CPU, box_rates) == 0;
	start_floor();
	struct state *state = become_slot(l, 0);
	for (unsigned i = 0; i < runs; i++) {
		double *us = of_run + (size_t)i * MEASURES;
		park(state);
		usleep(PAUSE_US);
		us[US_BARE] = floor_us();
		usleep(PAUSE_US);
		run_box(state, us);
	}
	for (unsigned i = 0; i < seconds; i++) {
		unsampled[i] = second_us(state, false);
		sampled[i] = second_us(state, true);
	}
	if (measured) {
		printf("{\"runs\":%u,\"cpus\":%u,", runs, cpus);
		for (int m = 0; m < MEASURES; m++) {
			char name[24];
			for (unsigned i = 0; i < runs; i++)
				column[i] = of_run[(size_t)i * MEASURES + (size_t)m];
			snprintf(name, sizeof name, "%s_us", measure_name[m]);
			print_spread(name, column, runs, ",");
		}
		print_spread("sampled_us", sampled, seconds, ",");
		print_spread("unsampled_us", unsampled, seconds, ",");
		print_rates("bare_per_second", bare_rates, ",");
		print_rates("boxes_per_second", box_rates, "}\n");
	}
	free(of_run);
	free(column);
	free(sampled);
	free(unsampled);
	return !measured;
}

int main(int argc, char **argv)
{
	enum { IMAGE = 1, INSTANCE, UIDS, RUNS, PROGRAM };
	static const struct option known[] = {
		{"image", 1, NULL, IMAGE}, {"instance", 1, NULL, INSTANCE}, {"uid-base", 1, NULL, UIDS}, {"runs", 1, NULL, RUNS},
		{"program", 1, NULL, PROGRAM}, {0},
	};
	static struct launcher launcher;
	const char *image = NULL, *instance = NULL, *file = NULL;
	struct failure f = {0};
	long uid_base = -1, runs = -1;
	int option;

	if (!open_standard_descriptors())
		return 1;
	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (option) {
		case IMAGE: image = optarg; break;
		case INSTANCE: instance = optarg; break;
		case UIDS: uid_base = parse_number(optarg, 1000, UINT32_MAX - 1024, "uid-base"); break;
		case RUNS: runs = parse_number(optarg, 1, 1000000, "runs"); break;
		case PROGRAM: file = optarg; break;
		default: return 2;
		}
	}
	if (optind != argc || !image || !valid_instance(instance) || !file || uid_base < 0 || runs < 0) {
		fputs("usage: assay-bench --image ROOTFS --instance NAME --uid-base N --runs N --program FILE\n", stderr);
		return 2;
	}
	if (load(file) < 0) {
		fail(&f, "bench", "%s", file);
		die(&f);
	}
	init_launcher(&launcher, instance, (uid_t)uid_base, FIRST_WORKER + WORKERS_MAX);
	clear_bounding_set();
	prepare(&launcher, image, 1);
	int status = measure(&launcher, (unsigned)runs);
	return groups_close(&launcher.groups, launcher.instance) > 0 ? 1 : status;
}
