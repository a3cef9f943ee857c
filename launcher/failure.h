#ifndef ASSAY_FAILURE_H
#define ASSAY_FAILURE_H

/*
 * A failure of the platform, never of the program: what was tried, on which object, and the errno. A function that can fail takes
 * a pointer to one of these; on failure, it fills in the structure and returns -1.
 */
struct failure {
	const char *step;   /* static text, such as "mount"; NULL: nothing has failed */
	char object[96];    /* for example the path that could not be mounted */
	int err;            /* errno; 0 if the kernel gave none */
};

/* Records a failure with the current errno and returns -1. Only the first failure is recorded: later ones are consequences of it. */
int fail(struct failure *f, const char *step, const char *object, ...)
	__attribute__((format(printf, 3, 4)));

/* Like fail(), with `err` instead of the current errno, for example where a later call has changed errno. */
int fail_with(struct failure *f, int err, const char *step, const char *object, ...)
	__attribute__((format(printf, 4, 5)));

#endif
