/* Tries every way to a file of the host, whose path is on standard input, and to change the image. Prints a line for each attempt. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

static void report(const char *name, long result)
{
	printf("%s: %s\n", name, result < 0 ? strerrorname_np(errno) : "allowed");
	errno = 0;
}

static long below(const char *prefix, const char *path)
{
	char whole[8192];
	snprintf(whole, sizeof whole, "%s%s", prefix, path);
	return open(whole, O_RDONLY);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void list(const char *name, const char *path)
{
	char *names[256];
	int count = 0;
	DIR *dir = opendir(path);
	struct dirent *entry;
	while (dir && count < 256 && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && (strcmp(path, "/proc/self/fd") || atoi(entry->d_name) != dirfd(dir)))
			names[count++] = strdup(entry->d_name);
	if (dir)
		closedir(dir);
	qsort(names, (size_t)count, sizeof *names, by_name);
	printf("%s:", name);
	for (int i = 0; i < count; i++)
		printf(" %s", names[i]);
	printf("\n");
}

int main(void)
{
	char secret[4096] = "";
	list("descriptors", "/proc/self/fd");
	if (!fgets(secret, sizeof secret, stdin))
		return 1;
	secret[strcspn(secret, "\n")] = 0;

	report("path", open(secret, O_RDONLY));
	report("dots", below("/../../../../../../..", secret));
	report("dots from the work directory", below("../../../../../../..", secret));
	report("root of self", below("/proc/self/root", secret));
	report("dots above the root of self", below("/proc/self/root/../../../..", secret));
	report("root of pid 1", below("/proc/1/root", secret));
	report("root of a thread", below("/proc/thread-self/root/..", secret));
	report("work directory of self", below("/proc/self/cwd/../..", secret));
	report("directory of the executable", below("/proc/self/exe/../..", secret));
	report("descriptor of the root", below("/proc/self/fd/3/../..", (open("/", O_RDONLY | O_DIRECTORY), secret)));
	report("symbolic link", symlink(secret, "/box/link") < 0 ? -1 : open("/box/link", O_RDONLY));
	report("hard link to the file", link(secret, "/box/hard"));
	report("link with flags", linkat(AT_FDCWD, secret, AT_FDCWD, "/box/hard", AT_SYMLINK_FOLLOW));
	for (int up = 0; up < 64; up++)
		if (chdir("..") < 0)
			break;
	report("64 times up", below(".", secret));
	if (chdir("/box") < 0)
		return 1;
	struct { unsigned long long flags, mode, resolve; } how = {O_RDONLY, 0, 0};
	char dots[5000];
	snprintf(dots, sizeof dots, "../../../..%s", secret);
	report("openat2 with dots", syscall(SYS_openat2, AT_FDCWD, dots, &how, sizeof how));
	report("executing the file", (long)execl(secret, secret, (char *)NULL));

	/* The usual places of secrets. */
	static const char *const places[] = {"/etc/shadow", "/etc/ssh", "/etc/machine-id", "/etc/hostname", "/etc/resolv.conf",
		"/root", "/home", "/var/lib", "/var/log", "/run/secrets", "/sys", "/boot", "/mnt", "/var/run/docker.sock",
		"/proc/kcore", "/proc/kallsyms", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/keys", "/proc/kmsg"};
	printf("places:");
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (access(places[i], F_OK) == 0)
			printf(" %s", places[i]);
	printf("\n");
	list("run", "/run");
	list("dev", "/dev");

	/* The image, which all boxes share, so no program may change it. */
	report("write into the image", open("/etc/hosts", O_WRONLY));
	report("truncate in the image", truncate("/etc/hosts", 0));
	/* The files of the slot's users, which both of its lanes read. */
	report("write into the accounts", open("/etc/passwd", O_WRONLY));
	report("truncate the accounts", truncate("/etc/group", 0));
	report("remove the accounts", unlink("/etc/passwd"));
	report("replace the accounts", rename("/box/x", "/etc/passwd"));
	report("create in the image", open("/usr/x", O_WRONLY | O_CREAT, 0600));
	report("unnamed file in the image", open("/usr", O_TMPFILE | O_RDWR, 0600));
	report("directory in the root", mkdir("/x", 0700));
	report("remove from the image", unlink("/usr/bin/env"));
	report("rename in the image", rename("/usr/bin/env", "/usr/bin/vne"));
	report("mode in the image", chmod("/usr/bin/env", 04755));
	report("times in the image", utimensat(AT_FDCWD, "/usr/bin/env", NULL, 0));
	report("attribute in the image", setxattr("/usr/bin/env", "user.x", "x", 1, 0));
	report("hard link out of the image", link("/usr/bin/env", "/box/env"));
	report("replace a device", unlink("/dev/null"));
	report("create in dev", open("/dev/x", O_WRONLY | O_CREAT, 0600));
	report("write to its own executable", open("/proc/self/exe", O_WRONLY));
	report("write into proc", open("/proc/self/oom_score_adj", O_WRONLY));

	/* Descriptors. */
	int in = open("/proc/self/fd/0", O_RDWR);
	report("write to its input", in < 0 ? -1 : write(in, "x", 1));
	report("truncate its input", ftruncate(0, 0));
	struct stat st;
	printf("output: %s\n", fstat(1, &st) == 0 && S_ISFIFO(st.st_mode) ? "pipe" : "something else");
	return 0;
}
