#ifndef ASSAY_FAILURE_H
#define ASSAY_FAILURE_H

/*
 * A failure of the platform, never of the program: the step, its object and the errno. A function that can fail takes
 * one of these, fills it in and returns -1.
 */
struct failure {
	const char *step;   /* static text, such as "mount" */
	char object[96];    /* object of the step */
	int err;            /* errno; 0 if the kernel gave none */
};

/* Records a failure with errno and returns -1. Only the first failure is recorded, because later ones are its consequences. */
int fail(struct failure *f, const char *step, const char *object, ...)
	__attribute__((format(printf, 3, 4)));

/* Records a failure with this error number, for example where errno is that of a later call. Returns -1. */
int fail_with(struct failure *f, int err, const char *step, const char *object, ...)
	__attribute__((format(printf, 4, 5)));

#endif
