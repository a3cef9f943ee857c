// Ends slowly, or costs others time while it runs. Standard input selects how: MODE PROCESSES [PAGE TABLES].
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static int all_processes, tables = 12000;

static void forever(void)
{
	for (;;)
		pause();
}

static void burn(void)
{
	for (volatile unsigned long i = 0;; i++)
		;
}

// As many mappings as the kernel allows. Adjacent ones differ, so they are not merged.
static void mappings(void)
{
	for (int i = 0; i < 60000; i++)
		if (mmap(NULL, 4096, i & 1 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
			break;
	forever();
}

// Maps a file as often: each mapping is in the file's own tree as well.
static void file_mappings(void)
{
	int fd = open("/usr/bin/env", O_RDONLY);
	for (int i = 0; i < 60000; i++)
		if (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, (off_t)(i & 1) << 12) == MAP_FAILED)
			break;
	forever();
}

// Full page tables: each has 512 entries for pages of a file, for 4 KiB of memory.
static void full_tables(void)
{
	size_t size = 2ul << 20;
	int fd = memfd_create("pages", 0);
	static char zeros[65536];
	for (size_t done = 0; done < size; done += sizeof zeros)
		if (write(fd, zeros, sizeof zeros) < 0)
			break;
	for (;;) {
		char *all = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
		if (all == MAP_FAILED || madvise(all, size, 22 /* MADV_POPULATE_READ */))
			break;
	}
	forever();
}

// One page in each 2 MiB, each with its own page table.
static void page_tables(void)
{
	size_t size = 16ul << 30;
	char *all = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	volatile char sum = 0;
	for (size_t at = 0; all != MAP_FAILED && at < size; at += 2ul << 20)
		sum += all[at];
	forever();
}

static void descriptors(void)
{
	int fd = open("/dev/null", O_RDONLY);
	while (dup(fd) >= 0)
		;
	forever();
}

// Pairs of sockets that contain each other and are closed: only the kernel's collector finds them.
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

// Mappings of one page of one file. All processes open the same file by name.
static int map_one_page(int most)
{
	int fd = open("mapped", O_RDWR | O_CREAT, 0600);
	ftruncate(fd, 1 << 20);
	for (int i = 0; i < most; i++)
		if (mmap(NULL, 4096, i & 1 ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED)
			break;
	return fd;
}

// Each call walks the mappings of all processes, one process at a time.
static void truncate_without_end(int mappings_of_each)
{
	int fd = map_one_page(mappings_of_each);
	for (;;)
		if (ftruncate(fd, 0) < 0 || ftruncate(fd, 1 << 20) < 0)
			_exit(1);
}

static void truncations(void) { truncate_without_end(40000); }

// With as many mappings as the kernel memory bound allows.
static void fewer_truncations(void) { truncate_without_end(all_processes > 9 ? 7000 : 20000); }

static void holes(void)
{
	enum { PAGES = 20000 };
	int fd = open("mapped", O_RDWR | O_CREAT, 0600);
	ftruncate(fd, 1 << 20);
	char *all = mmap(NULL, PAGES * 4096ul, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < PAGES; i++)
		mmap(all + i * 4096ul, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	for (;;) {
		madvise(all, PAGES * 4096ul, MADV_REMOVE);
		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096);
	}
}

static void exits(void)
{
	for (;;) {
		if (fork() == 0)
			_exit(0);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

static void vforks(void)
{
	for (;;) {
		if (vfork() == 0)
			_exit(0);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

static void tree(void)
{
	while (fork() == 0)
		;
	forever();
}

static void stopped(void)
{
	raise(SIGSTOP);
	forever();
}

static void flood(void)
{
	static char text[65536];
	for (;;)
		if (write(1, text, sizeof text) < 0)
			_exit(1);
}

static void flood_bytes(void)
{
	for (;;)
		if (write(1, "x", 1) < 0)
			_exit(1);
}

// Reads in which the kernel does not look at signals, as long as the limit of address space and the filter permit: of
// 1.9 GiB, 0.9 to 1.5 s. The buffer is the same 16 MiB again and again.
static void pagemaps(void)
{
	enum { PIECE = 16 << 20 };
	size_t size = 0;
	int fd = memfd_create("buffer", 0), pagemap = open("/proc/self/pagemap", O_RDONLY);
	char *buffer = NULL;
	if (ftruncate(fd, PIECE) < 0)
		_exit(1);
	for (size_t pieces = 121; pieces > 0 && size == 0; pieces--) {
		buffer = mmap(NULL, pieces * PIECE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		size = buffer == MAP_FAILED ? 0 : pieces * PIECE;
	}
	for (size_t at = 0; at < size; at += PIECE)
		if (mmap(buffer + at, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
			_exit(1);
	struct iovec whole = {buffer, size};
	while (preadv(pagemap, &whole, 1, 0) > 0)
		;
	while (size > 0 && pread(pagemap, buffer, size, 0) < 0)
		size -= 65536;
	while (pread(pagemap, buffer, size, 0) > 0)
		;
	_exit(1);
}

// What a victim and its readers share: its process ID once its page tables are full, an address in them, and how many
// readers have begun.
struct victim {
	_Atomic pid_t process;
	_Atomic unsigned long address;
	_Atomic int readers;
};

static struct victim *victim;

enum then { STAYS, ENDS, EXECUTES };
static const off_t AFAR = 1l << 40;

static char *map_file_again(int fd, size_t size)
{
	char *pages = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	return pages == MAP_FAILED || madvise(pages, size, 22 /* MADV_POPULATE_READ */) ? NULL : pages;
}

// Files of 840 MiB, whose pages the kernel gets in random order: what it keeps for each is in no cache when it is needed.
enum { SCATTERED_FILES = 7, SCATTERED_PAGES = 30 * 1024 };
static int scattered[SCATTERED_FILES];

static void scatter(void)
{
	static int order[SCATTERED_FILES * SCATTERED_PAGES];
	int count = SCATTERED_FILES * SCATTERED_PAGES;
	for (int i = 0; i < count; i++)
		order[i] = i;
	for (int i = count - 1; i > 0; i--) {
		int other = rand() % (i + 1), page = order[i];
		order[i] = order[other];
		order[other] = page;
	}
	for (int i = 0; i < SCATTERED_FILES; i++)
		scattered[i] = memfd_create("scattered", 0);
	for (int i = 0; i < count; i++)
		if (pwrite(scattered[order[i] % SCATTERED_FILES], "x", 1, (off_t)(order[i] / SCATTERED_FILES) << 12) != 1)
			_exit(1);
}

// Full page tables of these files.
static unsigned long fill_scattered_tables(void)
{
	enum { EACH = SCATTERED_PAGES / 512 };
	size_t size = 2ul << 20;
	char *pages = NULL;
	for (int i = 0; i < tables; i++) {
		off_t at = (off_t)(i / SCATTERED_FILES % EACH) * (off_t)size;
		char *next = mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_POPULATE, scattered[i % SCATTERED_FILES], at);
		if (next == MAP_FAILED)
			break;
		pages = next;
	}
	return (unsigned long)pages;
}

// Full page tables: by mappings of the same 2 MiB of a file, or in one mapping of zero pages.
static unsigned long fill_tables(bool in_one_mapping)
{
	size_t size = 2ul << 20;
	if (scattered[0])
		return fill_scattered_tables();
	if (in_one_mapping) {
		char *all = mmap(NULL, tables * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		madvise(all, tables * size, MADV_NOHUGEPAGE);
		madvise(all, tables * size, 22 /* MADV_POPULATE_READ */);
		return (unsigned long)all;
	}
	int fd = memfd_create("pages", 0);
	if (ftruncate(fd, (off_t)size) < 0)
		_exit(1);
	char *pages = NULL;
	for (int i = 0; i < tables; i++) {
		char *next = map_file_again(fd, size);
		if (!next)
			break;
		pages = next;
	}
	return (unsigned long)pages;
}

// Fills its page tables, waits for its readers, then ends or executes another program: its memory lives on with them.
static void be_read(bool in_one_mapping, enum then then)
{
	victim->address = fill_tables(in_one_mapping);
	victim->process = getpid();
	while (victim->readers < all_processes)
		sched_yield();
	for (int i = 0; i < 100; i++)
		sched_yield();
	if (then == ENDS)
		_exit(0);
	if (then == EXECUTES)
		execl("/bin/sleep", "sleep", "60", (char *)NULL);
	forever();
}

// Reads a file about the victim's memory, with the longest reads that the filter permits. The buffer is the same 16 MiB
// again and again.
static void read_victim(const char *file, off_t from, bool in_one_mapping, enum then then)
{
	enum { PIECE = 16 << 20, PIECES = 8 };
	pid_t nobody = 0;
	if (atomic_compare_exchange_strong(&victim->process, &nobody, -1) && fork() == 0)
		be_read(in_one_mapping, then);
	while (victim->process <= 0)
		usleep(1000);
	int buffer = memfd_create("buffer", 0);
	char *text = mmap(NULL, (size_t)PIECE * PIECES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (ftruncate(buffer, PIECE) < 0 || text == MAP_FAILED)
		_exit(1);
	for (size_t at = 0; at < (size_t)PIECE * PIECES; at += PIECE)
		mmap(text + at, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, buffer, 0);
	char name[64];
	snprintf(name, sizeof name, "/proc/%d/%s", victim->process, file);
	int fd = open(name, O_RDONLY);
	if (!strcmp(file, "mem"))
		from = (off_t)victim->address;
	victim->readers++;
	while (pread(fd, text, (size_t)PIECE * PIECES - 4096, from) > 0 || from == AFAR)
		;
	burn();
}

static void rollup_of_living(void) { read_victim("smaps_rollup", 0, false, STAYS); }
static void rollup_of_ended(void) { read_victim("smaps_rollup", 0, false, ENDS); }
static void rollup_of_executed(void) { read_victim("smaps_rollup", 0, false, EXECUTES); }
static void rollup_of_one_mapping(void) { read_victim("smaps_rollup", 0, true, ENDS); }
static void smaps_from_afar(void) { read_victim("smaps", AFAR, false, ENDS); }
static void smaps_of_scattered(void)
{
	scatter();
	for (int p = 1; p < all_processes; p++)
		if (fork() == 0)
			smaps_from_afar();
	smaps_from_afar();
}
static void end_of_scattered(void)
{
	scatter();
	fill_scattered_tables();
	forever();
}
static void pagemap_of_ended(void) { read_victim("pagemap", 0, false, ENDS); }
// Readers of a victim that lives for a few milliseconds: one process opens the file for all of them. Two tasks become
// 60 so fast that the launcher may see it only when all of them read.
static void rollup_of_brief(void)
{
	int ready[2];
	struct { _Atomic pid_t victim; atomic_int readers; } *shared =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (pipe(ready))
		_exit(1);
	if (fork() == 0) {
		char name[64], bytes[4096];
		int fd[128], readers = all_processes - 4;
		if (read(ready[0], bytes, 1) != 1)
			_exit(1);
		snprintf(name, sizeof name, "/proc/%d/smaps_rollup", shared->victim);
		for (int i = 0; i < readers; i++)
			fd[i] = open(name, O_RDONLY);
		for (int i = 0; i < readers; i++)
			if (fork() == 0) {
				shared->readers++;
				while (pread(fd[i], bytes, sizeof bytes, 0) > 0)
					;
				burn();
			} else if (i < 3) {
				sched_yield(); // the first ones begin while the victim lives
			}
		forever();
	}
	// Private mappings with a page of their own, so that the child gets page tables as well.
	int pages = memfd_create("pages", 0);
	if (ftruncate(pages, 2 << 20) < 0)
		_exit(1);
	for (int i = 0; i < tables; i++) {
		char *at = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE, pages, 0);
		if (at == MAP_FAILED || madvise(at, 2 << 20, 22 /* MADV_POPULATE_READ */))
			break;
		at[0] = 1;
	}
	usleep(30000);
	if (fork() == 0) {
		shared->victim = getpid();
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		while (shared->readers < 1)
			sched_yield();
		_exit(0);
	}
	forever();
}

static void memory_of_living(void)
{
	tables = 64;
	read_victim("mem", 0, true, STAYS);
}

static char *zeros;

static void *free_forever(void *unused)
{
	for (;;)
		madvise(zeros, (size_t)tables << 21, MADV_DONTNEED);
	return unused;
}

// Threads that let the kernel walk one mapping full of zero pages, in calls that do not look at signals.
static void frees(void)
{
	zeros = (char *)fill_tables(true);
	for (int i = 1; i < all_processes; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, free_forever, NULL))
			_exit(1);
	}
	free_forever(NULL);
}

enum { HUGE = 2 << 20, COPIES = 60000 };
static char *copied[64];

static void *split_forever(void *own)
{
	for (volatile char *page = own;;) {
		page[0] = 1;
		madvise(own, 4096, MADV_FREE);
		madvise(own, HUGE, MADV_DONTNEED);
	}
	return own;
}

// As many mappings of the same memory as the kernel allows, so that it has to look at all of them for each page. Threads then let it
// split huge pages, or look for pages to reclaim.
static void copies(void)
{
	size_t all = 4ul * HUGE;
	char *area = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *from = (char *)(((unsigned long)area + 2 * HUGE - 1) & ~(HUGE - 1ul));
	madvise(area, all, MADV_HUGEPAGE);
	area[0] = from[-1] = from[HUGE] = 1;
	for (int i = 0; i < COPIES; i++) {
		char *to = mremap(from, HUGE, HUGE, MREMAP_MAYMOVE | 4 /* MREMAP_DONTUNMAP */, NULL);
		if (to == MAP_FAILED) { // move it, and map the gap again, which belongs to the same area
			char *place = mmap(NULL, HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
			from[0] = 1;
			to = mremap(from, HUGE, HUGE, MREMAP_MAYMOVE | MREMAP_FIXED, place);
			if (to == MAP_FAILED)
				break;
			madvise(to, HUGE, MADV_DONTNEED);
			mmap(from, HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
			madvise(from, HUGE, MADV_HUGEPAGE);
		}
		if (i < 64)
			copied[i] = to;
	}
	for (int i = 1; i < all_processes && i < 64; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, split_forever, copied[i]))
			break;
	}
	split_forever(from);
}

// Reads ahead, in one call, in many mappings of the whole of a large file, which the kernel looks at for each of them.
static void advice(void)
{
	int fd = open("/usr/lib/jvm/java-21-openjdk-amd64/lib/modules", O_RDONLY);
	if (fd < 0)
		fd = open("/usr/lib/jvm/java-21-openjdk-arm64/lib/modules", O_RDONLY);
	size_t size = 100ul << 20, mapped = 0;
	char *all = mmap(NULL, COPIES * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	while (all != MAP_FAILED && mapped < COPIES && mmap(all + mapped * size, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) != MAP_FAILED)
		mapped++;
	for (;;)
		if (all == MAP_FAILED || madvise(all, mapped * size, MADV_WILLNEED))
			forever();
}

// Moves many mappings with one call, again and again.
static void moves(void)
{
	size_t page = 4096, size = COPIES * page;
	int fd = memfd_create("page", 0);
	ftruncate(fd, 2 * page);
	char *from = mmap(NULL, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *to = from + size;
	for (size_t at = 0; from != MAP_FAILED && at < size; at += page)
		if (mmap(from + at, page, PROT_READ, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0) == MAP_FAILED)
			break;
	for (;;) {
		if (mremap(from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED)
			forever();
		char *moved = to;
		to = from;
		from = moved;
	}
}

static const struct {
	const char *name;
	void (*way)(void);
	bool is_alone; // it starts the other processes or threads itself
} ways[] = {
	{"burn", burn}, {"mappings", mappings}, {"page-tables", page_tables}, {"file-mappings", file_mappings},
	{"full-tables", full_tables}, {"descriptors", descriptors},
	{"circles", circles}, {"exits", exits}, {"vforks", vforks}, {"tree", tree}, {"stopped", stopped}, {"flood", flood},
	{"flood-bytes", flood_bytes}, {"truncations", truncations}, {"fewer-truncations", fewer_truncations}, {"holes", holes},
	{"pagemaps", pagemaps},
	{"rollup-of-living", rollup_of_living}, {"rollup-of-ended", rollup_of_ended},
	{"rollup-of-executed", rollup_of_executed}, {"pagemap-of-ended", pagemap_of_ended},
	{"rollup-of-one-mapping", rollup_of_one_mapping}, {"smaps-from-afar", smaps_from_afar},
	{"smaps-of-scattered", smaps_of_scattered, true}, {"end-of-scattered", end_of_scattered, true},
	{"memory-of-living", memory_of_living},
	{"rollup-of-brief", rollup_of_brief, true}, {"frees", frees, true}, {"copies", copies, true},
	{"advice", advice}, {"moves", moves},
};

int main(void)
{
	char name[32];
	if (scanf("%31s %d %d", name, &all_processes, &tables) < 2)
		return 2;
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		if (strcmp(ways[i].name, name))
			continue;
		victim = mmap(NULL, sizeof *victim, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		for (int p = 1; p < all_processes && !ways[i].is_alone; p++)
			if (fork() == 0)
				ways[i].way();
		ways[i].way();
	}
	return 2;
}
