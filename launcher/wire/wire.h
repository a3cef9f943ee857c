#ifndef ASSAY_WIRE_H
#define ASSAY_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unforked-memory.h"

/*
 * The protocol on the socket, explained in PROTOCOL.md and listed in protocol.def. A frame is a 4-byte little-endian
 * body length, a byte with the number of the frame, and the body. The bodies of STDOUT, STDERR, INPUT, SIGNAL and RESIZE are raw; every other
 * body is a sequence of entries: key byte, 4-byte little-endian length, value.
 */
enum {
	PROTOCOL_VERSION = 4,
	FRAME_HEADER = 5,
	/* Space for 16 MiB of compiled files and, for a checker, input and answer of a test (24 MiB) and the output (16 MiB) */
	FRAME_MAX = 64 * 1024 * 1024,
	FILE_SET_BYTES = 9 * 1024 * 1024, /* of all files that a slot stores in one of its sets, with names and modes */
	ARGS_MAX = 128,
	ENV_MAX = 64,
	FILES_MAX = 64,
	FILE_PATH_MAX = 1024,
	FILE_SETS_MAX = 4, /* sets of files that a slot stores for later steps (KEEP_FILES) */
	PATH_PARTS_MAX = 8, /* components of the path of a file */
	PATH_PART_MAX = 255, /* bytes of a component, as in the kernel */
	SAMPLES_MAX = 128, /* samples of one run */
	SAMPLE_BYTES = 24, /* one sample in SAMPLES */
	INPUT_MAX = 64 * 1024, /* bytes in the body of an INPUT */
	TOKEN_BYTES = 32, /* characters of the token of a sandbox */
	LAUNCHER_BYTES = 16, /* characters of the name of a launcher in HELLO */
	SIGNAL_MAX = 15, /* the largest number that a SIGNAL may have: SIGTERM */
};

enum frame {
#define FRAME(number, name, direction) FRAME_##name = number,
#define KEY(...)
#include "protocol.def"
#undef FRAME
#undef KEY
};

enum key {
#define FRAME(...)
#define KEY(number, name, ...) KEY_##name = number,
#include "protocol.def"
#undef FRAME
#undef KEY
	KEY_COUNT = 256,
};

struct bytes {
	const uint8_t *data;
	size_t size;
};

/* A validated STEP, PARK or PEER. The `struct bytes` point into its frame, or into a set of files. */
struct request {
	uint64_t number[KEY_COUNT]; /* the value of each INT key */
	struct bytes arg[ARGS_MAX], park_arg[ARGS_MAX];
	struct bytes env[ENV_MAX];
	struct bytes file_name[FILES_MAX], file_data[FILES_MAX];
	struct bytes file_modes; /* FILE_MODES; empty if the request has none */
	struct bytes stdin_data;
	struct bytes sandbox, cwd; /* SANDBOX and CWD; empty if the request has none */
	unsigned args, park_args, envs, files;
};

/* Why a request is refused. */
struct refusal {
	const char *reason; /* a static text */
	const char *object; /* a static text: the name of the key, or "" */
};

/* Parses the body of a STEP, PARK or PEER. Returns 0, or -1 with the refusal. */
int request_parse(enum frame frame, const uint8_t *body, size_t size, struct request *out, struct refusal *why);

/* The limits of a sandbox: the INT keys of HOLD. */
struct hold_request {
	uint64_t memory, processes, disk, inodes;
	uint32_t account;
	bool on_disk;
	char network[TOKEN_BYTES + 1]; /* HOLD_NETWORK; empty: there is none */
};
/* Parses the body of a HOLD. Returns 0, or -1 with the refusal. */
int hold_parse(const uint8_t *body, size_t size, struct hold_request *out, struct refusal *why);
/* Parses the body of a REJOIN; `token` receives the token, which has valid characters and ends with NUL. Returns 0, or -1 with the refusal. */
int rejoin_parse(const uint8_t *body, size_t size, char token[TOKEN_BYTES + 1], struct refusal *why);

/* Values of FILE_MODES: the default mode, and the bit of a directory. */
enum { MODE_DEFAULT = 0xffff, MODE_DIRECTORY = 040000 };
/* Returns the mode of the file with this index: MODE_DEFAULT if the request has no FILE_MODES. */
unsigned file_mode(struct bytes modes, unsigned file);

/*
 * Whether it is a relative path of plain components, so that it can only name something below the work directory. A component is UTF-8
 * without control characters, so that a message that contains it is one line.
 */
bool file_path_valid(struct bytes path);

/*
 * Lowers the largest value of an INT key of STEP for the life of the process: a ceiling set by root that no client can
 * exceed. Returns -1 if there is no such key, or if `most` is not between its smallest and its largest value.
 */
int wire_lower_limit(const char *name, uint64_t most);

/* Returns the largest length of a value of this key; queue_bytes() truncates longer ones. */
size_t wire_bytes_max(enum key key);

/* A growing buffer of outgoing frames (queue.c). It contains `size` bytes, of which `sent` have been sent. */
struct queue {
	struct area area;
	size_t size, sent;
	size_t frame; /* start of the frame that is being written; only bytes before it are sent */
};

/* Begins a frame; queue_frame_end() ends it. Only whole frames are sent. */
void queue_frame(struct queue *q, enum frame type);
/* These functions add an entry to the frame that is being written. */
void queue_int(struct queue *q, enum key key, uint64_t value);
void queue_bytes(struct queue *q, enum key key, const void *data, size_t size);
void queue_text(struct queue *q, enum key key, const char *text);
/* Adds bytes to the body of a frame without entries; between two frames, adds whole frames of another queue. */
void queue_raw(struct queue *q, const void *data, size_t size);
void queue_frame_end(struct queue *q);
/* Sends as much as the socket accepts without blocking. Returns -1 if the peer has disconnected. */
int queue_flush(struct queue *q, int fd);
static inline bool queue_empty(const struct queue *q) { return q->sent == q->size; }
/* Frees the buffer if an unusually large output has made it large, and everything has been sent. */
void queue_shrink(struct queue *q);
void queue_free(struct queue *q);

/* Prints version, frames and keys as JSON. */
void wire_describe(const char *build);

#endif
