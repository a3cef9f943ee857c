#include "message.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE_MS = 1000 };

void say(const char *format, ...)
{
	char line[1024] = "assay: ";
	size_t length = strlen(line);
	va_list args;
	va_start(args, format);
	vsnprintf(line + length, sizeof line - length - 1, format, args);
	va_end(args);
	length = strlen(line);
	line[length++] = '\n';
	/*
	 * One call for the whole line: other processes write to the same terminal. Nobody could be told of a failure. A terminal or pipe that
	 * takes nothing must not stop this program.
	 */
	struct pollfd wait = {.fd = 2, .events = POLLOUT};
	if (poll(&wait, 1, PATIENCE_MS) <= 0 || write(2, line, length) < 0)
		return;
}
