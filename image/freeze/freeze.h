/* Shared by the parts of freeze, which writes the state of a program. */
#ifndef ASSAY_FREEZE_H
#define ASSAY_FREEZE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include "frozen.h"

enum { PAGE = 4096 };

extern struct frozen frozen; /* what is written */
extern pid_t child;          /* the program */
extern int snapshot;         /* the file */
extern int64_t started_ns[2]; /* when it started, on CLOCK_REALTIME and CLOCK_MONOTONIC */

/* Both end the program. */
_Noreturn void refuse(const char *why);
void check(bool done, const char *step);

/* Appends to frozen.text and returns the place. */
uint32_t add_text(const char *s);
/* Appends to the snapshot and returns the place. */
uint64_t add_bytes(const void *data, size_t size);
int64_t now_ns(clockid_t clock);
/* Reads the program's memory. */
void peek(uint64_t from, void *to, size_t size);

/* follow.c: lets the program run until its first use of the file SOURCE or, if that is NULL, until it waits; saves its threads. */
void follow(const char *source);
/* save-*.c */
void save_files(uint32_t first_fd);
void save_memory(void);
/* Lets processes map the large files of the program in huge pages. Call it after the end of the program, which unmaps them. */
void use_huge_pages(void);
void save_times(void);

#endif
