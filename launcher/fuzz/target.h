#ifndef ASSAY_FUZZ_TARGET_H
#define ASSAY_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * A target has the name of the folder or file of the launcher that it tests. Most targets include the files that they test, to call
 * their static functions. driver.c or libFuzzer runs a target on every input. A failed EXPECT aborts.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define EXPECT(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
			abort(); \
		} \
	} while (0)

#endif
