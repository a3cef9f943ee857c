/*
 * Replaces the kernel's files about a parked program by any text: a control must be confirmed only if a second implementation finds
 * it in the same text.
 *
 * Input: status, cgroup and mountinfo of the program, separated by NULs.
 */
#include "../run/controls.c"
#include "files.h"

enum { PROGRAM = 7, UID = 1234, TREES = 2 };

static int status, cgroup, mountinfo;
static struct launcher launcher;
static struct slot slot;
static struct lane lane = {.uid = UID};
static struct leaf leaf = {.name = "s0-b1"};

static void open_files(void)
{
	launcher.proc = files_directory();
	mkdirat(launcher.proc, "7", 0700);
	status = files_add(launcher.proc, "7/status");
	cgroup = files_add(launcher.proc, "7/cgroup");
	mountinfo = files_add(launcher.proc, "7/mountinfo");
	slot.launcher = &launcher;
	for (int t = 0; t < TREE_COUNT; t++)
		launcher.groups.dir[t] = t < TREES ? 0 : -1;
}

/* Counts the lines that begin with `start` and end with `end`. */
static int lines(const char *text, const char *start, const char *end)
{
	int found = 0;
	for (const char *line = text, *next; (next = strchr(line, '\n')); line = next + 1) {
		size_t length = (size_t)(next - line);
		found += length >= strlen(start) && length >= strlen(end) && !memcmp(line, start, strlen(start)) &&
			!memcmp(next - strlen(end), end, strlen(end));
	}
	return found;
}

static void check_status(const struct run *run, const char *text)
{
	static const char ids[] = "1234\t1234\t1234\t1234", none[] = "0000000000000000";
	static const char *const sets[] = {"CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"};
	if (control_applied(run, CONTROL_unprivileged_user))
		EXPECT(lines(text, "Uid:", ids) && lines(text, "Gid:", ids) && lines(text, "Groups:", ""));
	for (size_t i = 0; control_applied(run, CONTROL_no_capabilities) && i < sizeof sets / sizeof *sets; i++)
		EXPECT(lines(text, sets[i], none));
	EXPECT(!control_applied(run, CONTROL_no_new_privileges) || lines(text, "NoNewPrivs:", "1"));
	EXPECT(!control_applied(run, CONTROL_seccomp_filter) || lines(text, "Seccomp:", "2"));
}

static void check_mounts(const struct run *run, const char *text)
{
	static const char *const sealed[] = {"ro", "nosuid", "nodev"};
	static const char *const needed[] = {"ro", "nosuid", "nodev", "noexec", "hidepid=invisible", "subset=pid", "/proc"};
	for (size_t i = 0; control_applied(run, CONTROL_read_only_root) && i < sizeof sealed / sizeof *sealed; i++)
		EXPECT(strstr(text, sealed[i]));
	EXPECT(!control_applied(run, CONTROL_own_image) || strstr(text, "overlay"));
	for (size_t i = 0; control_applied(run, CONTROL_restricted_proc) && i < sizeof needed / sizeof *needed; i++)
		EXPECT(strstr(text, needed[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct box box = {.groups = &launcher.groups, .lane = &lane, .terminals = -1};
	static struct run run;
	if (!slot.launcher)
		open_files();
	char *text[3];
	const int file[] = {status, cgroup, mountinfo};
	for (int i = 0; i < 3; i++) {
		text[i] = files_next(&data, &size);
		files_set(file[i], text[i], strlen(text[i]));
	}
	run = (struct run){.box = &box, .program = PROGRAM, .leaf = &leaf};
	controls_read(&slot, &run);
	for (int c = 0; c < CONTROL_COUNT; c++)
		EXPECT(!run.control[c] == (c == CONTROL_memory_limit || c == CONTROL_process_limit || c == CONTROL_resource_limits || c == CONTROL_loopback_only));
	for (int i = 0; i < NAMESPACES; i++)
		EXPECT(!control_applied(&run, namespaces[i].control));
	EXPECT(control_applied(&run, CONTROL_cgroup_membership) == (lines(text[1], "", "/s0-b1") == TREES) || strlen(text[1]) > 4000);
	check_status(&run, text[0]);
	check_mounts(&run, text[2]);
	for (int i = 0; i < 3; i++)
		free(text[i]);
	return 0;
}
