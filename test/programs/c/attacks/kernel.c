/* Parts of the kernel that a program has no business with. One line for each. */
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

static void say(const char *name, long result)
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
	say("push a character into a terminal", ioctl(0, TIOCSTI, &byte));
	say("console ioctl", ioctl(0, TIOCLINUX, &byte));
	say("with the upper half of the request set", syscall(SYS_ioctl, 0, 0xdead00000000ul | TIOCSTI, &byte));
	say("a new pseudo terminal", open("/dev/ptmx", O_RDWR));
	say("the terminal", open("/dev/tty", O_RDWR));
	/* The disk below the image. */
	int etc = open("/etc/passwd", O_RDONLY), root = open("/", O_RDONLY | O_DIRECTORY);
	char uuid[64] = {16};
	say("uuid of the file system", ioctl(etc, 0x80111500 /* FS_IOC_GETFSUUID */, uuid));
	uuid[0] = 0;
	((uint32_t *)uuid)[0] = 16;
	say("uuid of ext4", ioctl(etc, _IOR('f', 44, uint32_t[2]), uuid));
	say("freeze the file system", ioctl(root, FIFREEZE, 0));
	say("trim the file system", ioctl(root, FITRIM, uuid));
	say("immutable file", ioctl(etc, FS_IOC_SETFLAGS, &(int){FS_IMMUTABLE_FL}));
	say("lease on a file of the image", fcntl(etc, F_SETLEASE, F_RDLCK));
	say("sync", syscall(SYS_sync));
	say("syncfs", syncfs(etc));
	say("drop a file of the image from memory", syscall(SYS_fadvise64, etc, 0, 0, 4 /* DONTNEED */));
	say("cached pages of a file of the image", syscall(451 /* cachestat */, etc, uuid, uuid, 0));
	struct statfs fs;
	printf("blocks of the root: %lld\n", statfs("/", &fs) < 0 ? -1LL : (long long)fs.f_blocks);
#ifdef SYS_ustat
	say("how full another file system is", syscall(SYS_ustat, 0xfe00, uuid));
	say("list of file systems", syscall(SYS_sysfs, 3));
#endif
	/* Memory that no limit counts. */
	say("huge pages", mmap(NULL, 2 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0) == MAP_FAILED ? -1 : 0);
	say("huge pages in a file", memfd_create("x", MFD_HUGETLB));
	say("huge pages in a segment", shmget(IPC_PRIVATE, 2 << 20, IPC_CREAT | SHM_HUGETLB | 0600));
	say("secret memory", syscall(447 /* memfd_secret */, 0));
	say("requests of asynchronous input and output", syscall(SYS_io_setup, 1, (unsigned long[]){0}));
	say("message queue", syscall(SYS_mq_open, "/x", O_CREAT | O_RDWR, 0600, NULL));
	/* Objects that are counted by nothing, each with what would make one if it were allowed. */
	int own = open("own", O_CREAT | O_RDWR, 0600), pipes[2], pair[2];
	if (own < 0 || pipe(pipes) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 2;
	struct flock whole = {.l_type = F_WRLCK};
	say("lock of an open file", fcntl(own, F_OFD_SETLK, &whole));
	say("lock of an open file, waiting", fcntl(own, F_OFD_SETLKW, &whole));
	say("lock of a process", fcntl(own, F_SETLK, &whole));
	if (fork() == 0) {
		struct flock theirs = {.l_type = F_WRLCK};
		fcntl(own, F_GETLK, &theirs);
		printf("record of that lock: %s\n", theirs.l_type == F_UNLCK ? "none" : "kept");
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
	say("lease on a file of its own", fcntl(own, F_SETLEASE, F_WRLCK));
	say("notices of a directory", fcntl(root, F_NOTIFY, DN_ACCESS));
	static const unsigned char acl[] = {2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 4, 0, 5, 0, 255, 255, 255, 255,
					    32, 0, 5, 0, 255, 255, 255, 255};
	say("access list for new files", setxattr(".", "system.posix_acl_default", acl, sizeof acl, 0));
	say("access list by a descriptor", fsetxattr(own, "system.posix_acl_access", acl, sizeof acl, 0));
	say("access list of a link", lsetxattr("own", "system.posix_acl_access", acl, sizeof acl, 0));
	say("access list by the young call", syscall(463 /* setxattrat */, AT_FDCWD, ".", 0, "user.x", uuid, 16));
	say("rules of Landlock", syscall(444, (uint64_t[]){1, 0, 0}, 8, 0));
	say("queue of the kernel's notices", pipe2(pipes, O_EXCL));
	say("pipe of packets", pipe2(pipes, O_DIRECT));
	say("semaphores of System V", syscall(SYS_semget, IPC_PRIVATE, 1, 0600));
	say("memory of System V", syscall(SYS_shmget, IPC_PRIVATE, 4096, 0600));
	say("messages of System V", syscall(SYS_msgget, IPC_PRIVATE, 0600));
	say("names of mappings", prctl(0x53564d41 /* PR_SET_VMA */, 0, own, 4096, "name"));
	/* Time, disks and threads of the machine. */
	cpu_set_t all_of_them;
	sched_getaffinity(0, sizeof all_of_them, &all_of_them);
	say("processors of its choice", sched_setaffinity(0, sizeof all_of_them, &all_of_them));
	say("read past the memory of files", open("/etc/passwd", O_RDONLY | O_DIRECT));
	say("read past it by an open file", fcntl(etc, F_SETFL, O_DIRECT));
	say("open with flags behind a pointer", syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", &(struct open_how){0}, sizeof(struct open_how)));
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	say("merge pages", madvise(page, 4096, MADV_MERGEABLE));
	say("pages into a pipe", vmsplice(pipes[1], &(struct iovec){page, 4096}, 1, SPLICE_F_NONBLOCK));
	say("copies between pipes", tee(pipes[0], pipes[1], 1, SPLICE_F_NONBLOCK));
	/* Rare code behind calls that every program makes. */
	say("interfaces with a virtual network", ioctl(pair[0], 0x8982 /* SIOCGIFVLAN */, uuid));
	say("bridges", ioctl(pair[0], 0x8940 /* SIOCGIFBR */, uuid));
	say("what a pidfd is of", ioctl((int)syscall(SYS_pidfd_open, getpid(), 0), 0xc050ff0bul, uuid));
	say("data out of band", send(pair[0], "x", 1, MSG_OOB));
	say("data out of band in a message", sendmsg(pair[0], &(struct msghdr){.msg_iov = &(struct iovec){"x", 1}, .msg_iovlen = 1}, MSG_OOB));
	/* Programs for the kernel: their machine code is charged to nobody. */
	struct sock_filter filter[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog pass = {1, filter};
	int ends[2];
	socketpair(AF_UNIX, SOCK_DGRAM, 0, ends);
	say("filter on a socket", setsockopt(ends[0], SOL_SOCKET, SO_ATTACH_FILTER, &pass, sizeof pass));
	say("filter of its own on a socket", setsockopt(ends[0], SOL_SOCKET, SO_ATTACH_BPF, &(int){0}, sizeof(int)));
	say("filter that chooses a socket", setsockopt(ends[0], SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &pass, sizeof pass));
	say("its own filter that chooses a socket", setsockopt(ends[0], SOL_SOCKET, SO_ATTACH_REUSEPORT_EBPF, &(int){0}, sizeof(int)));
	say("filter of calls", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &pass));
	say("filter of calls by prctl", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &pass, 0, 0));
	say("buffer size of a socket", setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &(int){65536}, sizeof(int)));
	/* Young and large parts. */
	say("io_uring", syscall(SYS_io_uring_setup, 1, uuid));
	say("bpf", syscall(SYS_bpf, 0, uuid, 64));
	say("performance counters", syscall(SYS_perf_event_open, uuid, 0, -1, -1, 0));
	say("page faults", syscall(SYS_userfaultfd, 0));
	say("device of page faults", open("/dev/userfaultfd", O_RDWR));
	say("fanotify", syscall(SYS_fanotify_init, 0, 0));
	say("kernel log", syscall(SYS_syslog, 3, uuid, sizeof uuid));
	say("device of the kernel log", open("/dev/kmsg", O_RDONLY));
	say("physical memory", open("/dev/mem", O_RDONLY));
	say("machine registers", open("/dev/cpu/0/msr", O_RDONLY));
	say("virtual machines", open("/dev/kvm", O_RDWR));
	say("file system in user space", open("/dev/fuse", O_RDWR));
	say("network tunnels", open("/dev/net/tun", O_RDWR));
	say("handle of a file", syscall(SYS_name_to_handle_at, AT_FDCWD, "/", uuid, uuid, 0));
	say("file by its handle", syscall(SYS_open_by_handle_at, root, uuid, O_RDONLY));
	say("mounts by number", syscall(458 /* listmount */, uuid, uuid, 1, 0));
	say("tunables", open("/proc/sys/kernel/hostname", O_RDONLY));
	say("tunables by the old call", SYSCTL);
	say("system tree", open("/sys/kernel", O_RDONLY));
	say("a call that this list is too old for", syscall(470));
	say("a call of the far future", syscall(1000));
	say("restart of the machine", syscall(SYS_reboot, 0xfee1dead, 672274793, 0x1234567, NULL));
	say("another table of calls", (personality(PER_LINUX32), syscall(SYS_unshare, CLONE_NEWUSER)));
	personality(PER_LINUX);
	/* Allowed, and no way out: the same filter holds in what is executed without a file. */
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
	printf("program in memory ended with: %d\n", WEXITSTATUS(status));
	/* The 32-bit entry and x32, for calls that the native entry refuses. */
#ifdef __x86_64__
	say("unshare by x32", syscall(0x40000000L + SYS_unshare, CLONE_NEWUSER));
	/* In the 32-bit table: mkdir of no path, unshare, mount. User-mode Linux has no such table. */
	if (by_the_32_bit_entry(SYS_getpid, 0) == getpid()) {
		puts("unshare by the 32-bit entry: is the native one\nmount by the 32-bit entry: is the native one");
	} else {
		say("unshare by the 32-bit entry", by_the_32_bit_entry(310, CLONE_NEWUSER));
		say("mount by the 32-bit entry", by_the_32_bit_entry(21, 0));
	}
#else
	puts("unshare by x32: ENOSYS\nunshare by the 32-bit entry: ENOSYS\nmount by the 32-bit entry: ENOSYS");
#endif
	/* Socket families, and the pair. */
	static const struct { const char *name; int family; } families[] = {{"AF_INET", AF_INET}, {"AF_INET6", AF_INET6},
		{"AF_NETLINK", AF_NETLINK}, {"AF_PACKET", AF_PACKET}, {"AF_VSOCK", AF_VSOCK}, {"AF_ALG", AF_ALG}, {"AF_XDP", AF_XDP},
		{"AF_BLUETOOTH", AF_BLUETOOTH}, {"AF_TIPC", AF_TIPC}, {"AF_RDS", AF_RDS}, {"AF_CAN", AF_CAN}, {"AF_KEY", AF_KEY},
		{"AF_NFC", AF_NFC}, {"AF_QIPCRTR", AF_QIPCRTR}, {"AF_SMC", AF_SMC}, {"AF_MCTP", 45}};
	int open_families = 0;
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		for (int type = 1; type <= 5; type++)
			open_families += socket(families[i].family, type, 0) >= 0 || errno != EAFNOSUPPORT;
	printf("families other than unix: %d\n", open_families);
	say("pair of internet sockets", socketpair(AF_INET, SOCK_STREAM, 0, pair));
	say("pair with the upper half set", syscall(SYS_socketpair, 0x100000000ul | AF_TIPC, SOCK_STREAM, 0, pair));
	return 0;
}
