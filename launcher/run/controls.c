/*
 * Finds which controls hold. run.c calls this before the exec of a program, and again before the step of a runtime. It
 * reads what the kernel says about the parked program (/proc/<pid>), never what was requested. The program cannot undo a control
 * later: it cannot leave its namespaces, change its identity or clear its flags.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/run.h"
#include "unforked-memory.h"

const char *const control_name[CONTROL_COUNT] = {
#define CONTROL(name) [CONTROL_##name] = #name,
#define SANDBOX_CONTROL(name) CONTROL(name)
#include "controls.def"
#undef CONTROL
#undef SANDBOX_CONTROL
};

static bool in_sandbox(const struct run *run) { return run->box && run->box->terminals >= 0; }

bool control_belongs(const struct run *run, enum control control)
{
	return in_sandbox(run) || control != CONTROL_loopback_only;
}

/*
 * The root of a sandbox can be written. In place of read_only_root, its control says that the image below its own layer cannot. A run that was
 * not built has no box.
 */
const char *control_name_of(const struct run *run, enum control control)
{
	return control == CONTROL_read_only_root && in_sandbox(run) ? "own_upper" : control_name[control];
}

void control_note(struct run *run, enum control control, const char *why_missing)
{
	run->control[control] = why_missing ? why_missing : "";
}

bool control_applied(const struct run *run, enum control control)
{
	return run->control[control] && !*run->control[control];
}

bool controls_applied(const struct run *run)
{
	bool all = true;
	for (int c = 0; c < CONTROL_COUNT; c++)
		all = all && (control_applied(run, c) || !control_belongs(run, c));
	return all;
}

/*
 * Reads a file in /proc of a process, or of the slot itself if `pid` is 0. Returns a line end followed by the content of the file, or
 * by nothing if the file cannot be read. The text is valid until the next call.
 */
static char *read_proc(const struct slot *s, pid_t pid, const char *file)
{
	enum { BYTES = 32768 };
	static struct area area;
	char process[16] = "self", path[64], *text = area_of(&area, BYTES);
	if (pid)
		snprintf(process, sizeof process, "%d", pid);
	snprintf(path, sizeof path, "%s/%s", process, file);
	int fd = openat(s->launcher->proc, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text + 1, BYTES - 2);
	if (fd >= 0)
		close(fd);
	text[0] = '\n';
	text[n > 0 ? n + 1 : 1] = 0;
	return text;
}

static const struct {
	const char *link;
	enum control control;
} namespaces[NAMESPACES] = {
	{"pid", CONTROL_pid_namespace}, {"mnt", CONTROL_mount_namespace}, {"net", CONTROL_network_namespace},
	{"ipc", CONTROL_ipc_namespace}, {"uts", CONTROL_uts_namespace}, {"cgroup", CONTROL_cgroup_namespace},
};

/* Returns the inode of a namespace, or 0, which no namespace has, if it cannot be read. */
static uint64_t namespace_inode(const struct slot *s, const char *process, const char *link)
{
	struct stat st;
	char path[64];
	snprintf(path, sizeof path, "%s/ns/%s", process, link);
	return fstatat(s->launcher->proc, path, &st, 0) < 0 ? 0 : st.st_ino;
}

static void read_namespaces(const struct slot *s, struct run *run)
{
	char process[16];
	snprintf(process, sizeof process, "%d", run->program);
	for (int i = 0; i < NAMESPACES; i++) {
		uint64_t theirs = namespace_inode(s, process, namespaces[i].link);
		control_note(run, namespaces[i].control,
			     theirs == 0 ? "cannot be read" : theirs == s->self_ns[i] ? "is the launcher's own" : NULL);
	}
}

/* Finds the value in the line `name` of /proc/<pid>/status, without leading blanks; "" if there is no such line. */
static const char *status_value(const char *status, const char *name)
{
	const char *line = strstr(status, name);
	return line ? line + strlen(name) + strspn(line + strlen(name), "\t ") : "";
}

/* Returns the number of seccomp filters of a process; -1 if the kernel does not report it. */
static long filter_count(const char *status)
{
	const char *line = status_value(status, "\nSeccomp_filters:");
	return *line ? strtol(line, NULL, 10) : -1;
}

int controls_prepare(struct slot *s)
{
	for (int i = 0; i < NAMESPACES; i++)
		if ((s->self_ns[i] = namespace_inode(s, "self", namespaces[i].link)) == 0)
			return -1;
	const char *text = read_proc(s, 0, "status");
	s->self_filter_count = filter_count(text);
	return text[1] ? 0 : -1;
}

static bool has_value(const char *status, const char *name, const char *value)
{
	const char *line = status_value(status, name);
	return !strncmp(line, value, strlen(value)) && line[strlen(value)] == '\n';
}

static void read_status(const struct slot *s, struct run *run)
{
	const char *text = read_proc(s, run->program, "status");
	char ids[64];
	uid_t id = run->box->lane->uid;
	snprintf(ids, sizeof ids, "%u\t%u\t%u\t%u", id, id, id, id);
	bool user = has_value(text, "\nUid:", ids) && has_value(text, "\nGid:", ids) && has_value(text, "\nGroups:", "");
	control_note(run, CONTROL_unprivileged_user, user ? NULL : "identity is another");

	static const char *const sets[] = {"\nCapInh:", "\nCapPrm:", "\nCapEff:", "\nCapBnd:", "\nCapAmb:"};
	bool none = true;
	for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
		none = none && has_value(text, sets[i], "0000000000000000");
	control_note(run, CONTROL_no_capabilities, none ? NULL : "some are left");
	control_note(run, CONTROL_no_new_privileges, has_value(text, "\nNoNewPrivs:", "1") ? NULL : "is not set");
	/* In a container, the slot has filters before its own. A program inherits all of these, and one more, the slot's own. */
	bool filtered = has_value(text, "\nSeccomp:", "2") && filter_count(text) == s->self_filter_count + 1;
	control_note(run, CONTROL_seccomp_filter, filtered ? NULL : "is not set");
}

/* Notes whether the program is in the leaf of its run in each tree. The limits of the leaf are verified later, when they are set. */
static void read_membership(const struct slot *s, struct run *run)
{
	char end[64];
	const struct groups *g = run->box->groups;
	int needed = 0, found = 0;
	for (int t = 0; t < TREE_COUNT; t++)
		needed += g->dir[t] >= 0 && t != TREE_CPU;
	int length = snprintf(end, sizeof end, "/%s\n", run->leaf->name);
	for (const char *p = read_proc(s, run->program, "cgroup"); (p = strstr(p, end)); p += length)
		found++;
	control_note(run, CONTROL_cgroup_membership, found == needed ? NULL : "is not in every group of its run");
}

/* Words of a line of mountinfo; "" where the line has no such word. */
struct mount_line {
	const char *mount_point, *mount_options, *type;
	const char *super_options; /* options of the file system, as opposed to those of the mount */
};

static struct mount_line split_mount(char *line)
{
	struct mount_line m = {"", "", "", ""};
	const char **before_dash[] = {NULL, NULL, NULL, NULL, &m.mount_point, &m.mount_options};
	const char **after_dash[] = {&m.type, NULL, &m.super_options};
	char *dash = strstr(line, " - "), *rest = NULL;
	if (!dash)
		return m;
	*dash = 0;
	char *word = strtok_r(line, " ", &rest);
	for (size_t i = 0; word && i < sizeof before_dash / sizeof *before_dash; i++, word = strtok_r(NULL, " ", &rest))
		if (before_dash[i])
			*before_dash[i] = word;
	word = strtok_r(dash + 3, " ", &rest);
	for (size_t i = 0; word && i < sizeof after_dash / sizeof *after_dash; i++, word = strtok_r(NULL, " ", &rest))
		if (after_dash[i])
			*after_dash[i] = word;
	return m;
}

/*
 * Notes whether the image is read-only, whether it is an overlay of the slot, and whether /proc shows nothing of the machine and no
 * processes of other users. Of several mounts at one mount point, the last one in the list is on top.
 */
static void read_mounts(const struct slot *s, struct run *run)
{
	static const char *const root_options[] = {"ro", "nosuid", "nodev"};
	static const char *const proc_options[] = {"ro", "nosuid", "nodev", "noexec", "hidepid=invisible", "subset=pid"};
	/*
	 * The root of a sandbox can be written, but not the image below it: programs write to the upper layer of the overlay. Its /proc has
	 * the sandbox's files in place of those of the machine; the holder checks that (sandbox_proc_uncovered()).
	 */
	const bool sandbox = run->box->terminals >= 0;
	struct mount_line root = {"", "", "", ""}, proc = root;
	char *text = read_proc(s, run->program, "mountinfo"), *rest = NULL;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		struct mount_line m = split_mount(line);
		if (!strcmp(m.mount_point, "/"))
			root = m;
		else if (!strcmp(m.mount_point, "/proc"))
			proc = m;
	}
	bool sealed = true, restricted = !strcmp(proc.type, "proc");
	for (size_t i = sandbox; i < sizeof root_options / sizeof *root_options; i++)
		sealed = sealed && list_contains(root.mount_options, root_options[i], ",");
	for (size_t i = 0; i < sizeof proc_options / sizeof *proc_options - sandbox; i++)
		restricted = restricted && (list_contains(proc.mount_options, proc_options[i], ",") ||
					    list_contains(proc.super_options, proc_options[i], ","));
	sealed = sealed && (!sandbox || strstr(root.super_options, "upperdir="));
	control_note(run, CONTROL_read_only_root, sealed ? NULL : "the image can be written, or allows set-uid or devices");
	control_note(run, CONTROL_own_image, strcmp(root.type, "overlay") ? "the image is shared with other boxes" : NULL);
	control_note(run, CONTROL_restricted_proc, restricted ? NULL : "/proc shows or allows more than it should");
}

/* Counts the lines of a text after the first `skipped` ones that do not name the loopback interface. */
static int lines_without(const char *text, const char *interface, int skipped)
{
	int count = 0;
	for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		char copy[512];
		snprintf(copy, sizeof copy, "%.*s", (int)(end - line), line);
		count += skipped-- <= 0 && !strstr(copy, interface);
	}
	return count;
}

/* A sandbox may have sockets of the Internet protocols, so its namespace must have no way to another one. read_proc() begins with a line end. */
static void read_network(const struct slot *s, struct run *run)
{
	const char *interfaces = read_proc(s, run->program, "net/dev");
	bool only = strstr(interfaces, " lo:") && lines_without(interfaces, " lo:", 3) == 0;
	/* IPv4 lists routes but those to own addresses. IPv6, which can be missing, lists all. */
	const char *routes = read_proc(s, run->program, "net/route");
	const char *header = strstr(routes, "\nIface"), *end = header ? strchr(header + 1, '\n') : NULL;
	/* The kernel lists none, not even the header, while the interface is down. */
	bool is_down = s->launcher->loopback.counts < 0 && !routes[1];
	only = only && (is_down || (end && !end[1]));
	only = only && lines_without(read_proc(s, run->program, "net/ipv6_route"), " lo", 1) == 0;
	control_note(run, CONTROL_loopback_only, only ? NULL : "there is another interface, or a route");
}

void controls_read(const struct slot *s, struct run *run)
{
	if (in_sandbox(run))
		read_network(s, run);
	read_namespaces(s, run);
	read_status(s, run);
	read_membership(s, run);
	read_mounts(s, run);
}
