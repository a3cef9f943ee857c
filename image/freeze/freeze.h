/* What the files of the program `freeze` share, which writes the snapshot of another program. README.md explains it. */
#ifndef ASSAY_FREEZE_H
#define ASSAY_FREEZE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include "frozen.h"

enum { PAGE = 4096 };

extern struct frozen frozen;  /* the head of the snapshot */
extern pid_t child;           /* the program that is frozen */
extern int snapshot;          /* a descriptor of the snapshot */
extern int64_t started_ns[2]; /* when the program started, on CLOCK_REALTIME and CLOCK_MONOTONIC */

/* Ends the program and this process, because the program cannot be frozen. */
_Noreturn void refuse(const char *why);
/* Ends both if a step has failed, with errno. */
void check(bool done, const char *step);

/* Appends to frozen.text and returns the offset. */
uint32_t add_text(const char *s);
/* Appends to the snapshot, and returns the offset. */
uint64_t add_bytes(const void *data, size_t size);
int64_t now_ns(clockid_t clock);
/* Reads memory of the program. */
void read_memory(uint64_t from, void *to, size_t size);

/* Lets the program run until its first use of the file SOURCE or, if that is NULL, until it waits. Saves its threads (trace.c). */
void trace(const char *source);
/* Saves the descriptors from `first_fd` on (save-files.c). */
void save_files(uint32_t first_fd);
/* Saves all mappings (save-memory.c). */
void save_memory(void);
/*
 * Lets processes map the large files of the program in huge pages (save-memory.c). Call it after the program's end, which
 * unmaps them.
 */
void use_huge_pages(void);
/* Finds the times of its start that the program keeps in its memory (save-times.c). Call it after save_memory(). */
void save_times(void);

#endif
