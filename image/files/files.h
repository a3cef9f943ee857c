#ifndef ASSAY_FILES_H
#define ASSAY_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * The file program: serves requests for the files of a sandbox, as an ordinary program of this sandbox. It can do nothing that the
 * sandbox's other programs cannot do. README.md describes the frames.
 */

enum {
	FRAME_BYTES = 65536,   /* a frame that is not content, with its header of 4 bytes */
	DATA_BYTES = 262140,   /* the content of every DATA frame but the last of an answer: with its header, what the pipe of the output takes; SAVE has others */
	CONTENT_BYTES = 1 << 20, /* the longest CONTENT frame, and the longest DATA frame of SAVE */
	LONG_BYTES = 32768,    /* of two DATA frames of SAVE that follow each other, one has at least so much */
	PIPE_BYTES = 256 << 10, /* of the pipe through which an archive is restored: a larger one does not stay in the cache of a CPU */
	PATH_BYTES = 4096,     /* with the zero byte */
	NAME_BYTES = 256,      /* with the zero byte */
	ETAG_BYTES = 64,
	MOST_ENTRIES = 1000,
	PAGE_BYTES = 256 << 10, /* paths and targets of one page of a list */
};

enum request {
	STAT = 'S', LIST = 'L', READ = 'R', WRITE = 'W', MAKE = 'M', MOVE = 'V', REMOVE = 'D', ARCHIVE = 'A', UNPACK = 'U', WATCH = 'N',
	SAVE = 'P', RESTORE = 'Q',
	CONTENT = 'd', DONE = 'e', ABORT = 'x', /* what follows WRITE, UNPACK and RESTORE; ABORT ends SAVE, too */
};

enum answer { INFO = 'i', RANGE = 'r', DATA = 'd', END = 'e', GO = 'g', PROGRESS = 'p', EVENT = 'v', COUNTS = 'n', FAILURE = 'f' };

/* --- frames.c ----------------------------------------------------------------------------------------- */

struct frame {
	int type;
	const uint8_t *bytes;
	size_t length;
};

/* Waits for the next frame, after it has sent what was put. Returns false at the end of the input, or if the frame is malformed. */
bool next_frame(struct frame *frame);

/* Take a field from the beginning of a frame. A frame that is too short ends the program. */
unsigned take_u8(struct frame *frame);
uint32_t take_u32(struct frame *frame);
uint64_t take_u64(struct frame *frame);
void take_text(struct frame *frame, char *text, size_t size);

/* Puts a frame into the output buffer: begin, fields, end. */
void begin(enum answer type);
void put_u8(unsigned value);
void put_u32(uint32_t value);
void put_u64(uint64_t value);
void put_text(const char *text);
void end(void);

/* Sends what was put. */
void flush(void);
/* Whether a frame waits, or the input has ended. */
bool frame_waits(void);

/* Where the content of the next DATA frame goes: DATA_BYTES bytes. */
uint8_t *data_buffer(void);
/* Sends it. Only the last frame of an answer may have less than DATA_BYTES. */
void send_data(size_t length);

/* Content of the answer, in DATA frames of DATA_BYTES bytes. */
void put_data(const void *bytes, size_t length);
/* Sends the rest. */
void end_data(void);
/* Forgets what was put and not sent. */
void drop_data(void);
/*
 * Sends what was put, and then `length` bytes of a file from `from` on as a DATA frame, which are not copied. Returns 0 or an errno; the frame is complete
 * in any case, with zeros in place of what cannot be read. ENODATA: the file is shorter.
 */
int send_file(int fd, uint64_t from, size_t length);

/* An answer: this failed with `err`, or with a code of src/domain/sandboxes/files.ts. */
void put_failure(const char *code, int err, const char *path);
/* The answer for `err`. Returns false. */
bool failed(int err, const char *path);
/* The answer with this code. Returns false. */
bool refused(const char *code, const char *path);

/* The content that follows WRITE, UNPACK and RESTORE. */
struct content {
	size_t left;    /* bytes of the present frame that have not been read */
	size_t from, to; /* what has been read ahead, and not been used */
	bool over;    /* DONE has come */
	bool aborted; /* ABORT has come */
};

/* Sends GO. */
void begin_content(struct content *content);
/* Takes up to `most` bytes, which are valid until the next call. Returns 0 at the end and after an abort. */
size_t take_content(struct content *content, const void **bytes, size_t most);
/* The same bytes, copied. */
size_t read_content(struct content *content, void *bytes, size_t size);
/* Reads the rest after a failure, of which the service has been told. */
void drain_content(struct content *content);

/* --- paths.c ------------------------------------------------------------------------------------------ */

void make_etag(const struct stat *info, char etag[ETAG_BYTES]);

/* Puts INFO. `dir` and `entry` are where a link is read. */
void put_info(const struct stat *info, const char *name, int dir, const char *entry);

/* Makes the directory and those above it. Returns 0 or an errno. */
int make_directories(const char *path);

/*
 * Opens the directory of the last component of a path, and copies this component, which is not empty, "." or "..". Returns an
 * O_PATH descriptor, or -1 with errno.
 */
int open_parent(const char *path, char name[NAME_BYTES]);

/* A name that no file has: ".assay-" and 16 hexadecimal digits. */
void temporary_name(char name[NAME_BYTES]);
bool is_temporary(const char *name);

/* Creates a file without a name in the directory, or with one (then `name` is not empty). Returns its descriptor, or -1 with errno. */
int open_temporary(int dir, char name[NAME_BYTES]);
/* Gives the file a temporary name, if it has none. Returns 0 or an errno. */
int name_temporary(int dir, int fd, char name[NAME_BYTES]);
/* Gives the file this name if no other file has it. Returns 0 or an errno. */
int link_temporary(int dir, int fd, const char *temporary, const char *name);

/* Writes all bytes. Returns 0 or an errno. */
int write_all(int fd, const void *bytes, size_t length);

/* --- requests: each sends its answer ------------------------------------------------------------------ */

bool serve_stat(struct frame *request);
bool serve_list(struct frame *request);
bool serve_read(struct frame *request);
bool serve_write(struct frame *request);
bool serve_make(struct frame *request);
bool serve_move(struct frame *request);
bool serve_remove(struct frame *request);
bool serve_archive(struct frame *request);
bool serve_unpack(struct frame *request);
bool serve_watch(struct frame *request);
bool serve_save(void);
bool serve_restore(void);

/* Removes everything in a directory (requests.c). Returns 0 or an errno. */
int empty_directory(const char *path);

#endif
