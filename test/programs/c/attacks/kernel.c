/* Parts of the kernel that a program has no business with. One line for each. */
#define _GNU_SOURCE
#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/fs.h>
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
	int pair[2];
	say("pair of internet sockets", socketpair(AF_INET, SOCK_STREAM, 0, pair));
	say("pair with the upper half set", syscall(SYS_socketpair, 0x100000000ul | AF_TIPC, SOCK_STREAM, 0, pair));
	return 0;
}
