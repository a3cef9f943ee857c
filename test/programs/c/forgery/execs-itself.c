/* Executes itself a hundred times, then exits with 152 (128 and SIGXCPU); with "for-ever" as input it never ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char number[16], way[16] = "";
	int count = argc > 1 ? atoi(argv[1]) : 0;
	if (argc > 2)
		strncpy(way, argv[2], sizeof way - 1);
	else if (scanf("%15s", way) != 1)
		return 8;
	if (count == 100 && strcmp(way, "for-ever"))
		return 152;
	snprintf(number, sizeof number, "%d", count + 1);
	execl("/proc/self/exe", argv[0], number, way, (char *)NULL);
	return 7;
}
