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
#include "wire/wire.h"

enum { SATURATED_SECONDS = 5, PAUSE_US = 5000, WORKERS_MAX = 64, FIRST_WORKER = 8, SAMPLE_MS = 10, RUNS_PER_SECOND_RUN = 30,
	/*
	 * Building and ending a box includes waiting for grace periods of the kernel, so it takes more slots than CPUs to keep the CPUs
	 * busy.
	 */
	SLOTS_PER_CPU = 3 };

static void *program;
static size_t program_size;

static const struct shape shape = {16 << 20, 256, 16 << 20, 256};

static int load(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	program_size = (size_t)st.st_size;
	program = malloc(program_size);
	ssize_t n = program ? read(fd, program, program_size) : -1;
	close(fd);
	return n == (ssize_t)program_size ? 0 : -1;
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
	struct request r = {.args = 1};
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

static void park(struct slot *s, struct box *b, struct run *run)
{
	struct failure f = {0};
	if (build_box_and_run(s, b, run, &shape, false, &f) < 0 || work_write_file(b->work, "hello", program, program_size, MODE_DEFAULT, &f) < 0)
		bench_failed(&f);
}

/* Returns the microseconds from start to evidence; `removed` receives the microseconds until the box is removed. */
static double run_box(struct slot *s, struct box *b, struct run *run, const struct request *r, double *removed)
{
	static const int never;
	const struct outcome *o = &run->outcome;
	struct queue out = {0};
	struct client client = {.connection = -1, .out = &out, .stopping = &never};
	struct teardown t;
	run->request = r;
	run->out = &out;
	uint64_t start = now_ns();
	supervise(s, &run, 1, &client);
	uint64_t end = now_ns();
	remove_box_and_run(s, b, run, &t);
	*removed = (double)(now_ns() - start) / 1000;
	bool right = !o->failure.step && o->exited && o->code == 0 && o->output_bytes[0] > 0 && o->errors == 0 && controls_applied(run) &&
		t.reaped && t.pids_left == 0 && t.leftovers == 0 && t.mounts == 0;
	queue_free(&out);
	if (!right) {
		struct failure f = {o->failure.step ? o->failure.step : "bench", "hello did not run as it should", o->failure.err};
		bench_failed(&f);
	}
	return (double)(end - start) / 1000;
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
static double second_us(struct slot *s, struct box *b, struct run *run, bool sampled)
{
	struct request r = request();
	double removed;
	r.args = 2;
	r.number[KEY_SAMPLE_MS] = sampled ? SAMPLE_MS : 0;
	park(s, b, run);
	clock_t start = clock();
	run_box(s, b, run, &r, &removed);
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
		static struct slot s;
		static struct box b;
		static struct run run;
		struct failure f = {0};
		struct request r = request();
		double unused;
		if (!boxes)
			prepare_bare();
		else if (slot_prepare(&s, l, FIRST_WORKER + i, &f) < 0)
			bench_failed(&f);
		uint64_t second, start = now_ns();
		while ((second = (now_ns() - start) / 1000000000u) < SATURATED_SECONDS) {
			if (boxes) {
				park(&s, &b, &run);
				run_box(&s, &b, &run, &r, &unused);
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
	static struct slot s;
	static struct box b;
	static struct run run;
	struct failure f = {0};
	struct request r = request();
	double *bare = calloc(runs, sizeof *bare), *warm = calloc(runs, sizeof *warm), *removed = calloc(runs, sizeof *removed);
	unsigned seconds = runs / RUNS_PER_SECOND_RUN + 1;
	double *sampled = calloc(seconds, sizeof *sampled), *unsampled = calloc(seconds, sizeof *unsampled);

	signal(SIGCHLD, SIG_DFL);
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned cpus = online > WORKERS_MAX / SLOTS_PER_CPU ? WORKERS_MAX / SLOTS_PER_CPU : (unsigned)online;
	double bare_rates[SATURATED_SECONDS], box_rates[SATURATED_SECONDS];
	/* Saturation is measured before this process becomes a slot, because a slot cannot make slots. */
	bool measured = saturate(l, false, cpus, bare_rates) == 0 && saturate(l, true, cpus * SLOTS_PER_CPU, box_rates) == 0;
	start_floor();
	if (!bare || !warm || !removed || !sampled || !unsampled || slot_prepare(&s, l, 0, &f) < 0)
		bench_failed(&f);
	for (unsigned i = 0; i < runs; i++) {
		park(&s, &b, &run);
		usleep(PAUSE_US);
		bare[i] = floor_us();
		usleep(PAUSE_US);
		warm[i] = run_box(&s, &b, &run, &r, &removed[i]);
	}
	for (unsigned i = 0; i < seconds; i++) {
		unsampled[i] = second_us(&s, &b, &run, false);
		sampled[i] = second_us(&s, &b, &run, true);
	}
	if (measured) {
		printf("{\"runs\":%u,\"cpus\":%u,", runs, cpus);
		print_spread("bare_us", bare, runs, ",");
		print_spread("warm_us", warm, runs, ",");
		print_spread("torn_us", removed, runs, ",");
		print_spread("sampled_us", sampled, seconds, ",");
		print_spread("unsampled_us", unsampled, seconds, ",");
		print_rates("bare_per_second", bare_rates, ",");
		print_rates("boxes_per_second", box_rates, "}\n");
	}
	free(bare);
	free(warm);
	free(removed);
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
