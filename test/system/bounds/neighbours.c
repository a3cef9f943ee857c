/*
 * Programs for boxes of two accounts that run at the same time (neighbours.test.ts).
 *
 *   neighbours MODE   "compute", "start" and "pipes" are honest: they do a fixed amount of work and end.
 *                     Every other mode uses as many resources as it can until it is killed.
 * All modes are one program, because a box is given one file.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink;

static void work(unsigned long rounds)
{
	uint64_t x = 88172645463325252ull;
	for (unsigned long i = 0; i < rounds; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	sink = x;
}

/* ---- honest ---- */

static void compute(void) { work(160000000); }

static void start(void)
{
	for (int i = 0; i < 250; i++) {
		pid_t child = fork();
		if (child == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		waitpid(child, NULL, 0);
		work(100000);
	}
}

static void pipes(void)
{
	int to[2], back[2];
	char byte = 0;
	if (pipe(to) < 0 || pipe(back) < 0)
		exit(1);
	if (fork() == 0) {
		close(to[1]);
		while (read(to[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
			work(2000);
		_exit(0);
	}
	for (int i = 0; i < 20000; i++)
		if (write(to[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			exit(1);
}

/* ---- hostile: each runs until it is killed ---- */

static void children(int count, void (*each)(void))
{
	for (int i = 0; i < count; i++)
		if (fork() == 0)
			each();
	for (;;)
		pause();
}

static void busy(void)
{
	for (;;)
		work(1000000);
}

static void pass_a_byte(void)
{
	int to[2], back[2];
	char byte = 0;
	if (pipe(to) < 0 || pipe(back) < 0)
		exit(1);
	if (fork() == 0)
		for (;;)
			if (read(to[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1)
				_exit(0);
	for (;;)
		if (write(to[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			_exit(0);
}

static uint32_t *turn;

static void pass_a_futex(void)
{
	turn = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint32_t own = fork() == 0;
	for (;;) {
		while (__atomic_load_n(turn, __ATOMIC_SEQ_CST) != own)
			syscall(SYS_futex, turn, FUTEX_WAIT, 1 - own, NULL, NULL, 0);
		__atomic_store_n(turn, 1 - own, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, turn, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
}

static void fork_and_exit(void)
{
	for (;;) {
		pid_t child = fork();
		if (child == 0)
			_exit(0);
		if (child > 0)
			waitpid(child, NULL, 0);
	}
}

static void vfork_and_exec(void)
{
	for (;;) {
		pid_t child = vfork();
		if (child == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(0);
		}
		if (child > 0)
			waitpid(child, NULL, 0);
	}
}

static void vfork_and_exit(void)
{
	for (;;) {
		pid_t child = vfork();
		if (child == 0)
			_exit(0);
		if (child > 0)
			waitpid(child, NULL, 0);
	}
}

static void move_between_cpus(void)
{
	cpu_set_t set;
	for (int cpu = 0;; cpu = !cpu) {
		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		sched_setaffinity(0, sizeof set, &set);
	}
}

static void *nothing(void *unused) { return unused; }

static void threads_that_exit(void)
{
	for (;;) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, nothing, NULL) == 0)
			pthread_join(thread, NULL);
	}
}

static void *spin(void *unused)
{
	busy();
	return unused;
}

static void change_protection(void)
{
	char *area = mmap(NULL, 64 << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;
	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, spin, NULL);
	for (;;) {
		memset(area, 1, 64 << 12);
		mprotect(area, 64 << 12, PROT_READ);
		mprotect(area, 64 << 12, PROT_READ | PROT_WRITE);
	}
}

static void barriers(void)
{
	pthread_t thread;
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, spin, NULL);
	for (;;)
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

static void ignore(int sig) { (void)sig; }

static void signals(void)
{
	pid_t other = getppid();
	signal(SIGUSR1, ignore);
	for (;;)
		if (kill(getpid(), SIGUSR1) < 0 || kill(other, 0) < 0)
			_exit(0);
}

static void timers(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_NONE};
	struct itimerspec every = {{0, 20000}, {0, 20000}};
	timer_t timer;
	for (int i = 0; i < 200; i++)
		if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
			timer_settime(timer, 0, &every, NULL);
	struct timespec pause = {0, 20000};
	for (;;)
		nanosleep(&pause, NULL);
}

static void output(void)
{
	static char block[65536];
	for (;;)
		if (write(1, block, sizeof block) < 0 && errno != EAGAIN)
			_exit(0);
}

static void stream_memory(void)
{
	size_t size = 48 << 20;
	char *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0;; i++)
		memset(area, i, size);
}

static void touch_and_drop(void)
{
	size_t size = 64 << 20;
	for (;;) {
		char *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (size_t at = 0; at < size; at += 4096)
			area[at] = 1;
		munmap(area, size);
	}
}

static void files(void)
{
	char name[64];
	for (;;)
		for (int round = 0; round < 2; round++)
			for (int i = 0; i < 200; i++) {
				snprintf(name, sizeof name, "/tmp/%d-%d", getpid(), i);
				if (round == 0)
					close(open(name, O_CREAT | O_RDWR, 0600));
				else
					unlink(name);
			}
}

/* An honest program: files come and go. */
static void names(void)
{
	char name[32];
	for (int round = 0; round < 60; round++)
		for (int part = 0; part < 2; part++)
			for (int i = 0; i < 1500; i++) {
				snprintf(name, sizeof name, "/tmp/%d", i);
				if (part == 0)
					close(open(name, O_CREAT | O_RDWR, 0600));
				else
					unlink(name);
			}
}

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * The kernel walks from the directory to the root for each rename, and nobody can look up a name meanwhile. With a pause after
 * each, or at times only, it is harder to see.
 */
static void rename_deeply(uint64_t gap_ns, uint64_t run_ns, long sleep_ns)
{
	while (mkdir("d", 0700) == 0 && chdir("d") == 0)
		continue;
	rmdir("d");
	if (chdir("..") < 0 || rmdir("d") < 0)
		_exit(1);
	close(open("a", O_CREAT | O_RDWR, 0600));
	for (;;) {
		uint64_t until = now_ns() + run_ns;
		while (now_ns() < until) {
			if (rename("a", "b") < 0 || rename("b", "a") < 0)
				_exit(1);
			for (uint64_t next = now_ns() + gap_ns; now_ns() < next;)
				continue;
		}
		nanosleep(&(struct timespec){0, sleep_ns}, NULL);
	}
}

static void deep_renames(void) { rename_deeply(0, 1000000, 0); }
static void deep_renames_with_gaps(void) { rename_deeply(20000, 1000000, 0); }
static void deep_renames_at_times(void) { rename_deeply(0, 9000000, 11000000); }

static void look_ups(void)
{
	struct stat st;
	char name[64];
	for (unsigned long i = 0;; i++) {
		snprintf(name, sizeof name, "/usr/lib/none-%d-%lu", getpid(), i);
		stat(name, &st);
	}
}

/* Pairs of sockets that contain each other and are closed: a kernel thread finds and frees them. */
static void circles(void)
{
	for (;;) {
		int pair[2];
		char byte = 0, space[CMSG_SPACE(sizeof pair)] = {0};
		if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0)
			continue;
		struct iovec text = {&byte, 1};
		struct msghdr message = {.msg_iov = &text, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
		struct cmsghdr *header = CMSG_FIRSTHDR(&message);
		*header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof pair)};
		memcpy(CMSG_DATA(header), pair, sizeof pair);
		sendmsg(pair[0], &message, MSG_DONTWAIT);
		close(pair[0]);
		close(pair[1]);
	}
}

static void read_image(void)
{
	static char block[1 << 20];
	for (;;) {
		int fd = open("/usr/bin/gcc", O_RDONLY);
		while (read(fd, block, sizeof block) > 0)
			continue;
		close(fd);
	}
}

static const struct {
	const char *name;
	int processes; /* 0: in this process */
	void (*run)(void);
} modes[] = {
	{"compute", 0, compute}, {"start", 0, start}, {"pipes", 0, pipes},
	{"busy", 0, busy}, {"busy-60", 60, busy},
	{"pass-a-byte", 5, pass_a_byte}, {"pass-a-futex", 5, pass_a_futex},
	{"fork-and-exit", 8, fork_and_exit}, {"vfork-and-exec", 8, vfork_and_exec},
	{"vfork-and-exit", 8, vfork_and_exit},
	{"move-between-cpus", 9, move_between_cpus}, {"threads-that-exit", 8, threads_that_exit},
	{"change-protection", 4, change_protection}, {"barriers", 4, barriers}, {"signals", 8, signals},
	{"timers", 8, timers}, {"output", 8, output}, {"stream-memory", 2, stream_memory},
	{"touch-and-drop", 2, touch_and_drop}, {"files", 8, files}, {"look-ups", 8, look_ups},
	{"read-image", 8, read_image}, {"circles", 8, circles}, {"names", 0, names}, {"deep-renames", 1, deep_renames},
	{"deep-renames-with-gaps", 1, deep_renames_with_gaps}, {"deep-renames-at-times", 1, deep_renames_at_times},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
		if (!strcmp(modes[i].name, argv[1])) {
			if (modes[i].processes)
				children(modes[i].processes, modes[i].run);
			modes[i].run();
			return 0;
		}
	return 2;
}
