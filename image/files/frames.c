#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include "files.h"

enum { SHORT_BYTES = 16384 };

static uint8_t in[FRAME_BYTES];
static uint8_t out[2 * FRAME_BYTES]; /* put frames, up to `used` */
static size_t used, start;            /* `start`: the frame that is being put */
static uint8_t data[4 + DATA_BYTES + 4]; /* the header of a frame, its content, and the header of the next frame */
static size_t filled;

/* The service has left, or does not keep to the protocol: nobody waits for an answer. */
_Noreturn static void leave(void)
{
	_exit(1);
}

static bool read_all(void *bytes, size_t length)
{
	uint8_t *at = bytes;
	while (length > 0) {
		ssize_t got = read(STDIN_FILENO, at, length);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		length -= (size_t)got;
	}
	return true;
}

static void send_all(const uint8_t *bytes, size_t length)
{
	if (write_all(STDOUT_FILENO, bytes, length) != 0)
		leave();
}

void flush(void)
{
	send_all(out, used);
	used = 0;
}

bool frame_waits(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	return poll(&input, 1, 0) > 0;
}

static bool next_head(int *type, size_t *length)
{
	flush();
	if (!read_all(in, 4))
		return false;
	*type = in[0];
	*length = (size_t)in[1] << 16 | (size_t)in[2] << 8 | in[3];
	return true;
}

bool next_frame(struct frame *frame)
{
	size_t length;
	int type;
	if (!next_head(&type, &length) || length > FRAME_BYTES - 4 || !read_all(in, length))
		return false;
	*frame = (struct frame){.type = type, .bytes = in, .length = length};
	return true;
}

static uint64_t take(struct frame *frame, size_t size)
{
	uint64_t value = 0;
	if (frame->length < size)
		leave();
	for (size_t i = 0; i < size; i++)
		value = value << 8 | frame->bytes[i];
	frame->bytes += size;
	frame->length -= size;
	return value;
}

unsigned take_u8(struct frame *frame)
{
	return (unsigned)take(frame, 1);
}

uint32_t take_u32(struct frame *frame)
{
	return (uint32_t)take(frame, 4);
}

uint64_t take_u64(struct frame *frame)
{
	return take(frame, 8);
}

void take_text(struct frame *frame, char *text, size_t size)
{
	size_t length = (size_t)take(frame, 2);
	if (length >= size || length > frame->length || memchr(frame->bytes, 0, length))
		leave();
	memcpy(text, frame->bytes, length);
	text[length] = 0;
	frame->bytes += length;
	frame->length -= length;
}

void begin(enum answer type)
{
	if (used > FRAME_BYTES)
		flush();
	start = used;
	out[used] = (uint8_t)type;
	used += 4;
}

static void put(uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		out[used++] = (uint8_t)(value >> 8 * (size - 1 - i));
}

void put_u8(unsigned value)
{
	put(value, 1);
}

void put_u32(uint32_t value)
{
	put(value, 4);
}

void put_u64(uint64_t value)
{
	put(value, 8);
}

void put_text(const char *text)
{
	size_t length = strnlen(text, PATH_BYTES);
	put(length, 2);
	memcpy(out + used, text, length);
	used += length;
}

void end(void)
{
	size_t length = used - start - 4;
	out[start + 1] = (uint8_t)(length >> 16);
	out[start + 2] = (uint8_t)(length >> 8);
	out[start + 3] = (uint8_t)length;
}

uint8_t *data_buffer(void)
{
	return data + 4;
}

static void put_data_head(uint8_t *at, size_t length)
{
	at[0] = DATA;
	at[1] = (uint8_t)(length >> 16);
	at[2] = (uint8_t)(length >> 8);
	at[3] = (uint8_t)length;
}

/* Sends what was put and the content with as few calls as possible. A short content waits for what is put after it, so that an answer is one write. */
void send_data(size_t length)
{
	put_data_head(data, length);
	if (length <= SHORT_BYTES && used <= FRAME_BYTES) {
		memcpy(out + used, data, 4 + length);
		used += 4 + length;
		return;
	}
	struct iovec parts[] = {{out, used}, {data, 4 + length}};
	ssize_t sent = used ? writev(STDOUT_FILENO, parts, 2) : 0;
	size_t done = sent > 0 ? (size_t)sent : 0; /* what remains is sent, or fails, below */
	size_t of_out = done < used ? done : used;
	send_all(out + of_out, used - of_out);
	send_all(data + (done - of_out), 4 + length - (done - of_out));
	used = 0;
}

int send_file(int fd, uint64_t from, size_t length)
{
	static const uint8_t zeros[4096];
	size_t before = filled > 0 ? 4 + filled : 0;
	int err = 0;
	flush();
	put_data_head(data, filled);
	put_data_head(data + before, length);
	send_all(data, before + 4);
	filled = 0;
	for (off_t at = (off_t)from; length > 0 && err == 0;) {
		ssize_t sent = sendfile(STDOUT_FILENO, fd, &at, length);
		if (sent < 0 && errno == EPIPE)
			leave();
		if (sent > 0)
			length -= (size_t)sent;
		else if (sent == 0 || errno != EINTR)
			err = sent == 0 ? ENODATA : errno;
	}
	for (size_t some; length > 0; length -= some) {
		some = length < sizeof zeros ? length : sizeof zeros;
		send_all(zeros, some);
	}
	return err;
}

void put_data(const void *bytes, size_t length)
{
	const uint8_t *at = bytes;
	while (length > 0) {
		size_t some = length < DATA_BYTES - filled ? length : DATA_BYTES - filled;
		memcpy(data_buffer() + filled, at, some);
		filled += some;
		at += some;
		length -= some;
		if (filled == DATA_BYTES) {
			send_data(filled);
			filled = 0;
		}
	}
}

void end_data(void)
{
	if (filled > 0)
		send_data(filled);
	filled = 0;
}

void drop_data(void)
{
	filled = 0;
}

void put_failure(const char *code, int err, const char *path)
{
	filled = 0;
	begin(FAILURE);
	put_text(code);
	put_u32((uint32_t)err);
	put_text(path);
	end();
}

static const char *code_of(int err)
{
	switch (err) {
	case ENOENT:
		return "notFound";
	case ENOTDIR:
		return "notDirectory";
	case EISDIR:
		return "isDirectory";
	case ENOTEMPTY:
		return "notEmpty";
	case EEXIST:
		return "exists";
	case EACCES:
	case EPERM:
	case EROFS:
		return "permission";
	case ENOSPC:
	case EDQUOT:
	case EFBIG: /* the limit of the size of a file */
		return "noSpace";
	case ELOOP:
		return "tooManyLinks";
	case ENAMETOOLONG:
		return "badPath";
	case EXDEV:
		return "otherFileSystem";
	default:
		return "failed";
	}
}

bool failed(int err, const char *path)
{
	put_failure(code_of(err), err, path);
	return false;
}

bool refused(const char *code, const char *path)
{
	put_failure(code, 0, path);
	return false;
}

void begin_content(struct content *content)
{
	*content = (struct content){.over = false};
	begin(GO);
	end();
}

/* Begins the next CONTENT frame. Returns false if no more content comes. */
static bool next_content(struct content *content)
{
	int type;
	size_t length;
	while (!content->over && !content->aborted) {
		if (!next_head(&type, &length) || length > (type == CONTENT ? CONTENT_BYTES : 0))
			content->aborted = true;
		else if (type == DONE)
			content->over = true;
		else if (type != CONTENT)
			content->aborted = true;
		else if ((content->left = length) > 0)
			return true;
	}
	return false;
}

size_t take_content(struct content *content, const void **bytes, size_t most)
{
	/* As much as the pipe can contain: its writer is woken once for all of it. */
	static uint8_t ahead[PIPE_BYTES];
	if (content->from == content->to) {
		if (content->left == 0 && !next_content(content))
			return 0;
		ssize_t got;
		do
			got = read(STDIN_FILENO, ahead, content->left < sizeof ahead ? content->left : sizeof ahead);
		while (got < 0 && errno == EINTR);
		if (got <= 0) {
			content->aborted = true;
			content->left = 0;
			return 0;
		}
		content->left -= (size_t)got;
		content->from = 0;
		content->to = (size_t)got;
	}
	size_t there = content->to - content->from, some = most < there ? most : there;
	*bytes = ahead + content->from;
	content->from += some;
	return some;
}

size_t read_content(struct content *content, void *bytes, size_t size)
{
	const void *from;
	size_t got = take_content(content, &from, size);
	if (got > 0)
		memcpy(bytes, from, got);
	return got;
}

void drain_content(struct content *content)
{
	const void *rest;
	while (take_content(content, &rest, SIZE_MAX) > 0)
		continue;
}
