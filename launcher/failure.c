#include "failure.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static int record(struct failure *f, int err, const char *step, const char *object, va_list args)
{
	if (f->step == NULL) {
		f->step = step;
		f->err = err;
		vsnprintf(f->object, sizeof f->object, object, args);
	}
	return -1;
}

int fail(struct failure *f, const char *step, const char *object, ...)
{
	int err = errno;
	va_list args;
	va_start(args, object);
	record(f, err, step, object, args);
	va_end(args);
	return -1;
}

int fail_with(struct failure *f, int err, const char *step, const char *object, ...)
{
	va_list args;
	va_start(args, object);
	record(f, err, step, object, args);
	va_end(args);
	return -1;
}
