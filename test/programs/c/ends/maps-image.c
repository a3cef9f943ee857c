// Standard input: the file of the image, and what to do with it.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, TABLE_SPAN = 2 << 20 };

static volatile char used;
static int fd;
static size_t size;

static void *map(size_t bytes, int flags)
{
	void *file = mmap(NULL, bytes, PROT_READ, MAP_SHARED | flags, fd, 0);
	if (file == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return file;
}

static void use_each_page(const volatile char *file)
{
	for (size_t at = 0; at < size; at += PAGE)
		used = file[at];
}

static void *wait_for_ever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

// Maps the first pages many times, and then needs memory until the limit, where the kernel looks for pages to reclaim.
static void reclaim(int mappings, int pages)
{
	for (int i = 0; i < mappings; i++)
		map((size_t)pages * PAGE, MAP_POPULATE);
	for (;;)
		memset(malloc(1 << 20), 1, 1 << 20);
}

// Has more page tables for all its threads together than a run may have, and uses the file until the end.
static void keep_using(const volatile char *file, int threads, int tables)
{
	pthread_attr_t small;
	pthread_t thread;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 1 << 16);
	for (int i = 1; i < threads; i++)
		if (pthread_create(&thread, &small, wait_for_ever, NULL) != 0)
			exit(2);
	const volatile char *zeros = mmap(NULL, (size_t)tables * TABLE_SPAN, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (int i = 0; i < tables; i++)
		used = zeros[(size_t)i * TABLE_SPAN];
	for (;;)
		use_each_page(file);
}

int main(void)
{
	char path[400], way[20];
	int first, second;
	struct stat st;
	if (scanf("%399s %19s %d %d", path, way, &first, &second) != 4)
		return 3;
	fd = open(path, O_RDONLY);
	if (fd < 0 || fstat(fd, &st) < 0) {
		perror(path);
		return 1;
	}
	size = (size_t)st.st_size;
	if (!strcmp(way, "reclaim"))
		reclaim(first, second);
	const volatile char *file = map(size, 0);
	use_each_page(file);
	printf("%zu\n", size);
	if (!strcmp(way, "keep-using"))
		keep_using(file, first, second);
	return 0;
}
