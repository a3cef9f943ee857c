/*
 * The two processes of a box: box.c starts the init, and run/run.c the program. They begin as copies of the slot, as root with
 * its capabilities and filter. At its exec, the program has no privilege.
 *
 * become_init     This is pid 1 of the box's pid namespace. It mounts, drops its capabilities
 *                 and waits. When it ends, the kernel kills and reaps everything that is left
 *                 in the namespace. It runs no payload and reads nothing that
 *                 a payload wrote.
 * become_program  This process is born in the cgroups of its run as a child of the slot, so that the
 *                 slot receives its exit status from the kernel. It is not pid 1: pid 1
 *                 is protected from default signal actions, which would falsify SIG,
 *                 FSE and TLE. The order matters: steps that need privilege come
 *                 before those that drop it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <unistd.h>

#include "box/init.h"
#include "clock.h"
#include "descriptors.h"
#include "seccomp.h"

static struct child_failure *failure;
static int ready_fd;

/* Records the failed step and errno in the shared memory, wakes the slot and exits. */
static _Noreturn void setup_failed(const char *step, const char *object)
{
	failure->err = errno;
	snprintf(failure->object, sizeof failure->object, "%s", object);
	snprintf(failure->step, sizeof failure->step, "%s", step);
	uint64_t one = 1;
	if (write(ready_fd, &one, sizeof one) < 0)
		_exit(126);
	_exit(125);
}

static void must(long result, const char *step, const char *object)
{
	if (result < 0)
		setup_failed(step, object);
}

static void signal_ready(void)
{
	uint64_t one = 1;
	must(write(ready_fd, &one, sizeof one), "ready", "write");
}

static void reset_signals(void)
{
	/* The launcher and the slot change only these. reset_all_signals() has reset the others once, which saves 60 calls for each box. */
	static const int changed[] = {SIGTERM, SIGINT, SIGPIPE, SIGCHLD};
	struct sigaction standard = {.sa_handler = SIG_DFL};
	sigset_t none;
	for (size_t i = 0; i < sizeof changed / sizeof *changed; i++)
		sigaction(changed[i], &standard, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void drop_capabilities(void)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct none[2] = {{0}};
	must(keyed(capset, &header, none), "capabilities", "capset");
}

static void mount_tmpfs(const char *at, unsigned long flags, unsigned mode, uint64_t bytes, uint64_t inodes)
{
	char options[96];
	snprintf(options, sizeof options, "mode=%o,size=%llu,nr_inodes=%llu", mode, (unsigned long long)bytes, (unsigned long long)inodes);
	must(keyed(mount, "tmpfs", at, "tmpfs", flags, options), "mount", at);
}

static void mount_all(const struct init_args *args)
{
	static const char *const directories[] = {"/tmp", "/dev/shm"};
	const struct shape *shape = &args->shape;
	if (args->new_work) /* writable for the uids of both lanes, which use it one after the other */
		mount_tmpfs("/box", WORK_FLAGS, 0777, shape->work_bytes, shape->work_inodes);
	for (int i = 0; i < 2; i++)
		mount_tmpfs(directories[i], WORK_FLAGS | MS_NOEXEC, 01777, shape->tmp_bytes, shape->tmp_inodes);
	/* This /proc shows only processes of the box that belong to the user who reads it, and nothing of the machine. It is read-only. */
	must(keyed(mount, "proc", "/proc", "proc", (unsigned long)(WORK_FLAGS | MS_NOEXEC | MS_RDONLY), "hidepid=invisible,subset=pid"),
	     "mount", "/proc");
}

/* The init of a sandbox mounts more than a slot may, so it installs its filter only afterwards. */
static void enter_sandbox(const struct sandbox_root *root)
{
	struct failure f = {0};
	if (sandbox_root_enter(root, &f) < 0 || seccomp_prepare(SECCOMP_SANDBOX, &f) < 0) {
		errno = f.err;
		setup_failed(f.step, f.object);
	}
	must(seccomp_enter(), "seccomp", "filter");
}

_Noreturn void become_init(const struct init_args *args)
{
	int lifeline = args->lifeline, ready = args->ready, disk = args->sandbox ? args->sandbox->disk_mount : -1, proc = args->sandbox ? args->sandbox->proc_mount : -1;
	failure = args->failure;
	ready_fd = args->ready;
	must(close_all_but((int[]){lifeline, ready, disk, proc}, 4), "descriptors", "close");
	must(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0), "init", "parent death signal");
	must(prctl(PR_SET_NAME, "assay-init", 0, 0, 0), "init", "name");
	if (args->sandbox)
		enter_sandbox(args->sandbox);
	else
		mount_all(args);
	close_fd(&disk);
	close_fd(&proc);

	/* With SIGCHLD ignored, the kernel reaps orphans by itself. */
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	must(sigaction(SIGCHLD, &ignore, NULL), "init", "reaping");
	drop_capabilities();
	seccomp_key = 0;
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "init", "no_new_privs");
	must(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "init", "dumpable");
	signal_ready();
	close(ready);

	char byte;
	while (read(lifeline, &byte, 1) < 0 && errno == EINTR)
		continue;
	_exit(0); /* the slot closed its end: the kernel now kills everything in this namespace */
}

static void arrange_descriptors(const struct program_args *args)
{
	must(dup2(args->stdin_fd, 0), "descriptors", "stdin");
	must(dup2(args->out_fd, 1), "descriptors", "stdout");
	must(dup2(args->err_fd, 2), "descriptors", "stderr");
	/* All are copied to higher numbers first, because each may now have the number that another one is to get. */
	int go = fcntl(args->go, F_DUPFD_CLOEXEC, SOURCE_FD + 1), ready = fcntl(args->ready, F_DUPFD_CLOEXEC, SOURCE_FD + 1);
	int source = args->source_fd < 0 ? -1 : fcntl(args->source_fd, F_DUPFD_CLOEXEC, SOURCE_FD + 1);
	must(dup3(go, GO_FD, O_CLOEXEC), "descriptors", "go");
	must(dup3(ready, READY_FD, O_CLOEXEC), "descriptors", "ready");
	if (args->source_fd >= 0)
		must(dup3(source, SOURCE_FD, O_CLOEXEC), "descriptors", "source");
	ready_fd = READY_FD;
	must(close_others(args->source_fd >= 0 ? SOURCE_FD + 1 : READY_FD + 1, NULL, 0), "descriptors", "close");
	/* The two are close-on-exec, so a program gets only 0, 1 and 2. exec_program() clears that flag for a runtime. */
}

static void enter_box(const struct program_args *args)
{
	/* When the machine is out of memory, the kernel kills programs first. A program cannot lower this score again. */
	int score = openat(args->proc, "self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	must(score, "oom score", "open");
	must(write(score, "1000", 4), "oom score", "write");
	/* Joining the cgroups now is cheap: the process has one thread. */
	for (int t = 0; t < TREE_COUNT; t++)
		if (args->tasks[t] >= 0)
			must(write(args->tasks[t], "0", 1), "cgroup", "enter");
	must(keyed(setns, args->init_pidfd, CLONE_NEWNS), "namespaces", "mount");
	for (int i = 0; i < LANE_NAMESPACES; i++)
		must(keyed(setns, args->namespace_fd[i], lane_namespaces[i].flag), "namespaces", lane_namespaces[i].name);
	must(keyed(unshare, CLONE_NEWCGROUP), "namespaces", "cgroup");
}

static void drop_identity(uid_t uid)
{
	must(keyed(setresgid, uid, uid, uid), "identity", "gid");
	must(keyed(setresuid, uid, uid, uid), "identity", "uid");
	drop_capabilities();
	/* These come after the change of the uid, which clears the parent death signal and may make the process dumpable (fs.suid_dumpable). */
	must(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0), "identity", "parent death signal");
	must(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "identity", "dumpable");
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs", "set");
}

/*
 * Copies the input from the file of the slot. A page of a file in memory is charged to the group of the process that writes it first; another
 * program of the sandbox can keep the input open for as long as the sandbox lives.
 */
static void copy_input(void)
{
	char chunk[16384];
	off_t at = 0;
	for (ssize_t n; (n = pread(SOURCE_FD, chunk, sizeof chunk, at)) != 0; at += n) {
		must(n, "stdin", "read");
		if (pwrite(0, chunk, (size_t)n, at) != n)
			setup_failed("stdin", "copy");
	}
	must(fcntl(0, F_ADD_SEALS, STDIN_SEALS), "stdin", "seal");
	close(SOURCE_FD);
}

/* Sets the limits and executes the program. The process has no privileges any more. */
static void exec_program(struct exec_args *exec_args)
{
	for (int r = 0; r < RLIM_NLIMITS; r++) {
		if (!exec_args->set[r])
			continue;
		must(keyed(prlimit64, 0, r, &exec_args->rlimit[r], NULL), "rlimit", "of the request");
		must(getrlimit(r, &exec_args->read[r]), "rlimit", "read back");
	}
	must(chdir(exec_args->directory ? exec_args->directory : "/box"), "chdir", "of the program");
	if (exec_args->runtime)
		for (int fd = GO_FD; fd <= READY_FD; fd++)
			must(fcntl(fd, F_SETFD, 0), "descriptors", "of the runtime");
	exec_args->exec_ns = now_ns();
	if (exec_args->search) {
		environ = exec_args->envp;
		execvp(exec_args->argv[0], exec_args->argv);
	} else {
		execve(exec_args->argv[0], exec_args->argv, exec_args->envp);
	}
	setup_failed("exec", "program");
}

_Noreturn void become_program(const struct program_args *args)
{
	failure = &args->exec_args->failure;
	ready_fd = args->ready;
	reset_signals();
	must(setsid(), "session", "new");
	umask(022);
	enter_box(args);
	arrange_descriptors(args);
	if (args->terminal)
		must(ioctl(0, TIOCSCTTY, 0), "terminal", "control");
	drop_identity(args->uid);
	signal_ready();

	uint64_t go;
	ssize_t n;
	while ((n = read(GO_FD, &go, sizeof go)) < 0 && errno == EINTR)
		continue;
	must(n, "go", "read");
	if (args->source_fd >= 0)
		copy_input();
	exec_program(args->exec_args);
	_exit(125);
}
