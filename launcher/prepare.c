/*
 * Prepares the launcher (prepare.h): main.c and bench.c call its functions in the order of the header. The order in prepare()
 * is that of the privileges: what needs a capability or a file of the host comes before both are given up.
 */
#define _GNU_SOURCE
#include "prepare.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "image-root.h"
#include "seccomp.h"
#include "signals.h"
#include "supervise/supervise.h"

#ifndef ASSAY_BUILD
#define ASSAY_BUILD "unnamed"
#endif

const char build_name[] = ASSAY_BUILD;

#ifdef __SANITIZE_ADDRESS__
/* The leak check at exit needs /proc, which cannot be reached from inside the image. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_leaks=0"; }
#endif

_Noreturn void die(const struct failure *f)
{
	fprintf(stderr, "assay-launcher: %s: %s%s%s\n", f->step, f->object, f->err ? ": " : "", f->err ? strerror(f->err) : "");
	exit(1);
}

long parse_number(const char *text, long smallest, long largest, const char *name)
{
	char *end;
	errno = 0;
	long value = strtol(text, &end, 10);
	if (errno || end == text || *end || value < smallest || value > largest) {
		fprintf(stderr, "assay-launcher: --%s takes a number from %ld to %ld\n", name, smallest, largest);
		exit(2);
	}
	return value;
}

bool valid_instance(const char *name)
{
	return name && *name && strlen(name) <= 40 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(name);
}

bool open_standard_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			return false;
	return true;
}

void reset_all_signals(void)
{
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL); /* fails for KILL, STOP and the C library's signals, which stay default */
}

/* Gives the launcher a name that no other one has, so that a service can tell whether the launcher of its sandboxes still runs. */
static void name_launcher(struct launcher *l)
{
	unsigned char bytes[sizeof l->name / 2];
	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) {
		perror("assay-launcher: random number");
		exit(1);
	}
	for (size_t i = 0; i < sizeof bytes; i++)
		snprintf(l->name + 2 * i, 3, "%02x", bytes[i]);
}

/* Makes the notes of all processes. Processes that serve a connection do not pass them on (serve.c). */
static int make_notes(struct launcher *l, struct failure *f)
{
	l->notes = mmap(NULL, notes_size(l), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return l->notes == MAP_FAILED ? fail(f, "start", "shared memory") : 0;
}

void init_launcher(struct launcher *l, const char *instance, uid_t uid_base, unsigned slots)
{
	struct utsname kernel;
	uname(&kernel);
	snprintf(l->kernel, sizeof l->kernel, "%.60s %.30s", kernel.release, kernel.machine);
	l->instance = instance;
	l->build = build_name;
	name_launcher(l);
	l->uid_base = uid_base;
	l->slots = slots;
	l->signal_map = l->loopback.counts = l->loopback.settings = l->locks.sandboxes = -1;
	l->sockets = l->egress = l->egress_namespace = -1;
	l->disks = disks_none();
	l->proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	l->lookup_ns = baseline_lookup_ns(l->proc);
}

/*
 * The bounding set takes effect only at an exec, and of the processes of a slot only the program calls exec. So the set is emptied
 * once here instead of once for each box, which saves 41 calls.
 */
void clear_bounding_set(void)
{
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		prctl(PR_CAPBSET_DROP, cap, 0, 0, 0); /* every box verifies the effect: the control no_capabilities */
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

/*
 * Drops all capabilities but those that the launcher and its slots need. CAP_SYS_ADMIN is among these, so this does not contain an
 * attacker, but it takes away kernel modules, port I/O and network administration.
 */
static int keep_capabilities(const struct launcher *l, struct failure *f)
{
	static const int needed[] = {
		CAP_SYS_ADMIN, CAP_SYS_CHROOT,  /* mounts, namespaces, setns() into a box; the tracepoint */
		CAP_MKNOD,                      /* /dev of a slot */
		CAP_SETUID, CAP_SETGID, CAP_SETPCAP, CAP_SYS_RESOURCE, /* users, groups, securebits and fixed limits of programs */
		CAP_CHOWN,                      /* pipes belong to the user that writes into them */
		CAP_SYS_PTRACE, CAP_DAC_OVERRIDE, /* /proc of a program; directories to which the program removed access */
		CAP_KILL, CAP_SYS_NICE,         /* signals to programs; their CPUs, and the priority of a slot */
	};
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct now[2], most[2] = {{0}};
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		most[CAP_TO_INDEX(needed[i])].permitted |= CAP_TO_MASK(needed[i]);
	/*
	 * The kernel changes files of an overlay with the capabilities of the process that mounted it: without this one, no program of a sandbox
	 * could change the mode of its own files. Slots drop it (slot_confine()).
	 */
	if (l->holders)
		most[CAP_TO_INDEX(CAP_FOWNER)].permitted |= CAP_TO_MASK(CAP_FOWNER);
	/* Holders raise the loopback interface of their sandbox, and drop this as well. */
	if (l->loopback.counts >= 0)
		most[CAP_TO_INDEX(CAP_NET_ADMIN)].permitted |= CAP_TO_MASK(CAP_NET_ADMIN);
	if (syscall(__NR_capget, &header, now) < 0)
		return fail(f, "capabilities", "read");
	if (l->holders && !(now[CAP_TO_INDEX(CAP_FOWNER)].permitted & CAP_TO_MASK(CAP_FOWNER)))
		return fail_with(f, EPERM, "capabilities", "sandboxes need CAP_FOWNER");
	for (int i = 0; i < 2; i++) {
		most[i].permitted &= now[i].permitted;
		most[i].effective = most[i].permitted;
	}
	return syscall(__NR_capset, &header, most) < 0 ? fail(f, "capabilities", "keep what boxes need") : 0;
}

/*
 * Requires that neither the group nor others may execute the launcher's file. Until the exec of a program, its /proc/self/exe is the
 * launcher, and a script that names /proc/self/exe as its interpreter would run the launcher.
 */
static int require_private_executable(struct failure *f)
{
	struct stat st;
	if (stat("/proc/self/exe", &st) < 0)
		return fail(f, "start", "/proc/self/exe");
	return st.st_mode & 011 ? fail_with(f, EPERM, "start", "others may execute this program: chmod 0700") : 0;
}

bool protect_from_oom(const struct launcher *l)
{
	char text[16] = "";
	int fd = openat(l->proc, "self/oom_score_adj", O_RDWR | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, "-900", 4) == 4 && pread(fd, text, sizeof text - 1, 0) > 0 && atoi(text) == -900;
	if (fd >= 0)
		close(fd);
	return done;
}

/*
 * Clears the number of the user who logged in and the number of that session, which counts the logins of the host. Processes
 * inherit both, and programs could read them in their /proc. Under systemd, the launcher has neither.
 */
static void clear_login(const struct launcher *l)
{
	static const char none[] = "4294967295";
	char text[16] = "";
	int fd = openat(l->proc, "self/loginuid", O_RDONLY | O_CLOEXEC);
	if (fd < 0) /* the kernel does not keep logins */
		return;
	if (pread(fd, text, sizeof text - 1, 0) > 0 && strcmp(text, none)) {
		int change = openat(l->proc, "self/loginuid", O_WRONLY | O_CLOEXEC);
		if (change < 0 || write(change, none, sizeof none - 1) < 0 || pread(fd, text, sizeof text - 1, 0) <= 0 || strcmp(text, none))
			fprintf(stderr, "assay-launcher: programs can read the number of the user who logged in (%.10s): %s\n", text, strerror(errno));
		if (change >= 0)
			close(change);
	}
	close(fd);
}

/* Whether anonymous memory gets huge pages only on request, or never. False if that is not known. */
static bool huge_pages_on_request(void)
{
	glob_t files;
	bool on_request = glob("/sys/kernel/mm/transparent_hugepage/{,hugepages-*/}enabled", GLOB_BRACE, NULL, &files) == 0;
	for (size_t i = 0; on_request && i < files.gl_pathc; i++) {
		char text[64] = "";
		int fd = open(files.gl_pathv[i], O_RDONLY | O_CLOEXEC);
		on_request = fd >= 0 && read(fd, text, sizeof text - 1) > 0 && !strstr(text, "[always]");
		if (fd >= 0)
			close(fd);
	}
	globfree(&files);
	return on_request;
}

/*
 * Disables huge pages for this process and all that inherit its setting, if the host gives them to all anonymous memory: programs
 * would get them without a call that the filter could refuse (seccomp.def explains why they must not have any). On other hosts, this
 * would only take away the huge pages of the image's files. A change of the host's setting takes effect at the next start of the
 * launcher.
 */
static int refuse_huge_pages(struct failure *f)
{
	if (huge_pages_on_request() || prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0 || errno == EINVAL) /* EINVAL: the kernel has none */
		return 0;
	return fail(f, "start", "huge pages cannot be disabled");
}

int require_private_changes(const struct launcher *l, struct failure *f)
{
	char text[8] = "";
	int fd = open_proc(l, "sys/fs/suid_dumpable");
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	return n > 0 && text[0] == '1' ? fail_with(f, EPERM, "start", "sandboxes need fs.suid_dumpable 0 or 2") : 0;
}

/*
 * Makes the directory in which a holder listens for its attached slots. Its file system is mounted nowhere, so that no path leads to it, and only
 * processes that inherit the descriptor find the sockets.
 */
static int make_socket_directory(struct launcher *l, struct failure *f)
{
	enum { CREATE = 6, SET_STRING = 1, CLOSE_ON_EXEC = 1 };
	int configured = (int)syscall(__NR_fsopen, "tmpfs", CLOSE_ON_EXEC);
	if (configured < 0)
		return fail(f, "sockets", "file system");
	bool done = syscall(__NR_fsconfig, configured, SET_STRING, "size", "1m", 0) == 0 &&
		    syscall(__NR_fsconfig, configured, SET_STRING, "mode", "0700", 0) == 0 &&
		    syscall(__NR_fsconfig, configured, CREATE, NULL, NULL, 0) == 0;
	if (done)
		l->sockets = (int)syscall(__NR_fsmount, configured, CLOSE_ON_EXEC, 0xe /* no set-uid, no devices, no programs */);
	int err = errno;
	close(configured);
	return l->sockets < 0 ? fail_with(f, err, "sockets", "file system") : 0;
}

/*
 * Loads what bounds sockets and locks in sandboxes. If the host does not permit it, sandboxes do without: their record shows that (send_held() in
 * sandbox/holder.c).
 */
static void open_bounds(struct launcher *l)
{
	struct failure no_sockets = {0}, no_locks = {0};
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct now[2] = {{0}};
	syscall(__NR_capget, &header, now);
	if (!(now[CAP_TO_INDEX(CAP_NET_ADMIN)].permitted & CAP_TO_MASK(CAP_NET_ADMIN)))
		fail_with(&no_sockets, EPERM, "capabilities", "CAP_NET_ADMIN");
	if (l->has_loopback && (no_sockets.step || loopback_open(&l->loopback, l->holders, &no_sockets) < 0))
		fprintf(stderr, "assay-launcher: sandboxes have no sockets on the loopback interface (%s %s: %s)\n", no_sockets.step, no_sockets.object,
			strerror(no_sockets.err));
	if (locks_open(&l->locks, &l->sandboxes, &no_locks) < 0)
		fprintf(stderr, "assay-launcher: locks of files in sandboxes succeed without effect (%s %s: %s)\n", no_locks.step, no_locks.object,
			strerror(no_locks.err));
}

/*
 * Opens the directory of the proxy's socket, as a mount of its own that is mounted nowhere: a relay that is there finds the socket, also when the image is the root
 * directory, and no path leads from there to another directory of the host. Makes the network namespace of relays.
 */
static int open_egress(struct launcher *l, struct failure *f)
{
	enum { CLONED = 1 };
	struct stat st;
	l->egress = (int)syscall(__NR_open_tree, AT_FDCWD, l->egress_directory, CLONED | O_CLOEXEC);
	if (l->egress < 0 || fstat(l->egress, &st) < 0)
		return fail(f, "network", "directory of the proxy");
	if (!S_ISDIR(st.st_mode))
		return fail_with(f, ENOTDIR, "network", "directory of the proxy");
	l->egress_gid = st.st_gid;
	int own = open_proc(l, "self/ns/net");
	if (own < 0 || unshare(CLONE_NEWNET) < 0 || (l->egress_namespace = open_proc(l, "self/ns/net")) < 0 || setns(own, CLONE_NEWNET) < 0)
		return fail(f, "namespaces", "network of the relays");
	close(own);
	return 0;
}

static int prepare_sandboxes(struct launcher *l, unsigned slots, struct failure *f)
{
	/* All sandboxes together get as much CPU time as all submissions together. */
	if (require_private_changes(l, f) < 0 || sandboxes_make(&l->sandboxes, &l->groups, l->sandbox_memory, cpus_usable(l->cpus, slots), f) < 0 ||
	    make_socket_directory(l, f) < 0)
		return -1;
	open_bounds(l);
	if (l->egress_directory && open_egress(l, f) < 0)
		return -1;
	/* The operator has asked for disks, so a machine without them is not what was asked for. */
	return l->disk_bytes ? disks_open(&l->disks, l->disk_directory, l->disk_bytes, f) : 0;
}

/* Prepares for sandboxes, or for refusing them (accept_client() in serve.c). */
static int prepare_sandboxes_if_possible(struct launcher *l, unsigned slots, struct failure *f)
{
	const struct group_set none = l->sandboxes;
	if (prepare_sandboxes(l, slots, f) == 0)
		return 0;
	if (!l->sandboxes_if_possible)
		return -1;
	fprintf(stderr, "assay-launcher: this machine can have no sandboxes, so requests for them are refused (%s %s: %s)\n", f->step, f->object, strerror(f->err));
	*f = (struct failure){0};
	l->sandboxes = none;
	l->holders = l->attached = 0;
	return 0;
}

void prepare(struct launcher *l, const char *image, unsigned slots)
{
	struct failure f = {0}, no_bpf = {0};

	prctl(PR_SET_DUMPABLE, 0);
	/* A program is a child of its slot. When the slot dies, the launcher must reap the program, because not every pid 1 does that. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (l->proc < 0)
		fail(&f, "start", "/proc");
	if (f.step || require_private_executable(&f) < 0 || refuse_huge_pages(&f) < 0 || seccomp_prepare(SECCOMP_SUBMISSION, &f) < 0)
		die(&f);
	clear_login(l);
	protect_from_oom(l); /* if the host refuses, `assay doctor` says so; programs have the score 1000 and are killed first in any case */
	if (!(l->cpus = cpus_open(l->slots + l->holders + l->attached, &f)) || make_notes(l, &f) < 0)
		die(&f);
	if (groups_open(&l->groups, l->instance, &f) < 0) {
		groups_close(&l->groups, l->instance); /* removes those that were created before the failure */
		die(&f);
	}
	if (l->holders && prepare_sandboxes_if_possible(l, slots, &f) < 0) {
		groups_close(&l->groups, l->instance);
		die(&f);
	}
	/* No weight beyond that of one program for each CPU: the service and other programs of the machine need CPU time as well. */
	/* All sandboxes have the weight of all submissions, and must not take from that next to other programs of the machine. */
	groups_set_weight(&l->groups, cpus_usable(l->cpus, slots) * (l->holders ? 2 : 1));
	if (!l->groups.shares_cpu)
		fprintf(stderr, "assay-launcher: no cpu controller: a box with more processes gets more CPU time\n");
	if ((l->signal_map = signals_open(&no_bpf)) < 0)
		fprintf(stderr, "assay-launcher: no signal tracepoint (%s %s: %s): only its signal then shows an "
			"exceeded file-size limit, and a program can send that signal to itself\n", no_bpf.step, no_bpf.object, strerror(no_bpf.err));
	if (image_enter(image, &f) < 0 || keep_capabilities(l, &f) < 0) {
		groups_close(&l->groups, l->instance);
		die(&f);
	}
}
