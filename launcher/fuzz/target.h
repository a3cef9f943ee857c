#ifndef ASSAY_FUZZ_TARGET_H
#define ASSAY_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * A target is a file named for the one of the launcher that it tries. It takes that
 * in whole, to call what is static there, and is run on every input, by driver.c or
 * by libFuzzer. A broken promise aborts.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PROMISE(held) \
	do { \
		if (!(held)) { \
			fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #held); \
			abort(); \
		} \
	} while (0)

#endif
