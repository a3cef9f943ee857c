/*
 * Any text as the kernel's files about a parked program: a control is confirmed only if a second implementation finds
 * it in the same lines.
 *
 * Input: status, cgroup and mountinfo of the program, separated by NULs.
 */
#include "../controls.c"
#include "files.h"

enum { PROGRAM = 7, UID = 1234, TREES = 2 };

static int status, cgroup, mountinfo;
static struct launcher launcher;
static struct slot slot;
static struct lane lane = {.uid = UID};

static void open_files(void)
{
	launcher.proc = files_directory();
	mkdirat(launcher.proc, "7", 0700);
	status = files_add(launcher.proc, "7/status");
	cgroup = files_add(launcher.proc, "7/cgroup");
	mountinfo = files_add(launcher.proc, "7/mountinfo");
	slot.launcher = &launcher;
	for (int t = 0; t < TREE_COUNT; t++)
		launcher.groups.home[t] = t < TREES ? 0 : -1;
}

static bool noted(const struct box *b, const char *control)
{
	bool found = false;
	for (unsigned i = 0; i < b->control_count; i++)
		found = found || !strcmp(b->control[i], control);
	return found;
}

/* Number of lines with that start and end. */
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

static void check_status(const struct box *b, const char *text)
{
	static const char ids[] = "1234\t1234\t1234\t1234", none[] = "0000000000000000";
	static const char *const sets[] = {"CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"};
	if (noted(b, "unprivileged_user"))
		EXPECT(lines(text, "Uid:", ids) && lines(text, "Gid:", ids) && lines(text, "Groups:", ""));
	for (size_t i = 0; noted(b, "no_capabilities") && i < sizeof sets / sizeof *sets; i++)
		EXPECT(lines(text, sets[i], none));
	EXPECT(!noted(b, "no_new_privileges") || lines(text, "NoNewPrivs:", "1"));
	EXPECT(!noted(b, "seccomp_filter") || lines(text, "Seccomp:", "2"));
}

static void check_mounts(const struct box *b, const char *text)
{
	static const char *const needed[] = {"ro", "nosuid", "nodev", "noexec", "hidepid=invisible", "subset=pid", "/proc"};
	EXPECT(!noted(b, "own_image") || strstr(text, "overlay"));
	for (size_t i = 0; noted(b, "restricted_proc") && i < sizeof needed / sizeof *needed; i++)
		EXPECT(strstr(text, needed[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct box box;
	if (!slot.launcher)
		open_files();
	char *text[3];
	const int file[] = {status, cgroup, mountinfo};
	for (int i = 0; i < 3; i++) {
		text[i] = files_next(&data, &size);
		files_set(file[i], text[i], strlen(text[i]));
	}
	box = (struct box){.program = PROGRAM, .lane = &lane, .leaf.name = "s0-b1"};
	controls_read(&slot, &box);
	/* Six namespaces and eight other controls; each is either confirmed or missing. */
	EXPECT(box.control_count + box.missing_count == 14);
	for (int i = 0; i < NAMESPACES; i++)
		EXPECT(!noted(&box, spaces[i].control));
	EXPECT(!noted(&box, "read_only_root"));
	EXPECT(noted(&box, "cgroup_membership") == (lines(text[1], "", "/s0-b1") == TREES) || strlen(text[1]) > 4000);
	check_status(&box, text[0]);
	check_mounts(&box, text[2]);
	for (int i = 0; i < 3; i++)
		free(text[i]);
	return 0;
}
