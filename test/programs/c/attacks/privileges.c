/* Tries every way to additional privileges. Prints a line for each attempt. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static void report(const char *name, long result)
{
	printf("%s: %s\n", name, result < 0 ? strerrorname_np(errno) : "allowed");
	errno = 0;
}

static void status_line(const char *name)
{
	char line[256];
	FILE *file = fopen("/proc/self/status", "r");
	while (file && fgets(line, sizeof line, file))
		if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ':')
			printf("%s", line);
	if (file)
		fclose(file);
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	return fd < 0 ? -1 : (int)write(fd, text, strlen(text));
}

int main(int argc, char **argv)
{
	if (argc > 1) { /* the set-uid copy of this program */
		printf("set-uid program: %s\n", geteuid() == getuid() && getuid() != 0 ? "unprivileged" : "another");
		return 0;
	}
	static const char *const lines[] = {"Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"};
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		status_line(lines[i]);

	/* Identity. */
	report("setuid 0", setuid(0));
	report("setresuid 0", setresuid(0, 0, 0));
	report("setreuid 1000", setreuid(1000, 1000));
	report("setgid 0", setgid(0));
	report("setgroups", setgroups(1, (gid_t[]){0}));
	report("file system uid 0", setfsuid(0));
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct all[2] = {{~0u, ~0u, ~0u}, {~0u, ~0u, ~0u}};
	report("take capabilities", syscall(SYS_capset, &header, all));
	report("ambient capability", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 21, 0, 0));
	report("unlock securebits", prctl(PR_SET_SECUREBITS, 0, 0, 0, 0));
	report("clear no_new_privs", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
	printf("remove the filter: %s\n", prctl(PR_SET_SECCOMP, 0, 0, 0, 0) < 0 ? strerrorname_np(errno) : "allowed");

	/* Files that could give privileges. */
	int copy = open("copy", O_WRONLY | O_CREAT, 0755), self = open("/proc/self/exe", O_RDONLY);
	char block[65536];
	ssize_t n;
	while ((n = read(self, block, sizeof block)) > 0)
		if (write(copy, block, (size_t)n) != n)
			return 1;
	close(copy);
	fflush(stdout);
	report("change a file's owner", chown("copy", 0, 0));
	printf("mode 6755: %s\n", chmod("copy", 06755) < 0 ? strerrorname_np(errno) : "allowed");
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		execl("./copy", "copy", "again", (char *)NULL);
		_exit(1);
	}
	waitpid(child, NULL, 0);
	/* revision 2, cap_net_raw+ep */
	report("file capability", setxattr("copy", "security.capability", "\1\0\0\2\0\40\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20, 0));
	report("device node of a disk", mknod("disk", S_IFBLK | 0600, makedev(8, 0)));
	report("device node of memory", mknod("mem", S_IFCHR | 0600, makedev(1, 1)));
	report("device node of the kernel log", mknod("/tmp/kmsg", S_IFCHR | 0600, makedev(1, 11)));
	struct stat st;
	int found = 0;
	FILE *files = popen("find / -xdev -perm /6000 2>/dev/null | wc -l", "r");
	if (!files || fscanf(files, "%d", &found) != 1)
		found = -1;
	if (files)
		pclose(files);
	printf("set-uid files in the image: %d\n", found);
	printf("tmp: %o\n", stat("/tmp", &st) < 0 ? 0 : st.st_mode & 07777);

	/* Namespaces, roots and mounts. */
	report("user namespace", unshare(CLONE_NEWUSER));
	report("user namespace by clone", syscall(SYS_clone, (long)CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
	report("mount namespace", unshare(CLONE_NEWNS));
	report("time namespace by clone", syscall(SYS_clone, 0x80L | SIGCHLD, 0, 0, 0, 0));
	report("clone3", syscall(SYS_clone3, NULL, 0));
	report("enter a namespace", setns(open("/proc/self/ns/mnt", O_RDONLY), 0));
	report("uid map", write_file("/proc/self/uid_map", "0 0 1\n"));
	report("chroot", chroot("/box"));
	report("pivot_root", syscall(SYS_pivot_root, ".", "."));
	report("mount tmpfs", mount("none", "/tmp", "tmpfs", 0, NULL));
	report("mount proc", mount("none", "/tmp", "proc", 0, NULL));
	report("bind mount", mount("/", "/box", NULL, MS_BIND, NULL));
	report("remount the root", mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
	report("unmount proc", umount2("/proc", MNT_DETACH));
	report("unmount the work directory", umount2("/box", MNT_DETACH));

	/* Other processes: the init of the box, and the parent outside of it. */
	report("trace pid 1", ptrace(PTRACE_ATTACH, 1, 0, 0));
	report("be traced", ptrace(PTRACE_TRACEME, 0, 0, 0));
	struct iovec mine = {block, 8}, theirs = {block, 8};
	report("read the memory of pid 1", process_vm_readv(1, &mine, 1, &theirs, 1, 0));
	report("memory file of pid 1", open("/proc/1/mem", O_RDONLY));
	report("environment of pid 1", open("/proc/1/environ", O_RDONLY));
	report("signal pid 1", kill(1, SIGKILL));
	report("limits of pid 1", prlimit(1, RLIMIT_NOFILE, NULL, &(struct rlimit){0}));
	/* The call succeeds without effect. */
	int is_lowered = setpriority(PRIO_PROCESS, 1, 19) == 0 && getpriority(PRIO_PROCESS, 1) == 19;
	report("priority of pid 1", (errno = EPERM, is_lowered ? 0 : -1));
	printf("parent: %d\n", getppid());
	int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);
	report("descriptor of pid 1", pidfd < 0 ? -1 : syscall(SYS_pidfd_getfd, pidfd, 0, 0));

	/* Keys are shared across namespaces. */
	report("key in the session keyring", syscall(SYS_add_key, "user", "x", "y", 1, KEY_SPEC_SESSION_KEYRING));
	report("key in the user keyring", syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 1));
	report("persistent keyring", syscall(SYS_keyctl, KEYCTL_GET_PERSISTENT, 0, KEY_SPEC_PROCESS_KEYRING));
	report("key by a host program", syscall(SYS_request_key, "user", "x", "y", 0));

	/* Limits and priorities. */
	static const struct { const char *name; int resource; } limits[] = {{"descriptors", RLIMIT_NOFILE}, {"processes", RLIMIT_NPROC},
		{"file size", RLIMIT_FSIZE}, {"CPU time", RLIMIT_CPU}, {"locked memory", RLIMIT_MEMLOCK}, {"core", RLIMIT_CORE},
		{"stack", RLIMIT_STACK}, {"message queues", RLIMIT_MSGQUEUE}};
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		char name[64];
		struct rlimit limit;
		getrlimit(limits[i].resource, &limit);
		limit.rlim_max++;
		snprintf(name, sizeof name, "more %s", limits[i].name);
		report(name, setrlimit(limits[i].resource, &limit));
	}
	/* The kernel starts a handler of core dumps, which is the host's root, if the limit is 0, but not if it is above 0. */
	report("core limit of 0", setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}));
	report("core limit of 0 by prlimit", prlimit(0, RLIMIT_CORE, &(struct rlimit){0, 0}, NULL));
	report("higher priority", setpriority(PRIO_PROCESS, 0, -1));
	report("real-time scheduling", sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){1}));
	report("real-time disk priority", syscall(SYS_ioprio_set, 1, 0, 1 << 13));
	report("lock memory", mlock(block, sizeof block));
	report("core scheduling", prctl(62 /* PR_SCHED_CORE */, 1, 0, 0, 0));
	return 0;
}
