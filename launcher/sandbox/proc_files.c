/* The files in /proc of a sandbox whose content changes (proc_files.h). */
#define _GNU_SOURCE
#include "sandbox/proc_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"
#include "clock.h"
#include "descriptors.h"
#include "unforked-memory.h"

#define NEW_FILE ".new"

enum { TEXT_BYTES = 32768, CPUS_MAX = 512 /* lines of so many CPUs fit into the text */, USEC_PER_TICK = 10000, NS_PER_TICK = 10000000 };

/* A text that is being made. */
struct text {
	char data[TEXT_BYTES];
	size_t used;
};

static void add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct text *t, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int size = vsnprintf(t->data + t->used, sizeof t->data - t->used, format, arguments);
	va_end(arguments);
	if (size > 0)
		t->used += (size_t)size; /* more than there is room for: replace() refuses it */
}

/* Replaces the file by one with the text. Returns 0 or the errno. */
static int replace(const struct proc_files *p, const char *name, const struct text *t)
{
	if (t->used >= sizeof t->data)
		return E2BIG;
	int fd = openat(p->directory, NEW_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	ssize_t written = write(fd, t->data, t->used);
	int err = written < 0 || fchmod(fd, 0444) < 0 ? errno : written == (ssize_t)t->used ? 0 : ENOSPC;
	close(fd);
	if (!err && renameat(p->directory, NEW_FILE, p->directory, name) < 0)
		err = errno;
	if (err)
		unlinkat(p->directory, NEW_FILE, 0);
	return err;
}

/*
 * Without a time namespace, the clock of processes (their start in /proc/PID/stat, CLOCK_BOOTTIME) is that of the machine, and this must be the same one: ps and
 * psutil subtract one from the other. The idle time is that of the sandbox.
 */
static void make_uptime(struct text *t, uint64_t idle_ticks)
{
	struct timespec boot;
	clock_gettime(CLOCK_BOOTTIME, &boot);
	t->used = 0;
	add(t, "%lld.%02ld %llu.%02llu\n", (long long)boot.tv_sec, boot.tv_nsec / NS_PER_TICK, (unsigned long long)idle_ticks / 100, (unsigned long long)idle_ticks % 100);
}

/* No counter says on which CPU a sandbox ran, or how much of it in the kernel, so each has the same part of the time. Returns the idle time of all in ticks. */
static uint64_t make_stat(struct text *t, const struct proc_files *p, const struct proc_values *v, uint64_t now)
{
	uint64_t each = (now - p->begin_ns) / NS_PER_TICK, used = v->cpu_usec / USEC_PER_TICK / p->cpus, idle = each > used ? each - used : 0;
	t->used = 0;
	add(t, "cpu  %llu 0 0 %llu 0 0 0 0 0 0\n", (unsigned long long)(used * p->cpus), (unsigned long long)(idle * p->cpus));
	for (unsigned cpu = 0; cpu < p->cpus; cpu++)
		add(t, "cpu%u %llu 0 0 %llu 0 0 0 0 0 0\n", cpu, (unsigned long long)used, (unsigned long long)idle);
	add(t, "intr 0\nctxt 0\nbtime %lld\nprocesses %llu\nprocs_running 1\nprocs_blocked 0\nsoftirq 0\n", (long long)p->boot_time, (unsigned long long)v->processes);
	return idle * p->cpus;
}

static void make_meminfo(struct text *t, const struct proc_values *v)
{
	static const char *const zero[] = {
		"SwapCached", "Active", "Inactive", "Active(anon)", "Inactive(anon)", "Active(file)", "Inactive(file)", "Unevictable", "Mlocked", "SwapTotal",
		"SwapFree", "Dirty", "Writeback", "AnonPages", "Mapped", "KReclaimable", "Slab", "SReclaimable", "SUnreclaim", "KernelStack", "PageTables",
		"Committed_AS",
	};
	uint64_t reclaimable = v->files > v->shmem ? v->files - v->shmem : 0, needed = v->memory > reclaimable ? v->memory - reclaimable : 0;
	uint64_t unused = v->memory < v->memory_limit ? v->memory_limit - v->memory : 0, available = needed < v->memory_limit ? v->memory_limit - needed : 0;
	t->used = 0;
	const struct { const char *name; uint64_t bytes; } lines[] = {
		{"MemTotal", v->memory_limit}, {"MemFree", unused}, {"MemAvailable", available}, {"Buffers", 0}, {"Cached", v->files}, {"Shmem", v->shmem},
	};
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		add(t, "%s: %llu kB\n", lines[i].name, (unsigned long long)lines[i].bytes / 1024);
	for (size_t i = 0; i < sizeof zero / sizeof *zero; i++)
		add(t, "%s: 0 kB\n", zero[i]);
}

/* The kernel counts processes that want to run. Of a sandbox, only the CPU time that they got is known: so its load is at most the number of CPUs. */
static void make_loadavg(struct text *t, struct proc_files *p, const struct proc_values *v, uint64_t now)
{
	static const double minutes[] = {1, 5, 15};
	double seconds = (double)(now - p->written_ns) / 1e9, used = v->cpu_usec > p->cpu_usec ? (double)(v->cpu_usec - p->cpu_usec) / 1e6 : 0;
	t->used = 0;
	for (int i = 0; i < 3 && seconds > 0; i++)
		p->load[i] += (used / seconds - p->load[i]) * seconds / (seconds + 60 * minutes[i]);
	add(t, "%.2f %.2f %.2f 1/%llu 1\n", p->load[0], p->load[1], p->load[2], (unsigned long long)v->processes);
}

int proc_files_write(struct proc_files *p, const struct proc_values *values)
{
	static struct area area;
	struct text *t = area_of(&area, sizeof *t);
	uint64_t now = now_ns();
	int err[4];
	make_loadavg(t, p, values, now);
	err[0] = replace(p, "loadavg", t);
	make_meminfo(t, values);
	err[1] = replace(p, "meminfo", t);
	uint64_t idle = make_stat(t, p, values, now);
	err[2] = replace(p, "stat", t);
	make_uptime(t, idle);
	err[3] = replace(p, "uptime", t);
	p->written_ns = now;
	p->cpu_usec = values->cpu_usec;
	for (int i = 0; i < 4; i++)
		if (err[i]) {
			errno = err[i];
			return -1;
		}
	return 0;
}

/* Counts the CPUs that cpuinfo of the sandbox shows. */
static unsigned count_cpus(int proc)
{
	static const char name[] = "processor";
	char chunk[4096];
	unsigned count = 0;
	size_t at = 0; /* how much of the name the current line has begun with; SIZE_MAX: it is another line */
	int fd = openat(proc, "cpuinfo", O_RDONLY | O_CLOEXEC);
	for (ssize_t n; fd >= 0 && (n = read(fd, chunk, sizeof chunk)) > 0;)
		for (ssize_t i = 0; i < n; i++) {
			at = chunk[i] == '\n' ? 0 : at != SIZE_MAX && chunk[i] == name[at] ? at + 1 : SIZE_MAX;
			if (at == sizeof name - 1) {
				count++;
				at = SIZE_MAX;
			}
		}
	if (fd >= 0)
		close(fd);
	return count == 0 ? 1 : count < CPUS_MAX ? count : CPUS_MAX;
}

int proc_files_begin(struct proc_files *p, int proc, const struct proc_values *values, struct failure *f)
{
	struct timespec wall, boot;
	clock_gettime(CLOCK_REALTIME, &wall);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	p->boot_time = wall.tv_sec - boot.tv_sec - (wall.tv_nsec < boot.tv_nsec);
	p->begin_ns = p->written_ns = now_ns();
	p->cpu_usec = values->cpu_usec;
	p->cpus = count_cpus(proc);
	return proc_files_write(p, values) < 0 ? fail(f, "mount", "files in /proc of the sandbox") : 0;
}

int proc_files_make(struct proc_files *p, struct failure *f)
{
	enum { SET_STRING = 1, CREATE = 6, CLOSE_ON_EXEC = 1, NO_SET_UID = 2, NO_DEVICES = 4, NO_PROGRAMS = 8 };
	/* Room for the files of 512 CPUs twice, and for some that were replaced and are still being read. */
	static const char *const options[][2] = {{"mode", "0755"}, {"size", "128k"}, {"nr_inodes", "24"}};
	*p = (struct proc_files){.mount = -1, .directory = -1};
	int configured = (int)syscall(__NR_fsopen, "tmpfs", CLOSE_ON_EXEC);
	bool done = configured >= 0;
	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		done = done && syscall(__NR_fsconfig, configured, SET_STRING, options[i][0], options[i][1], 0) == 0;
	if (done && syscall(__NR_fsconfig, configured, CREATE, NULL, NULL, 0) == 0)
		p->mount = (int)syscall(__NR_fsmount, configured, CLOSE_ON_EXEC, NO_SET_UID | NO_DEVICES | NO_PROGRAMS);
	if (p->mount >= 0)
		p->directory = openat(p->mount, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = errno;
	if (configured >= 0)
		close(configured);
	if (p->directory >= 0)
		return 0;
	close_fd(&p->mount);
	return fail_with(f, err, "mount", "files in /proc of the sandbox");
}
