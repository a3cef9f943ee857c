/* Typical use of the C library, which the system call filter must allow. All of it is one program, because it has one recording. */
#define _GNU_SOURCE
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <malloc.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define OK(call) do { if ((long)(call) < 0) { perror(#call); exit(1); } } while (0)

static int visit(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

static void files(void)
{
	char place[] = "/tmp/typicalXXXXXX", block[4096] = "x";
	assert(mkdtemp(place));
	OK(chdir(place));
	int fd = open("a", O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
	OK(write(fd, block, sizeof block));
	OK(pwrite(fd, block, 10, 5));
	OK(pread(fd, block, 10, 5));
	struct iovec parts[2] = {{block, 10}, {block, 20}};
	OK(writev(fd, parts, 2));
	OK(lseek(fd, 0, SEEK_SET));
	OK(pwritev(fd, parts, 2, 0));
	OK(ftruncate(fd, 8192));
	OK(truncate("a", 4096));
	OK(fallocate(fd, 0, 0, 8192));
	OK(fsync(fd));
	OK(fdatasync(fd));
	OK(fchmod(fd, 0644));
	OK(futimens(fd, NULL));
	OK(lockf(fd, F_LOCK, 0));
	OK(fcntl(fd, F_SETFL, O_APPEND | O_NONBLOCK));
	OK(fcntl(fd, F_SETFD, FD_CLOEXEC));
	OK(dup(fd));
	OK(dup2(fd, 20));
	OK(dup3(fd, 21, O_CLOEXEC));
	char *mapped = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert(mapped != MAP_FAILED);
	OK(msync(mapped, 8192, MS_SYNC));
	OK(madvise(mapped, 8192, MADV_SEQUENTIAL));
	mapped = mremap(mapped, 8192, 16384, MREMAP_MAYMOVE);
	assert(mapped != MAP_FAILED);
	OK(mprotect(mapped, 4096, PROT_READ));
	OK(munmap(mapped, 16384));
	OK(link("a", "b"));
	OK(symlink("a", "c"));
	OK(readlink("c", block, sizeof block));
	OK(rename("b", "d"));
	OK(renameat2(AT_FDCWD, "a", AT_FDCWD, "d", RENAME_EXCHANGE));
	OK(mkdir("x", 0755));
	OK(mkfifo("fifo", 0600));
	OK(chmod("a", 0600));
	OK(access("a", R_OK));
	OK(faccessat(AT_FDCWD, "a", R_OK, AT_EACCESS));
	struct stat st;
	OK(stat("a", &st));
	OK(lstat("c", &st));
	OK(fstat(fd, &st));
	struct statx more;
	OK(statx(AT_FDCWD, "a", 0, STATX_ALL, &more));
	struct statvfs fs;
	OK(statvfs(".", &fs));
	OK(utimensat(AT_FDCWD, "a", NULL, 0));
	assert(scandir(".", &(struct dirent **){NULL}, NULL, alphasort) > 4);
	glob_t found;
	OK(glob("*", 0, NULL, &found));
	FILE *stream = fopen("e", "w+");
	fprintf(stream, "%d\n", 1);
	rewind(stream);
	assert(fscanf(stream, "%d", &(int){0}) == 1);
	fclose(stream);
	assert(tmpfile() && realpath("a", NULL) && getcwd(block, sizeof block));
	int memory = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING), from = open("a", O_RDONLY);
	OK(sendfile(memory, from, NULL, 100));
	OK(copy_file_range(from, &(off_t){0}, open("copy", O_CREAT | O_WRONLY, 0600), NULL, 100, 0));
	OK(fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK));
	umask(022);
	OK(chdir("/box"));
	OK(nftw(place, visit, 8, FTW_DEPTH | FTW_PHYS));
	OK(close_range(3, ~0u, 0));
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static int ready;

static void *work(void *arg)
{
	pthread_setname_np(pthread_self(), "worker");
	pthread_barrier_wait(&barrier);
	pthread_mutex_lock(&mutex);
	ready++;
	pthread_cond_broadcast(&condition);
	pthread_mutex_unlock(&mutex);
	return arg;
}

static void *endless(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void threads(void)
{
	pthread_t all[3], cancelled;
	pthread_barrier_init(&barrier, NULL, 3);
	for (int i = 0; i < 3; i++)
		assert(!pthread_create(&all[i], NULL, work, NULL));
	pthread_mutex_lock(&mutex);
	struct timespec soon;
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_sec += 5;
	while (ready < 3)
		assert(!pthread_cond_timedwait(&condition, &mutex, &soon));
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < 3; i++)
		pthread_join(all[i], NULL);
	assert(!pthread_create(&cancelled, NULL, endless, NULL));
	pthread_cancel(cancelled);
	pthread_join(cancelled, NULL);
	pthread_mutexattr_t robust;
	pthread_mutexattr_init(&robust);
	pthread_mutexattr_setprotocol(&robust, PTHREAD_PRIO_INHERIT);
	pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_t other;
	pthread_mutex_init(&other, &robust);
	pthread_mutex_lock(&other);
	pthread_mutex_unlock(&other);
	sem_t *named = sem_open("/typical", O_CREAT, 0600, 1);
	assert(named != SEM_FAILED);
	sem_wait(named);
	sem_post(named);
	sem_unlink("/typical");
	int shared = shm_open("/typical", O_CREAT | O_RDWR, 0600);
	OK(ftruncate(shared, 4096));
	OK(shm_unlink("/typical"));
	cpu_set_t cpus;
	OK(sched_getaffinity(0, sizeof cpus, &cpus));
	sched_yield();
	OK(sched_getscheduler(0));
	struct sched_param param;
	OK(sched_getparam(0, &param));
	OK(sched_get_priority_max(SCHED_FIFO));
	sched_getcpu();
}

static void caught(int sig)
{
	(void)sig;
}

static void signals_and_timers(void)
{
	static char alternative[65536];
	OK(sigaltstack(&(stack_t){.ss_sp = alternative, .ss_size = sizeof alternative}, NULL));
	struct sigaction action = {.sa_handler = caught, .sa_flags = SA_ONSTACK};
	OK(sigaction(SIGALRM, &action, NULL));
	OK(setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = 5000}, NULL));
	pause();
	getitimer(ITIMER_REAL, &(struct itimerval){{0}});
	alarm(0);
	sigset_t set, none;
	sigemptyset(&none);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	OK(sigprocmask(SIG_BLOCK, &set, NULL));
	raise(SIGUSR1);
	sigpending(&set);
	int by_file = signalfd(-1, &set, SFD_CLOEXEC);
	OK(by_file);
	struct signalfd_siginfo info;
	OK(read(by_file, &info, sizeof info));
	OK(sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 1}));
	siginfo_t got;
	OK(sigtimedwait(&set, &got, &(struct timespec){1, 0}));
	timer_t timer;
	OK(timer_create(CLOCK_MONOTONIC, &(struct sigevent){.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM}, &timer));
	OK(timer_settime(timer, 0, &(struct itimerspec){.it_value.tv_nsec = 5000000}, NULL));
	sigsuspend(&none);
	timer_gettime(timer, &(struct itimerspec){{0}});
	timer_getoverrun(timer);
	timer_delete(timer);
	int by_time = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	OK(timerfd_settime(by_time, 0, &(struct itimerspec){.it_value.tv_nsec = 1000000}, NULL));
	OK(timerfd_gettime(by_time, &(struct itimerspec){{0}}));
	OK(read(by_time, &(uint64_t){0}, 8));
	nanosleep(&(struct timespec){0, 1000000}, NULL);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){0, 1000000}, NULL);
	clock_getres(CLOCK_MONOTONIC, &(struct timespec){0});
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &(struct timespec){0});
	sigjmp_buf back;
	if (sigsetjmp(back, 1) == 0)
		siglongjmp(back, 1);
	close(by_file), close(by_time);
}

static void waiting(void)
{
	int ends[2], pair[2], set = epoll_create1(EPOLL_CLOEXEC), event = eventfd(0, EFD_NONBLOCK);
	OK(pipe(ends));
	OK(pipe2(pair, O_CLOEXEC | O_NONBLOCK));
	close(pair[0]), close(pair[1]);
	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	OK(write(event, &(uint64_t){1}, 8));
	OK(epoll_ctl(set, EPOLL_CTL_ADD, event, &(struct epoll_event){.events = EPOLLIN}));
	struct epoll_event one;
	OK(epoll_wait(set, &one, 1, 100));
	OK(epoll_pwait(set, &one, 1, 100, &(sigset_t){0}));
	OK(write(ends[1], "x", 1));
	struct pollfd polled = {.fd = ends[0], .events = POLLIN};
	OK(poll(&polled, 1, 100));
	OK(ppoll(&polled, 1, &(struct timespec){0, 1000}, NULL));
	fd_set chosen;
	FD_ZERO(&chosen);
	FD_SET(ends[0], &chosen);
	OK(select(ends[0] + 1, &chosen, NULL, NULL, &(struct timeval){0, 1000}));
	OK(pselect(ends[0] + 1, &chosen, NULL, NULL, &(struct timespec){0, 1000}, NULL));
	int available, on = 1;
	OK(ioctl(ends[0], FIONREAD, &available));
	OK(ioctl(ends[0], FIONBIO, &on));
	OK(fcntl(ends[0], F_GETPIPE_SZ));
	isatty(0);
	ioctl(1, TIOCGWINSZ, &(struct winsize){0});
	tcgetattr(0, &(struct termios){0});
	tcgetpgrp(0);
	OK(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &(int){65536}, sizeof(int)));
	OK(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){1, 0}, sizeof(struct timeval)));
	OK(getsockopt(pair[0], SOL_SOCKET, SO_ERROR, &on, &(socklen_t){sizeof on}));
	OK(send(pair[0], "x", 1, MSG_NOSIGNAL));
	char byte;
	OK(recv(pair[1], &byte, 1, MSG_PEEK | MSG_DONTWAIT));
	OK(recvmsg(pair[1], &(struct msghdr){.msg_iov = &(struct iovec){&byte, 1}, .msg_iovlen = 1}, 0));
	struct sockaddr_un address = {AF_UNIX, "/tmp/typical-socket"};
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
	OK(bind(server, (struct sockaddr *)&address, sizeof address));
	OK(listen(server, 5));
	OK(connect(client, (struct sockaddr *)&address, sizeof address));
	OK(accept4(server, NULL, NULL, SOCK_CLOEXEC));
	OK(getsockname(client, (struct sockaddr *)&address, &(socklen_t){sizeof address}));
	OK(shutdown(client, SHUT_RDWR));
	getaddrinfo("localhost", "80", NULL, &(struct addrinfo *){NULL});
	OK(close_range(3, ~0u, 0));
}

static void processes(void)
{
	int status;
	pid_t child = fork();
	if (child == 0)
		_exit(3);
	OK(waitpid(child, &status, 0));
	assert(WEXITSTATUS(status) == 3);
	assert(system("true") == 0);
	FILE *output = popen("ls / | sort | head -3; sleep 0.01; date >/dev/null; printf x | tee /tmp/x | cat; mktemp >/dev/null; "
			     "sed s/x/y/ /tmp/x | grep y | tr y z | xargs echo; find /tmp -name x; cp /tmp/x /tmp/z; mv /tmp/z /tmp/w; rm /tmp/w; "
			     "touch /tmp/w; ln -s w /tmp/v; stat /tmp/v; du /tmp; df /tmp; wc -c /tmp/x; id; uname -a; env; nproc; ps 2>&1; tar cf - /tmp/x 2>&1; "
			     "timeout 1 true; nohup true 2>&1; kill -0 $$; ulimit -n; umask; test -r /tmp/x; trap : TERM; { sleep 0.01 & wait; }; md5sum /tmp/x; "
			     "split -b1 /tmp/x; dd if=/tmp/x of=/dev/null 2>&1; tail -c1 /tmp/x; chmod 600 /tmp/x; mkdir -p /tmp/m/n; rmdir /tmp/m/n", "r");
	char line[4096];
	while (fread(line, 1, sizeof line, output) > 0)
		continue;
	assert(pclose(output) == 0);
	OK(posix_spawn(&child, "/bin/true", NULL, NULL, (char *[]){"true", NULL}, (char *[]){NULL}));
	siginfo_t info;
	OK(waitid(P_PID, (id_t)child, &info, WEXITED));
	child = vfork();
	if (child == 0) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	struct rusage usage;
	OK(wait4(child, &status, 0, &usage));
	child = fork();
	if (child == 0) {
		setsid();
		setpgid(0, 0);
		pause();
	}
	OK(kill(child, SIGTERM));
	OK(wait(&status));
	getppid(), getpgid(0), getpgrp(), getsid(0), getuid(), geteuid(), getgid(), getegid(), getgroups(0, NULL);
	getresuid(&(uid_t){0}, &(uid_t){0}, &(uid_t){0}), getpriority(PRIO_PROCESS, 0), nice(1), getpwuid(getuid());
	OK(getrusage(RUSAGE_SELF, &usage));
	struct rlimit limit;
	OK(getrlimit(RLIMIT_STACK, &limit));
	OK(setrlimit(RLIMIT_STACK, &limit));
	OK(uname(&(struct utsname){0}));
	OK(sysinfo(&(struct sysinfo){0}));
	times(&(struct tms){0}), time(NULL), gettimeofday(&(struct timeval){0}, NULL), sysconf(_SC_NPROCESSORS_ONLN);
	assert(getrandom(line, 10, 0) == 10 && getentropy(line, 10) == 0);
}

static void memory(void)
{
	free(malloc(1 << 24));
	malloc_trim(0);
	char *pages = mmap(NULL, 1 << 21, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	assert(pages != MAP_FAILED);
	OK(madvise(pages, 1 << 21, MADV_DONTNEED));
	assert(sbrk(4096) != (void *)-1);
}

int main(void)
{
	files();
	threads();
	signals_and_timers();
	waiting();
	processes();
	memory();
	char line[16];
	while (fgets(line, sizeof line, stdin))
		continue;
	puts("ok");
	return 0;
}
