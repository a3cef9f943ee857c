#ifndef ASSAY_FAILURE_H
#define ASSAY_FAILURE_H

/*
 * A failure of ours, never of the program: which step, on what, and why.
 * Functions that can fail take one of these, fill it in and return -1.
 */
struct failure {
	const char *step;   /* static text: a protocol word such as "mount" */
	char object[96];    /* what it was done to                          */
	int err;            /* errno, 0 where the kernel gave none           */
};

/* Records the first failure (later ones are consequences) with errno; returns -1. */
int fail(struct failure *f, const char *step, const char *object, ...)
	__attribute__((format(printf, 3, 4)));

/* The same with an errno of the caller's choosing. */
int fail_with(struct failure *f, int err, const char *step, const char *object, ...)
	__attribute__((format(printf, 4, 5)));

#endif
