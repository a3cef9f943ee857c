/* The outgoing frames of a connection: slot/ and supervise/ queue them, and send them without blocking. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "wire/wire.h"

enum { QUEUE_FIRST_BYTES = 64 * 1024, QUEUE_RETAINED_BYTES = 4 * 1024 * 1024 };

static void store32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

/* Adds `more` bytes, and returns where they begin. The output limits bound the queue; if memory runs out, the slot ends. */
static uint8_t *queue_extend(struct queue *q, size_t more)
{
	/* What was sent makes room, also if the queue never becomes empty because the client is slow. Each byte is moved at most once for each byte sent. */
	if (q->sent && q->sent >= q->size - q->sent) {
		memmove(q->area.data, q->area.data + q->sent, q->size - q->sent);
		q->size -= q->sent;
		q->frame -= q->sent;
		q->sent = 0;
	}
	size_t capacity = q->area.size ? q->area.size : QUEUE_FIRST_BYTES;
	while (capacity < q->size + more)
		capacity *= 2;
	if (area_grow(&q->area, capacity) < 0)
		abort();
	uint8_t *start = q->area.data + q->size;
	q->size += more;
	return start;
}

void queue_frame(struct queue *q, enum frame type)
{
	uint8_t *header = queue_extend(q, FRAME_HEADER);
	q->frame = (size_t)(header - q->area.data);
	header[4] = (uint8_t)type;
}

void queue_raw(struct queue *q, const void *data, size_t size)
{
	if (size)
		memcpy(queue_extend(q, size), data, size);
}

void queue_bytes(struct queue *q, enum key key, const void *data, size_t size)
{
	uint8_t head[5] = {(uint8_t)key};
	if (size > wire_bytes_max(key))
		size = wire_bytes_max(key);
	store32(head + 1, (uint32_t)size);
	queue_raw(q, head, sizeof head);
	queue_raw(q, data, size);
}

void queue_text(struct queue *q, enum key key, const char *text)
{
	queue_bytes(q, key, text, strlen(text));
}

void queue_int(struct queue *q, enum key key, uint64_t value)
{
	uint8_t bytes[8];
	store32(bytes, (uint32_t)value);
	store32(bytes + 4, (uint32_t)(value >> 32));
	queue_bytes(q, key, bytes, sizeof bytes);
}

void queue_frame_end(struct queue *q)
{
	store32(q->area.data + q->frame, (uint32_t)(q->size - q->frame - FRAME_HEADER));
	q->frame = q->size;
}

int queue_flush(struct queue *q, int fd)
{
	while (q->sent < q->frame) {
		ssize_t n = send(fd, q->area.data + q->sent, q->frame - q->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		q->sent += (size_t)n;
	}
	return 0;
}

void queue_shrink(struct queue *q)
{
	if (queue_empty(q) && q->area.size > QUEUE_RETAINED_BYTES)
		queue_free(q);
}

void queue_free(struct queue *q)
{
	area_free(&q->area);
	*q = (struct queue){0};
}
