/*
 * Reads the name of a kind of kernel object, creates as many as the limits and one second allow, prints their number and holds
 * them for a moment. Objects that are limited for each process are created by as many processes as the box allows.
 * Each kind has a function, in one table.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <ftw.h>
#include <time.h>
#include <unistd.h>

enum { MAKING_MS = 900, HOLDING_MS = 700, BYTES_MOST = 96 << 20 };

static struct shared {
	_Atomic long made, bytes, finished;
} *shared;
static struct timespec began;
static char block[1 << 16], name[PATH_MAX];
static const char *const places[] = {"/box", "/tmp", "/dev/shm"};
static int number; /* of this process */

static long elapsed_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - began.tv_sec) * 1000 + (now.tv_nsec - began.tv_nsec) / 1000000;
}

static int more(void)
{
	return elapsed_ms() < MAKING_MS && shared->bytes < BYTES_MOST;
}

static int made(long result)
{
	if (result < 0)
		return 0;
	shared->made++;
	return more();
}

/* Fills each directory. */
static void in_each_place(long (*make)(const char *place, long i))
{
	for (int p = 0; p < 3; p++)
		for (long i = 0; made(make(places[p], i)); i++)
			continue;
}

static long make_file(const char *place, long i)
{
	snprintf(name, sizeof name, "%s/%d-%ld", place, number, i);
	int fd = open(name, O_CREAT | O_WRONLY, 0600);
	close(fd);
	return fd;
}

static long make_long_name(const char *place, long i)
{
	snprintf(name, sizeof name, "%s/%d-%0240ld", place, number, i);
	return mknod(name, S_IFREG | 0600, 0);
}

static long make_symlink(const char *place, long i)
{
	memset(block, 'x', 4000);
	block[4000] = 0;
	snprintf(name, sizeof name, "%s/%d-%ld", place, number, i);
	return symlink(block, name);
}

static long make_link(const char *place, long i)
{
	char first[64];
	snprintf(first, sizeof first, "%s/first", place);
	snprintf(name, sizeof name, "%s/%d-%ld", place, number, i);
	if (i == 0)
		close(open(first, O_CREAT | O_WRONLY, 0600));
	return link(first, name);
}

static long make_directory(const char *place, long i)
{
	snprintf(name, sizeof name, "%s/%d-%ld", place, number, i);
	return mkdir(name, 0700);
}

static long make_deeper(const char *place, long i)
{
	if (i == 0 && chdir(place))
		return -1;
	return mkdir("d", 0700) < 0 ? -1 : chdir("d");
}

static long make_page(const char *place, long i)
{
	snprintf(name, sizeof name, "%s/%d-%ld", place, number, i);
	int fd = open(name, O_CREAT | O_WRONLY, 0600);
	long n = write(fd, block, sizeof block);
	close(fd);
	shared->bytes += sizeof block;
	return n;
}

static void files(void) { in_each_place(make_file); }
static void long_names(void) { in_each_place(make_long_name); }
static void symlinks(void) { in_each_place(make_symlink); }
static void links(void) { in_each_place(make_link); }
static void directories(void) { in_each_place(make_directory); }
static void deep_directories(void) { in_each_place(make_deeper); }
static void contents(void) { in_each_place(make_page); }

static void missing_names(void)
{
	for (long i = 0; more() && i < 100000; i++, shared->made++) {
		snprintf(name, sizeof name, "/usr/lib/%ld-%d", i, number);
		access(name, F_OK);
	}
}

static int count_file(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)path, (void)st, (void)type, (void)at;
	return !made(0);
}

static void existing_names(void) { nftw("/usr", count_file, 8, FTW_PHYS); }

static void pipes(void)
{
	int ends[2];
	while (made(pipe2(ends, O_NONBLOCK)))
		for (long n; (n = write(ends[1], block, sizeof block)) > 0;)
			shared->bytes += n;
}

static void sockets_of(int type)
{
	int ends[2], size = 1 << 20;
	while (made(socketpair(AF_UNIX, type | SOCK_NONBLOCK, 0, ends))) {
		setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
		for (long n; more() && (n = write(ends[0], block, type == SOCK_STREAM ? sizeof block : 1)) > 0;)
			shared->bytes += n + 1024;
	}
}

static void streams(void) { sockets_of(SOCK_STREAM); }
static void datagrams(void) { sockets_of(SOCK_DGRAM); }
static void packets(void) { sockets_of(SOCK_SEQPACKET); }

static void named_sockets(void)
{
	for (long i = 0;; i++) {
		struct sockaddr_un address = {.sun_family = AF_UNIX};
		snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%d-%0*ld", number, 90, i);
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);
		if (bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 4096) || !made(fd))
			return;
	}
}

static void waiting_connections(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%d", number);
	int server = socket(AF_UNIX, SOCK_STREAM, 0);
	bind(server, (struct sockaddr *)&address, sizeof address), listen(server, 4096);
	for (;;) {
		int client = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (client < 0 || !made(connect(client, (struct sockaddr *)&address, sizeof address)))
			return;
		close(client);
	}
}

static void descriptors_in_flight(void)
{
	int ends[2], fds[8];
	while (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0)
		for (;;) {
			for (int i = 0; i < 8; i++)
				fds[i] = ends[i % 2];
			char control[CMSG_SPACE(sizeof fds)] = {0};
			struct msghdr message = {.msg_iov = &(struct iovec){"x", 1}, .msg_iovlen = 1, .msg_control = control,
						 .msg_controllen = sizeof control};
			struct cmsghdr *head = CMSG_FIRSTHDR(&message);
			*head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof fds), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
			memcpy(CMSG_DATA(head), fds, sizeof fds);
			if (sendmsg(ends[0], &message, 0) < 0)
				break;
			if (!made(0))
				return;
		}
}

static void memory_files(void)
{
	for (int fd; made(fd = memfd_create("x", 0));)
		if (write(fd, block, 4096) < 0)
			return;
}

static void descriptors(void) { while (made(open("/etc/passwd", O_RDONLY))) continue; }
static void events(void) { while (made(eventfd(0, 0))) continue; }
static void timer_files(void) { while (made(timerfd_create(CLOCK_MONOTONIC, 0))) continue; }
static void process_files(void) { while (made(syscall(SYS_pidfd_open, getpid(), 0))) continue; }

static void signal_files(void)
{
	sigset_t set;
	sigfillset(&set);
	while (made(signalfd(-1, &set, 0)))
		continue;
}

static void proc_files(void)
{
	for (int fd; made(fd = open("/proc/self/smaps", O_RDONLY));)
		if (read(fd, block, sizeof block) < 0)
			return;
}

static void byte_locks(void)
{
	int fd = open("/box/lock", O_CREAT | O_RDWR, 0600);
	struct flock whole = {.l_type = F_WRLCK}, byte = {.l_type = F_UNLCK, .l_len = 1};
	if (fcntl(fd, F_SETLK, &whole))
		return;
	for (long i = 2000000000; more(); i -= 2, shared->made++) {
		byte.l_start = i;
		if (fcntl(fd, F_SETLK, &byte))
			return;
	}
}

static void locks(void)
{
	int fd = open("/box/lock", O_CREAT | O_RDWR, 0600);
	while (made(flock(fd, LOCK_SH)))
		continue;
}

static void timers(void)
{
	timer_t timer;
	struct sigevent quiet = {.sigev_notify = SIGEV_NONE};
	while (made(timer_create(CLOCK_MONOTONIC, &quiet, &timer)))
		continue;
}

static void queued_signals(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, 40);
	sigprocmask(SIG_BLOCK, &set, NULL);
	while (made(sigqueue(getpid(), 40, (union sigval){0})))
		continue;
}

static void page_tables(void)
{
	char *p = MAP_FAILED;
	for (long size = 1l << 40; size > 1 << 26 && p == MAP_FAILED; size >>= 1)
		p = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	/* The zero page is not charged to the box, so each read costs only a page table. */
	for (long i = 0; more() && i < 4096; i++, shared->made++)
		shared->bytes += 4096 + *(volatile char *)(p + (i << 21) % (1l << 29)) * 0;
}

static void mappings(void)
{
	for (long i = 0; more(); i++, shared->made++)
		if (mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
			return;
}

static void file_mappings(void)
{
	int fd = open("/usr/bin/env", O_RDONLY);
	while (more() && mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, (shared->made & 1) << 12) != MAP_FAILED)
		shared->made++;
}

static void epoll_watches(void)
{
	int sets[256], count = 0, event = eventfd(0, 0);
	while (count < 200 && (sets[count] = epoll_create1(0)) >= 0)
		count++;
	for (int i = 0; i < count; i++)
		for (int fd = 3; fd < 256; fd++)
			if (!epoll_ctl(sets[i], EPOLL_CTL_ADD, fd == sets[i] ? event : fd, &(struct epoll_event){0}) && !made(0))
				return;
}

static void *sleep_in_thread(void *arg)
{
	usleep((MAKING_MS + HOLDING_MS) * 1000);
	return arg;
}

static void threads(void)
{
	pthread_t thread;
	while (made(-pthread_create(&thread, NULL, sleep_in_thread, NULL)))
		continue;
}

static void processes(void)
{
	shared->made++;
	setsid();
}

static void large_arguments(void)
{
	memset(block, 'x', sizeof block - 1);
	block[sizeof block - 1] = 0;
	char *argv[20] = {"sleep", "1.6"}, *envp[18] = {0};
	for (int i = 0; i < 17; i++)
		envp[i] = block;
	shared->made++;
	shared->finished++;
	execve("/bin/sleep", argv, envp);
}

/* Kinds that are refused. */
static void open_file_locks(void)
{
	int fd = open("/box/lock", O_CREAT | O_RDWR, 0600);
	struct flock byte = {.l_type = F_WRLCK, .l_len = 1};
	for (; made(fcntl(fd, F_OFD_SETLK, &byte)); byte.l_start += 2)
		continue;
}

static long make_with_list(const char *place, long i)
{
	static unsigned char list[28 + 8 * 2000] = {2, 0, 0, 0};
	if (i == 0) {
		unsigned char *at = list + 4;
		for (int k = 0; k < 2003; k++, at += 8) {
			int tag = k == 0 ? 1 : k <= 1999 ? 2 : k == 2000 ? 4 : k == 2001 ? 16 : 32;
			memcpy(at, &(struct { short tag, perm; int id; }){(short)tag, 7, tag == 2 ? 10000 + k : -1}, 8);
		}
		snprintf(name, sizeof name, "%s/listed", place);
		if (mkdir(name, 0700) || setxattr(name, "system.posix_acl_default", list, sizeof list, 0))
			return -1;
	}
	char listed[64];
	snprintf(listed, sizeof listed, "%s/listed", place);
	shared->bytes += sizeof list;
	return make_file(listed, i);
}

static void access_lists(void) { in_each_place(make_with_list); }

static long make_attribute(const char *place, long i)
{
	char attribute[32];
	snprintf(attribute, sizeof attribute, "user.%ld", i);
	snprintf(name, sizeof name, "%s/with-attributes", place);
	if (i == 0)
		close(open(name, O_CREAT | O_WRONLY, 0600));
	return setxattr(name, attribute, block, 4096, 0);
}

static void attributes(void) { in_each_place(make_attribute); }

static void segments(void) { while (made(syscall(SYS_shmget, 0, 65536, 0600))) continue; }
static void semaphores(void) { while (made(syscall(SYS_semget, 0, 32000, 0600))) continue; }
static void queues(void) { while (made(syscall(SYS_msgget, 0, 0600))) continue; }
static void posix_queues(void) { while (made(syscall(SYS_mq_open, "x", O_CREAT | O_RDWR, 0600, NULL))) continue; }
static void keys(void) { while (made(syscall(SYS_add_key, "user", "x", block, 4096, -3))) continue; }
static void rings(void) { while (made(syscall(SYS_io_uring_setup, 4096, block))) continue; }
static void requests(void) { while (made(syscall(SYS_io_setup, 128, &(unsigned long){0}))) continue; }
static void rulesets(void) { while (made(syscall(444, &(long[]){1, 0, 0}, 8, 0))) continue; }
static void watches(void) { while (made(inotify_init1(0))) continue; }
static void watch_queues(void) { int ends[2]; while (made(pipe2(ends, O_EXCL))) continue; }
static void leases(void) { while (made(fcntl(open("/box/x", O_CREAT | O_RDONLY, 0600), F_SETLEASE, F_RDLCK))) continue; }
static void fanotify(void) { while (made(syscall(SYS_fanotify_init, 0, 0))) continue; }
static void programs(void) { while (made(syscall(SYS_bpf, 5, block, 128))) continue; }
static void userfaultfds(void) { while (made(syscall(SYS_userfaultfd, 1))) continue; }
static void secrets(void) { while (made(syscall(447, 0))) continue; }

static const struct kind { const char *name; void (*make)(void); int by_all; } kinds[] = {
#define KIND(make, by_all) {#make, make, by_all},
	KIND(files, 0) KIND(long_names, 0) KIND(symlinks, 0) KIND(links, 0) KIND(directories, 0) KIND(deep_directories, 0)
	KIND(contents, 0) KIND(missing_names, 0) KIND(existing_names, 0)
	KIND(pipes, 1) KIND(streams, 1) KIND(datagrams, 1) KIND(packets, 1) KIND(named_sockets, 1)
	KIND(waiting_connections, 1) KIND(descriptors_in_flight, 1) KIND(memory_files, 1) KIND(descriptors, 1)
	KIND(events, 1) KIND(timer_files, 1) KIND(process_files, 1) KIND(signal_files, 1) KIND(proc_files, 1)
	KIND(byte_locks, 1) KIND(locks, 1) KIND(timers, 1) KIND(queued_signals, 1) KIND(page_tables, 1) KIND(mappings, 1)
	KIND(file_mappings, 1) KIND(epoll_watches, 1) KIND(threads, 0)
	KIND(processes, 1) KIND(large_arguments, 1)
	KIND(open_file_locks, 1) KIND(access_lists, 0) KIND(attributes, 0) KIND(segments, 0) KIND(semaphores, 0)
	KIND(queues, 0) KIND(posix_queues, 0) KIND(keys, 0) KIND(rings, 1) KIND(requests, 1) KIND(rulesets, 1)
	KIND(watches, 1) KIND(watch_queues, 1) KIND(leases, 1) KIND(fanotify, 1) KIND(programs, 1) KIND(userfaultfds, 1) KIND(secrets, 1)
};

int main(void)
{
	char wanted[64];
	if (scanf("%63s", wanted) != 1)
		return 2;
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	clock_gettime(CLOCK_MONOTONIC, &began);
	const struct kind *kind = kinds, *end = kinds + sizeof kinds / sizeof *kinds;
	while (kind < end && strcmp(kind->name, wanted))
		kind++;
	if (kind == end)
		return 3;
	int count = 1;
	while (kind->by_all && count < 64) {
		pid_t child = fork();
		if (child < 0)
			break;
		if (child == 0) {
			number = count;
			kind->make();
			shared->finished++;
			usleep((MAKING_MS + HOLDING_MS) * 2000);
			_exit(0);
		}
		count++;
	}
	if (kind->make != large_arguments)
		kind->make();
	while (shared->finished < count - 1 && elapsed_ms() < 2 * MAKING_MS)
		usleep(1000);
	printf("%ld\n", shared->made);
	fflush(stdout);
	if (shared->made > 0)
		usleep(HOLDING_MS * 1000);
	return 0;
}
