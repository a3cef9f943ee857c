/*
 * Tests how a slot reads its mount list after a box: each line that an idle slot does not have is a leftover mount, except the work
 * directory while it is shared.
 *
 * Input: the mountinfo of an idle slot, a NUL, and the mountinfo after the box.
 */
#include "../box/box.c"
#include "files.h"

static int mountinfo;
static struct launcher launcher;
static struct slot slot;

/* Copies the fifth word of a line, up to the size. */
static void mount_point(const char *line, char *at, size_t size)
{
	static const char blanks[] = " \t\v\f\r";
	for (int word = 0; word < 4; word++) {
		line += strspn(line, blanks);
		line += strcspn(line, blanks);
	}
	line += strspn(line, blanks);
	snprintf(at, size, "%.*s", (int)strcspn(line, blanks), line);
}

static bool has_line(const char *text, const char *line, size_t length)
{
	for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n')
		if (strcspn(p, "\n") == length && !memcmp(p, line, length))
			return true;
	return false;
}

/* A second implementation, which counts the leftover mounts. `first` receives the mount point of the first one. */
static unsigned count_leftovers(const char *before, const char *after, bool work_mounted, char first[256])
{
	unsigned left = 0;
	char line[16384], at[256];
	for (const char *p = after; *p; p += strcspn(p, "\n"), p += *p == '\n') {
		size_t length = strcspn(p, "\n");
		memcpy(line, p, length);
		line[length] = 0;
		mount_point(line, at, sizeof at);
		if (!length || has_line(before, p, length) || (work_mounted && !strcmp(at, "/box")))
			continue;
		if (!left++)
			memcpy(first, at, sizeof at);
	}
	return left;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct teardown t = {0};
	if (!slot.launcher) {
		launcher.proc = files_directory();
		mkdirat(launcher.proc, "self", 0700);
		mountinfo = files_add(launcher.proc, "self/mountinfo");
		slot.launcher = &launcher;
	}
	slot.work_shared = size && data[0] & 1;
	char *before = files_next(&data, &size), *after = files_next(&data, &size);
	files_set(mountinfo, before, strlen(before));
	EXPECT(slot_mounts(&slot, slot.mounts, sizeof slot.mounts) == 0);
	EXPECT(!strncmp(slot.mounts, before, sizeof slot.mounts - 1));
	files_set(mountinfo, after, strlen(after));
	list_leftover_mounts(&slot, &t);

	if (strlen(after) < sizeof slot.mounts) {
		char first[256] = "";
		unsigned left = count_leftovers(slot.mounts, after, slot.work_shared, first);
		EXPECT(t.mounts == (left < 8 ? left : 8));
		EXPECT(!left || !strcmp(t.mount[0], first));
	}
	EXPECT(t.mounts <= 8 && t.errors == 0);
	free(before);
	free(after);
	return 0;
}
