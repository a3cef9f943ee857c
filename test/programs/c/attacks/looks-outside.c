/* Reads a path and a port. Prints whether it can read the file, connect to the port and write to the image, and what it sees. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

extern char **environ;

int main(void)
{
	char path[4096] = "", port[16] = "";
	if (scanf("%4095s %15s", path, port) != 2)
		return 1;
	printf("file: %s\n", fopen(path, "r") ? "read" : "cannot");
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(port)), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	printf("tcp: %s\n", connect(fd, (struct sockaddr *)&to, sizeof to) == 0 ? "connected" : "cannot");
	printf("image: %s\n", fopen("/usr/attack", "w") ? "written" : "cannot");
	int processes = 0;
	struct dirent *entry;
	for (DIR *dir = opendir("/proc"); dir && (entry = readdir(dir));)
		processes += isdigit(entry->d_name[0]) != 0;
	printf("processes: %d\nenvironment:", processes);
	for (char **e = environ; *e; e++)
		printf(" %.*s", (int)strcspn(*e, "="), *e);
	printf("\n");
	return 0;
}
