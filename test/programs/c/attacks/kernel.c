/* Interfaces of the kernel that programs do not need. Prints a line for each attempt. */
#define _GNU_SOURCE
#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void report(const char *name, long result)
{
	printf("%s: %s\n", name, result < 0 ? strerrorname_np(errno) : "allowed");
	errno = 0;
}

#ifdef __x86_64__
#define SYSCTL syscall(156, uuid)

static long by_the_32_bit_entry(long number, long first)
{
	__asm__ volatile("int $0x80" : "+a"(number) : "b"(first), "c"(0), "d"(0), "S"(0), "D"(0) : "memory");
	if (number >= 0)
		return number;
	errno = (int)-number;
	return -1;
}
#else
#define SYSCTL (errno = ENOSYS, -1)
#endif

int main(int argc, char **argv)
{
	if (argc > 1)
		return 7;
	char byte = 'x';
	/* Terminals. */
	report("push a character into a terminal", ioctl(0, TIOCSTI, &byte));
	report("console ioctl", ioctl(0, TIOCLINUX, &byte));
	report("with the upper half of the request set", syscall(SYS_ioctl, 0, 0xdead00000000ul | TIOCSTI, &byte));
	report("a new pseudo terminal", open("/dev/ptmx", O_RDWR));
	report("the terminal", open("/dev/tty", O_RDWR));
	/* The disk of the image. */
	int etc = open("/etc/hosts", O_RDONLY), root = open("/", O_RDONLY | O_DIRECTORY);
	char uuid[64] = {16};
	report("uuid of the file system", ioctl(etc, 0x80111500 /* FS_IOC_GETFSUUID */, uuid));
	uuid[0] = 0;
	((uint32_t *)uuid)[0] = 16;
	report("uuid of ext4", ioctl(etc, _IOR('f', 44, uint32_t[2]), uuid));
	report("freeze the file system", ioctl(root, FIFREEZE, 0));
	report("trim the file system", ioctl(root, FITRIM, uuid));
	report("immutable file", ioctl(etc, FS_IOC_SETFLAGS, &(int){FS_IMMUTABLE_FL}));
	report("lease on a file of the image", fcntl(etc, F_SETLEASE, F_RDLCK));
	report("sync", syscall(SYS_sync));
	report("syncfs", syncfs(etc));
	report("drop a file of the image from memory", syscall(SYS_fadvise64, etc, 0, 0, 4 /* DONTNEED */));
	report("cached pages of a file of the image", syscall(451 /* cachestat */, etc, uuid, uuid, 0));
	struct statfs fs;
	printf("blocks of the root: %lld\n", statfs("/", &fs) < 0 ? -1LL : (long long)fs.f_blocks);
#ifdef SYS_ustat
	report("free space of another file system", syscall(SYS_ustat, 0xfe00, uuid));
	report("list of file systems", syscall(SYS_sysfs, 3));
#endif
	/* Memory that no limit counts. */
	report("huge pages", mmap(NULL, 2 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0) == MAP_FAILED ? -1 : 0);
	report("huge pages in a file", memfd_create("x", MFD_HUGETLB));
	report("huge pages in System V shared memory", shmget(IPC_PRIVATE, 2 << 20, IPC_CREAT | SHM_HUGETLB | 0600));
	report("secret memory", syscall(447 /* memfd_secret */, 0));
	report("asynchronous I/O context", syscall(SYS_io_setup, 1, (unsigned long[]){0}));
	report("message queue", syscall(SYS_mq_open, "/x", O_CREAT | O_RDWR, 0600, NULL));
	/* Objects that no limit counts, each with a call that would create one. */
	int own = open("own", O_CREAT | O_RDWR, 0600), pipes[2], pair[2];
	if (own < 0 || pipe(pipes) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 2;
	struct flock whole = {.l_type = F_WRLCK};
	report("open file description lock", fcntl(own, F_OFD_SETLK, &whole));
	report("open file description lock, blocking", fcntl(own, F_OFD_SETLKW, &whole));
	report("process lock", fcntl(own, F_SETLK, &whole));
	if (fork() == 0) {
		struct flock theirs = {.l_type = F_WRLCK};
		fcntl(own, F_GETLK, &theirs);
		printf("record of the process lock: %s\n", theirs.l_type == F_UNLCK ? "none" : "kept");
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
	report("lease on its own file", fcntl(own, F_SETLEASE, F_WRLCK));
	report("directory notifications", fcntl(root, F_NOTIFY, DN_ACCESS));
	report("inotify instance", inotify_init1(0));
	static const unsigned char acl[] = {2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 4, 0, 5, 0, 255, 255, 255, 255,
					    32, 0, 5, 0, 255, 255, 255, 255};
	report("default ACL", setxattr(".", "system.posix_acl_default", acl, sizeof acl, 0));
	report("ACL by a descriptor", fsetxattr(own, "system.posix_acl_access", acl, sizeof acl, 0));
	report("ACL of a link", lsetxattr("own", "system.posix_acl_access", acl, sizeof acl, 0));
	report("attribute by setxattrat", syscall(463 /* setxattrat */, AT_FDCWD, ".", 0, "user.x", uuid, 16));
	report("Landlock ruleset", syscall(444, (uint64_t[]){1, 0, 0}, 8, 0));
	report("watch queue", pipe2(pipes, O_EXCL));
	report("packet pipe", pipe2(pipes, O_DIRECT));
	report("System V semaphores", syscall(SYS_semget, IPC_PRIVATE, 1, 0600));
	report("System V shared memory", syscall(SYS_shmget, IPC_PRIVATE, 4096, 0600));
	report("System V message queue", syscall(SYS_msgget, IPC_PRIVATE, 0600));
	report("names of mappings", prctl(0x53564d41 /* PR_SET_VMA */, 0, own, 4096, "name"));
	/* Time, disks and threads of the machine. */
	cpu_set_t all_of_them;
	sched_getaffinity(0, sizeof all_of_them, &all_of_them);
	report("CPU affinity", sched_setaffinity(0, sizeof all_of_them, &all_of_them));
	report("direct read (O_DIRECT)", open("/etc/hosts", O_RDONLY | O_DIRECT));
	report("direct read by F_SETFL", fcntl(etc, F_SETFL, O_DIRECT));
	report("openat2", syscall(SYS_openat2, AT_FDCWD, "/etc/hosts", &(struct open_how){0}, sizeof(struct open_how)));
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	report("page merging", madvise(page, 4096, MADV_MERGEABLE));
	report("vmsplice", vmsplice(pipes[1], &(struct iovec){page, 4096}, 1, SPLICE_F_NONBLOCK));
	report("tee", tee(pipes[0], pipes[1], 1, SPLICE_F_NONBLOCK));
	/* Rarely used code behind common calls. */
	report("VLAN interfaces", ioctl(pair[0], 0x8982 /* SIOCGIFVLAN */, uuid));
	report("bridges", ioctl(pair[0], 0x8940 /* SIOCGIFBR */, uuid));
	report("information about a pidfd", ioctl((int)syscall(SYS_pidfd_open, getpid(), 0), 0xc050ff0bul, uuid));
	report("out-of-band data", send(pair[0], "x", 1, MSG_OOB));
	report("out-of-band data in a message", sendmsg(pair[0], &(struct msghdr){.msg_iov = &(struct iovec){"x", 1}, .msg_iovlen = 1}, MSG_OOB));
	/* Programs for the kernel, whose machine code is charged to no group. */
	struct sock_filter filter[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog pass = {1, filter};
	int ends[2];
	socketpair(AF_UNIX, SOCK_DGRAM, 0, ends);
	report("filter on a socket", setsockopt(ends[0], SOL_SOCKET, SO_ATTACH_FILTER, &pass, sizeof pass));
	report("BPF program on a socket", setsockopt(ends[0], SOL_SOCKET, SO_ATTACH_BPF, &(int){0}, sizeof(int)));
	report("reuseport filter", setsockopt(ends[0], SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &pass, sizeof pass));
	report("reuseport BPF program", setsockopt(ends[0], SOL_SOCKET, SO_ATTACH_REUSEPORT_EBPF, &(int){0}, sizeof(int)));
	report("seccomp filter", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &pass));
	report("seccomp filter by prctl", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &pass, 0, 0));
	report("buffer size of a socket", setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &(int){65536}, sizeof(int)));
	/* New and large interfaces. */
	report("io_uring", syscall(SYS_io_uring_setup, 1, uuid));
	report("bpf", syscall(SYS_bpf, 0, uuid, 64));
	report("performance counters", syscall(SYS_perf_event_open, uuid, 0, -1, -1, 0));
	report("userfaultfd", syscall(SYS_userfaultfd, 0));
	report("userfaultfd device", open("/dev/userfaultfd", O_RDWR));
	report("fanotify", syscall(SYS_fanotify_init, 0, 0));
	report("kernel log", syscall(SYS_syslog, 3, uuid, sizeof uuid));
	report("kernel log device", open("/dev/kmsg", O_RDONLY));
	report("physical memory device", open("/dev/mem", O_RDONLY));
	report("MSR device", open("/dev/cpu/0/msr", O_RDONLY));
	report("KVM device", open("/dev/kvm", O_RDWR));
	report("FUSE device", open("/dev/fuse", O_RDWR));
	report("tun device", open("/dev/net/tun", O_RDWR));
	report("handle of a file", syscall(SYS_name_to_handle_at, AT_FDCWD, "/", uuid, uuid, 0));
	report("file by its handle", syscall(SYS_open_by_handle_at, root, uuid, O_RDONLY));
	report("listmount", syscall(458 /* listmount */, uuid, uuid, 1, 0));
	report("sysctl files", open("/proc/sys/kernel/hostname", O_RDONLY));
	report("sysctl by the old call", SYSCTL);
	report("sysfs", open("/sys/kernel", O_RDONLY));
	report("a call newer than the list", syscall(470));
	report("an unassigned call number", syscall(1000));
	report("reboot", syscall(SYS_reboot, 0xfee1dead, 672274793, 0x1234567, NULL));
	report("personality PER_LINUX32", (personality(PER_LINUX32), syscall(SYS_unshare, CLONE_NEWUSER)));
	personality(PER_LINUX);
	/* Allowed, but no escape: the same filter applies to a program that is executed without a file. */
	int memory = memfd_create("program", 0), self = open("/proc/self/exe", O_RDONLY), status = 0;
	char block[65536];
	ssize_t n;
	while ((n = read(self, block, sizeof block)) > 0)
		if (write(memory, block, (size_t)n) != n)
			return 1;
	fflush(stdout);
	if (fork() == 0) {
		syscall(SYS_execveat, memory, "", (char *[]){"again", "x", NULL}, (char *[]){NULL}, AT_EMPTY_PATH);
		_exit(1);
	}
	wait(&status);
	printf("exit code of a memfd program: %d\n", WEXITSTATUS(status));
	/* The 32-bit entry and x32, for calls that the native entry refuses. */
#ifdef __x86_64__
	report("unshare by x32", syscall(0x40000000L + SYS_unshare, CLONE_NEWUSER));
	/* In the 32-bit table, 39 (getpid) is mkdir, here without a path; 310 is unshare, 21 mount. User-mode Linux has no such table. */
	if (by_the_32_bit_entry(SYS_getpid, 0) == getpid()) {
		puts("unshare by the 32-bit entry: is the native one\nmount by the 32-bit entry: is the native one");
	} else {
		report("unshare by the 32-bit entry", by_the_32_bit_entry(310, CLONE_NEWUSER));
		report("mount by the 32-bit entry", by_the_32_bit_entry(21, 0));
	}
#else
	puts("unshare by x32: ENOSYS\nunshare by the 32-bit entry: ENOSYS\nmount by the 32-bit entry: ENOSYS");
#endif
	/* Socket families and socketpair. */
	static const struct { const char *name; int family; } families[] = {{"AF_INET", AF_INET}, {"AF_INET6", AF_INET6},
		{"AF_NETLINK", AF_NETLINK}, {"AF_PACKET", AF_PACKET}, {"AF_VSOCK", AF_VSOCK}, {"AF_ALG", AF_ALG}, {"AF_XDP", AF_XDP},
		{"AF_BLUETOOTH", AF_BLUETOOTH}, {"AF_TIPC", AF_TIPC}, {"AF_RDS", AF_RDS}, {"AF_CAN", AF_CAN}, {"AF_KEY", AF_KEY},
		{"AF_NFC", AF_NFC}, {"AF_QIPCRTR", AF_QIPCRTR}, {"AF_SMC", AF_SMC}, {"AF_MCTP", 45}};
	int open_families = 0;
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		for (int type = 1; type <= 5; type++)
			open_families += socket(families[i].family, type, 0) >= 0 || errno != EAFNOSUPPORT;
	printf("socket families except AF_UNIX: %d\n", open_families);
	report("pair of internet sockets", socketpair(AF_INET, SOCK_STREAM, 0, pair));
	report("pair with the upper half set", syscall(SYS_socketpair, 0x100000000ul | AF_TIPC, SOCK_STREAM, 0, pair));
	return 0;
}
