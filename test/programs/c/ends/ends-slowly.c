// Ends slowly, or costs others while it runs, in the way that standard input names: MODE PROCESSES.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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

// As many areas as the kernel allows, none beside an equal one.
static void mappings(void)
{
	for (int i = 0; i < 60000; i++)
		if (mmap(NULL, 4096, i & 1 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
			break;
	forever();
}

// The same of a file: each area stands in the file's own tree as well.
static void file_mappings(void)
{
	int fd = open("/usr/bin/env", O_RDONLY);
	for (int i = 0; i < 60000; i++)
		if (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, (off_t)(i & 1) << 12) == MAP_FAILED)
			break;
	forever();
}

// Page tables that are full: 512 entries for pages of a file in each, for 4 KiB of memory.
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

// One page in each 2 MiB: a page table for each of them.
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

// Pairs of sockets, each sent through the other and closed: only the kernel's collector finds them.
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

static const struct {
	const char *name;
	void (*way)(void);
} ways[] = {
	{"burn", burn}, {"mappings", mappings}, {"page-tables", page_tables}, {"file-mappings", file_mappings},
	{"full-tables", full_tables}, {"descriptors", descriptors},
	{"circles", circles}, {"exits", exits}, {"vforks", vforks}, {"tree", tree}, {"stopped", stopped}, {"flood", flood},
	{"flood-bytes", flood_bytes},
};

int main(void)
{
	char name[32];
	int processes;
	if (scanf("%31s %d", name, &processes) != 2)
		return 2;
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		if (strcmp(ways[i].name, name))
			continue;
		for (int p = 1; p < processes; p++)
			if (fork() == 0)
				ways[i].way();
		ways[i].way();
	}
	return 2;
}
