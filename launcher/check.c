/* `assay-launcher --check`, for `assay doctor`: tries each control alone, so that a missing one can be named. main.c calls it. */
#define _GNU_SOURCE
#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "egress/network.h"
#include "image-memory.h"
#include "image-root.h"
#include "prepare.h"
#include "run/run.h"
#include "seccomp.h"
#include "serve.h"
#include "signals.h"

static void print(const char *check, bool works, const char *detail)
{
	printf("{\"check\":\"%s\",\"works\":%s,\"detail\":\"", check, works ? "true" : "false");
	for (const char *p = detail; *p; p++)
		putchar(*p == '"' || *p == '\\' || (unsigned char)*p < ' ' ? '\'' : *p);
	printf("\"}\n");
	fflush(stdout);
}

static void print_failure(const char *check, const struct failure *f)
{
	char text[256];
	snprintf(text, sizeof text, "%s %s%s%s", f->step, f->object, f->err ? ": " : "", f->err ? strerror(f->err) : "");
	print(check, false, text);
}

/* Runs `try` in a child. Returns 0 on success, otherwise an errno. */
static int run_in_child(int (*try)(int), int argument)
{
	int status = 0;
	pid_t pid = fork();
	if (pid == 0)
		_exit(try(argument));
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
}

static int try_namespace(int flag) { return unshare(flag) == 0 ? 0 : errno; }

static int try_seccomp(int unused)
{
	(void)unused;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || seccomp_enter() < 0)
		return errno;
	return unshare(CLONE_NEWUTS) == -1 && errno == EPERM ? 0 : ENOTSUP;
}

/*
 * Makes the newest system calls that every box uses, with arguments that the kernel rejects or that do nothing. The release
 * number is not enough: kernels are patched, and containers filter calls.
 */
static void check_kernel(const char *release)
{
	static const struct { const char *name; long number, first, second; } calls[] = {
		{"clone3", __NR_clone3, 0, 0}, {"pidfd_open", __NR_pidfd_open, 0, 0},
		{"pidfd_send_signal", __NR_pidfd_send_signal, -1, 0}, {"close_range", __NR_close_range, 1, 0},
		{"memfd_create", __NR_memfd_create, 0, 0},
	};
	char text[160];
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (syscall(calls[i].number, calls[i].first, calls[i].second, 0, 0) < 0 && (errno == ENOSYS || errno == EPERM)) {
			snprintf(text, sizeof text, "%s: %s: %s", release, calls[i].name, strerror(errno));
			print("kernel", false, text);
			return;
		}
	print("kernel", true, release);
}

static void check_namespaces(void)
{
	static const struct { const char *name; int flag; } spaces[] = {
		{"pid_namespace", CLONE_NEWPID}, {"mount_namespace", CLONE_NEWNS}, {"network_namespace", CLONE_NEWNET},
		{"ipc_namespace", CLONE_NEWIPC}, {"uts_namespace", CLONE_NEWUTS}, {"cgroup_namespace", CLONE_NEWCGROUP},
	};
	for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
		int err = run_in_child(try_namespace, spaces[i].flag);
		print(spaces[i].name, err == 0, err ? strerror(err) : "created");
	}
}

/* Reports whether a slot can open the memory of a program, as the holders of supervise/kill.c do. */
static void check_address_spaces(const struct launcher *l, const struct run *run)
{
	char name[32];
	snprintf(name, sizeof name, "%d/mem", (int)run->program);
	int fd = openat(l->proc, name, O_RDONLY | O_CLOEXEC);
	print("address_spaces", fd >= 0, fd >= 0 ? "those of programs can be held" : strerror(errno));
	if (fd >= 0)
		close(fd);
}

/* Builds a box, and reports the controls that the kernel does not confirm for its parked program, or how many it confirms. */
static bool check_box(const struct launcher *l)
{
	static const struct shape shape = {1 << 20, 64, 1 << 20, 64};
	static struct slot s;
	static struct box b;
	static struct run run;
	struct failure f = {0};
	struct teardown t;
	char text[160];

	if (slot_prepare(&s, l, 0, &f) < 0 || build_box_and_run(&s, &b, &run, &shape, false, &f) < 0) {
		print_failure("box", &f);
		return false;
	}
	print("own_image", s.own_image, s.own_image ? "an overlay for each slot" : "the kernel cannot mount an overlay");
	leaf_limit(&l->groups, run.leaf, 16 << 20, 10, &f);
	uint64_t memory = 0, pids = 0, peak = 0;
	run_read(&run, FACT_MEMORY_LIMIT, &memory);
	run_read(&run, FACT_PIDS_LIMIT, &pids);
	print("memory_limit", memory == 16 << 20, f.step ? f.object : "written and read back");
	print("process_limit", pids == 10, f.step ? f.object : "written and read back");
	bool has_peak = run_read(&run, FACT_MEMORY_PEAK, &peak) == 0;
	print("memory_peak", has_peak, has_peak ? "readable" : "the kernel does not count it (v2: Linux 5.19)");
	unsigned applied = 0;
	bool good = true;
	for (int c = 0; c < CONTROL_COUNT; c++) {
		applied += control_applied(&run, c);
		if (!run.control[c] || control_applied(&run, c)) /* those of limits are not read here, but when a program starts and ends */
			continue;
		snprintf(text, sizeof text, "%s: %s", control_name[c], run.control[c]);
		print("box", false, text);
		good = false;
	}
	snprintf(text, sizeof text, "%u controls confirmed by the kernel", applied);
	if (good)
		print("box", true, text);
	check_address_spaces(l, &run);
	remove_box_and_run(&s, &b, &run, &t);
	bool clean = t.reaped && t.populated <= 0 && !t.pids_left && !t.leftovers && !t.errors;
	print("teardown", clean, clean ? "no process, group or mount left" : t.leftovers ? t.leftover[0] : "see the launcher's log");
	return good && clean;
}

/* RLIMIT_CORE (slot/resources.c) prevents core files, and core handlers behind a pipe, but not a core handler behind a socket. */
static void check_core_handler(const struct launcher *l)
{
	char first = 0;
	int fd = openat(l->proc, "sys/kernel/core_pattern", O_RDONLY | O_CLOEXEC);
	bool read_it = fd >= 0 && read(fd, &first, 1) == 1;
	if (fd >= 0)
		close(fd);
	print("core_handler", read_it && first != '@', !read_it ? "cannot be read" : first == '@' ? "behind a socket" : "not started");
}

/*
 * Reports whether the host has registered an interpreter of a binary format with the flag F. The kernel opens such an interpreter when
 * it is registered, so boxes would run it although it is not in the image.
 */
static void check_formats(const struct launcher *l)
{
	int copy = openat(l->proc, "sys/fs/binfmt_misc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	char found[64] = "", text[1024];
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		int fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
		if (fd >= 0)
			close(fd);
		text[n > 0 ? n : 0] = 0;
		const char *flags = strstr(text, "\nflags: ");
		if (flags && !strncmp(text, "enabled", 7) && memchr(flags, 'F', strcspn(flags + 1, "\n") + 1))
			snprintf(found, sizeof found, "%.60s", entry->d_name);
	}
	if (dir)
		closedir(dir);
	else if (copy >= 0)
		close(copy);
	print("formats", !*found, *found ? found : "no interpreter of the host is reachable");
}

/* Reports whether the launcher's socket can refuse descriptors. */
static void check_descriptors(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool refused = fd >= 0 && refuse_descriptors(fd);
	print("descriptors", refused, refused ? "the launcher accepts none" : strerror(errno));
	if (fd >= 0)
		close(fd);
}

/* Makes the network of a sandbox, in a namespace of its own. Returns 0 if it has no route out, otherwise an errno. */
static const struct launcher *network_tried_for;
static int try_network(int unused)
{
	struct failure f = {0};
	struct network n;
	(void)unused;
	int namespace = unshare(CLONE_NEWNET) < 0 ? -1 : open_proc(network_tried_for, "self/ns/net");
	if (namespace < 0)
		return errno;
	if (loopback_enable(&network_tried_for->loopback, &f) < 0 || network_make(&n, namespace, -1, &f) < 0)
		return f.err ? f.err : EIO;
	return network_leak(&n) ? EPERM : 0;
}

static void check_network(const struct launcher *l, bool has_sockets)
{
	network_tried_for = l;
	int err = has_sockets ? run_in_child(try_network, 0) : 0;
	const char *without = has_sockets ? strerror(err) : "there are no sockets in sandboxes";
	print("sandbox_network", has_sockets && !err, has_sockets && !err ? "has no route out" : without);
}

/*
 * Reports whether this machine can have sandboxes that live, and what only some kernels permit there: sockets on their loopback interface, a network, locks of files, and
 * a peak of memory for each execution.
 */
static void check_sandboxes(struct launcher *l)
{
	enum { MEMORY = 64 << 20 };
	struct failure f = {0}, no_sockets = {0}, no_locks = {0};
	static const char none[] = "there are no sandboxes";
	bool there = require_private_changes(l, &f) == 0 && sandboxes_make(&l->sandboxes, &l->groups, MEMORY, 1, &f) == 0;
	if (there)
		print("sandboxes", true, "their groups can be stopped and killed");
	else
		print_failure("sandboxes", &f);
	if (!there)
		print("sandbox_sockets", false, none);
	else if (loopback_open(&l->loopback, 1, &no_sockets) < 0)
		print_failure("sandbox_sockets", &no_sockets);
	else
		print("sandbox_sockets", true, "bounded by BPF programs");
	check_network(l, there && l->loopback.counts >= 0);
	if (!there)
		print("sandbox_locks", false, none);
	else if (locks_open(&l->locks, &l->sandboxes, &no_locks) < 0)
		print_failure("sandbox_locks", &no_locks);
	else
		print("sandbox_locks", true, "bounded by BPF programs");
	bool renews = there && l->sandboxes.below.renews_peak;
	print("sandbox_memory_peak", renews, renews ? "begins anew for each execution" : there ? "the kernel cannot let it begin anew (v2: Linux 6.12)" : none);
}

static void check_image_memory(const char *image, uint64_t most)
{
	struct failure f = {0};
	uint64_t bytes = 0;
	char text[64];
	if (image_lock(image, most, &bytes, &f) < 0) {
		print_failure("image_in_memory", &f);
		return;
	}
	snprintf(text, sizeof text, "%llu MiB stay while the service runs", (unsigned long long)bytes >> 20);
	print("image_in_memory", true, text);
}

int check_print(struct launcher *l, const char *image, uint64_t image_bytes)
{
	struct failure f = {0}, no_bpf = {0};
	bool good = true;

	print("build", true, l->build);
	print("root", geteuid() == 0, geteuid() == 0 ? "yes" : "needs root");
	check_kernel(l->kernel);
	check_namespaces();
	check_core_handler(l);
	check_descriptors();
	if (seccomp_prepare(SECCOMP_SUBMISSION, &f) < 0) {
		print_failure("seccomp", &f);
	} else {
		int err = run_in_child(try_seccomp, 0);
		print("seccomp", err == 0, err ? strerror(err) : "a refused call was refused");
	}
	if (groups_open(&l->groups, l->instance, &f) < 0) {
		print_failure("cgroup", &f);
		groups_close(&l->groups, l->instance);
		return 1;
	}
	print("cgroup", true, groups_backend(&l->groups));
	print("pressure", l->groups.pressure, l->groups.pressure ? "counted for each group" : "the kernel does not count it for each group");
	print("cpu_share", l->groups.shares_cpu, l->groups.shares_cpu ? "the same for each box" : "the launcher has no cpu controller");
	bool protected = protect_from_oom(l);
	print("oom_score", protected, protected ? "-900 for the launcher, 1000 for programs" : "1000 for programs; the host does not permit -900 for the launcher");
	check_formats(l);
	print("swap", !host_swaps(), host_swaps() ? "the host has swap: limited together with memory" : "none");
	check_image_memory(image, image_bytes);
	l->signal_map = signals_open(&no_bpf);
	if (l->signal_map >= 0)
		print("bpf", true, "signal tracepoint attached");
	else
		print_failure("bpf", &no_bpf);
	check_sandboxes(l);
	if (image_enter(image, &f) < 0) {
		print_failure("image", &f);
		good = false;
	} else {
		print("image", true, "entered, read-only");
		good = check_box(l);
	}
	if (groups_close(&l->groups, l->instance) > 0)
		print("cgroup", good = false, "some groups could not be removed");
	return !good;
}
