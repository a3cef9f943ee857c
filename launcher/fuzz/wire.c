/*
 * Tests both directions of the connection: the bytes of a client must be a correct STEP or PARK, or be refused, and the client must
 * receive exactly what the launcher writes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../wire/wire.h"
#include "target.h"

enum type { INT, BYTES };
enum count { ONE, OPT, MANY };

/* A second expansion of protocol.def, independent of wire.c. */
static const struct row {
	bool known, number;
	enum frame frame;
	enum count count;
	uint64_t smallest, largest;
} rows[KEY_COUNT] = {
#define FRAME(...)
#define KEY(no, name, type, frame, count, smallest, largest) \
	[no] = {true, type == INT, FRAME_##frame, count, smallest, largest},
#include "../protocol.def"
#undef FRAME
#undef KEY
};

/* ---- reading ---- */

static void check_inside(struct bytes value, enum key key, const uint8_t *data, size_t size)
{
	EXPECT(value.size >= rows[key].smallest && value.size <= rows[key].largest);
	EXPECT(value.data >= data && value.size <= size && (size_t)(value.data - data) <= size - value.size);
}

/* A second implementation: the text has no control character, and encoding what is decoded from it gives the same bytes. */
static void check_text(struct bytes text)
{
	uint8_t again[1024 + 4];
	size_t used = 0, part = 0;
	EXPECT(text.size <= 1024);
	for (size_t at = 0; at < text.size;) {
		uint8_t first = text.data[at++];
		unsigned more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
		uint32_t code = more ? first & (0x3fu >> more) : first;
		for (; more; more--) {
			EXPECT(at < text.size);
			code = code << 6 | (text.data[at++] & 0x3f);
		}
		EXPECT(code >= 0x20 && (code < 0x7f || code > 0x9f) && (code < 0xd800 || code > 0xdfff) && code <= 0x10ffff);
		part = code == '/' ? used + 1 : part;
		if (code < 0x80) {
			again[used++] = (uint8_t)code;
		} else if (code < 0x800) {
			again[used++] = (uint8_t)(0xc0 | code >> 6);
			again[used++] = (uint8_t)(0x80 | (code & 0x3f));
		} else if (code < 0x10000) {
			again[used++] = (uint8_t)(0xe0 | code >> 12);
			again[used++] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
			again[used++] = (uint8_t)(0x80 | (code & 0x3f));
		} else {
			again[used++] = (uint8_t)(0xf0 | code >> 18);
			again[used++] = (uint8_t)(0x80 | (code >> 12 & 0x3f));
			again[used++] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
			again[used++] = (uint8_t)(0x80 | (code & 0x3f));
		}
		EXPECT(used <= part + 255 && used <= text.size);
	}
	EXPECT(used == text.size && !memcmp(again, text.data, used));
}

/* A request either names a sandbox, and has nothing that belongs to a box of its own, or has nothing that belongs to a sandbox. */
static void check_sandbox(const struct request *r, const uint8_t *data, size_t size)
{
	const uint64_t *n = r->number;
	if (!r->sandbox.size) {
		EXPECT(!r->cwd.size && !n[KEY_ROWS] && !n[KEY_COLUMNS] && !n[KEY_LEAVE_PROCESSES] && !n[KEY_PACED]);
		return;
	}
	check_inside(r->sandbox, KEY_SANDBOX, data, size);
	for (size_t i = 0; i < r->sandbox.size; i++)
		EXPECT(strchr("0123456789abcdef", r->sandbox.data[i]) && r->sandbox.data[i]);
	EXPECT(!r->files && !n[KEY_KEEP_WORK] && !n[KEY_MORE] && !n[KEY_COLLECT] && !n[KEY_KEEP_FILES] && !r->park_args);
	EXPECT(!n[KEY_ROWS] == !n[KEY_COLUMNS] && (!n[KEY_ROWS] || n[KEY_LIVE_STDIN]));
	if (r->cwd.size) {
		check_inside(r->cwd, KEY_CWD, data, size);
		EXPECT(!memchr(r->cwd.data, 0, r->cwd.size));
	}
}

/* The limits of an accepted HOLD are in their ranges, and its network names nothing but a token. */
static void try_hold(const uint8_t *body, size_t size)
{
	struct hold_request r = {0};
	struct refusal why = {0};
	if (hold_parse(body, size, &r, &why) < 0) {
		EXPECT(why.reason && *why.reason && why.object);
		return;
	}
	const struct { enum key key; uint64_t value; } limits[] = {
		{KEY_HOLD_MEMORY, r.memory}, {KEY_HOLD_PROCESSES, r.processes}, {KEY_HOLD_DISK, r.disk}, {KEY_HOLD_INODES, r.inodes},
		{KEY_HOLD_ACCOUNT, r.account}, {KEY_HOLD_ON_DISK, r.on_disk},
	};
	EXPECT(size == 6 * (5 + 8) + (r.network[0] ? 5 + TOKEN_BYTES : 0));
	EXPECT(!r.network[0] || strspn(r.network, "0123456789abcdef") == TOKEN_BYTES);
	for (size_t i = 0; i < 6; i++)
		EXPECT(limits[i].value >= rows[limits[i].key].smallest && limits[i].value <= rows[limits[i].key].largest);
}

/* The token of an accepted REJOIN names nothing but a token. */
static void try_rejoin(const uint8_t *body, size_t size)
{
	char token[TOKEN_BYTES + 1] = "";
	struct refusal why = {0};
	if (rejoin_parse(body, size, token, &why) < 0) {
		EXPECT(why.reason && *why.reason && why.object && !token[0]);
		return;
	}
	EXPECT(size == 5 + TOKEN_BYTES && !memcmp(body + 5, token, TOKEN_BYTES) && !token[TOKEN_BYTES]);
	EXPECT(strspn(token, "0123456789abcdef") == TOKEN_BYTES);
}

static void check_request(const struct request *r, const uint8_t *data, size_t size)
{
	EXPECT(r->args >= 1 && r->args <= ARGS_MAX && r->envs <= ENV_MAX && r->files <= FILES_MAX);
	for (int k = 0; k < KEY_COUNT; k++)
		if (rows[k].known && rows[k].number && rows[k].frame == FRAME_STEP)
			EXPECT((rows[k].count == OPT && !r->number[k]) || (r->number[k] >= rows[k].smallest && r->number[k] <= rows[k].largest));
		else
			EXPECT(r->number[k] == 0);
	for (unsigned i = 0; i < r->args; i++) {
		check_inside(r->arg[i], KEY_ARG, data, size);
		EXPECT(!memchr(r->arg[i].data, 0, r->arg[i].size));
	}
	for (unsigned i = 0; i < r->envs; i++) {
		check_inside(r->env[i], KEY_ENV, data, size);
		EXPECT(!memchr(r->env[i].data, 0, r->env[i].size) && memchr(r->env[i].data, '=', r->env[i].size));
	}
	for (unsigned i = 0; i < r->files; i++) {
		check_inside(r->file_name[i], KEY_FILE_NAME, data, size);
		check_inside(r->file_data[i], KEY_FILE_DATA, data, size);
		EXPECT(r->file_name[i].data[0] != '.');
		/* Each component is a plain name. */
		const uint8_t *name = r->file_name[i].data;
		for (size_t at = 0; at < r->file_name[i].size; at++)
			EXPECT(name[at] != '/' || (at > 0 && at + 1 < r->file_name[i].size && name[at + 1] != '/' && name[at + 1] != '.'));
		check_text(r->file_name[i]);
	}
	if (r->file_modes.size)
		check_inside(r->file_modes, KEY_FILE_MODES, data, size);
	for (unsigned i = 0; i < r->files; i++) {
		unsigned mode = file_mode(r->file_modes, i);
		EXPECT(mode == MODE_DEFAULT || (mode & ~(unsigned)MODE_DIRECTORY) <= 0777);
		EXPECT(mode == MODE_DEFAULT || !(mode & MODE_DIRECTORY) || r->file_data[i].size == 0);
	}
	check_inside(r->stdin_data, KEY_STDIN, data, size);
	EXPECT(!(r->number[KEY_KEEP_WORK] && (r->files || r->number[KEY_KEEP_FILES])));
	EXPECT(r->number[KEY_KEEP_FILES] <= FILE_SETS_MAX);
	EXPECT(!r->number[KEY_LIVE_STDIN] || r->stdin_data.size == 0);
	check_sandbox(r, data, size);
}

static bool same(struct bytes a, struct bytes b)
{
	return a.size == b.size && (!a.size || !memcmp(a.data, b.data, a.size));
}

/* Each key of an accepted body occurs as often as protocol.def permits. */
static void check_counts(const uint8_t *data, size_t size)
{
	unsigned times[KEY_COUNT] = {0};
	for (size_t at = 0; at < size;) {
		EXPECT(size - at >= 5);
		size_t length = data[at + 1] | (size_t)data[at + 2] << 8 | (size_t)data[at + 3] << 16 | (size_t)data[at + 4] << 24;
		EXPECT(length <= size - at - 5);
		times[data[at]]++;
		at += 5 + length;
	}
	for (int k = 0; k < KEY_COUNT; k++) {
		EXPECT(times[k] == 0 || (rows[k].known && rows[k].frame == FRAME_STEP));
		if (rows[k].known && rows[k].frame == FRAME_STEP && rows[k].count == ONE)
			EXPECT(times[k] == 1);
	}
}

/* An accepted request that is written again is accepted and has the same content. */
static void check_again(enum frame frame, const struct request *r)
{
	static struct request again;
	struct queue q = {0};
	struct refusal why = {0};
	queue_frame(&q, frame);
	for (unsigned i = 0; i < r->args; i++)
		queue_bytes(&q, KEY_ARG, r->arg[i].data, r->arg[i].size);
	for (unsigned i = 0; i < r->park_args; i++)
		queue_bytes(&q, KEY_PARK_ARG, r->park_arg[i].data, r->park_arg[i].size);
	for (unsigned i = 0; i < r->envs; i++)
		queue_bytes(&q, KEY_ENV, r->env[i].data, r->env[i].size);
	for (unsigned i = 0; i < r->files; i++) {
		queue_bytes(&q, KEY_FILE_NAME, r->file_name[i].data, r->file_name[i].size);
		queue_bytes(&q, KEY_FILE_DATA, r->file_data[i].data, r->file_data[i].size);
	}
	if (r->file_modes.size)
		queue_bytes(&q, KEY_FILE_MODES, r->file_modes.data, r->file_modes.size);
	queue_bytes(&q, KEY_STDIN, r->stdin_data.data, r->stdin_data.size);
	if (r->sandbox.size)
		queue_bytes(&q, KEY_SANDBOX, r->sandbox.data, r->sandbox.size);
	if (r->cwd.size)
		queue_bytes(&q, KEY_CWD, r->cwd.data, r->cwd.size);
	for (int k = 0; k < KEY_COUNT; k++)
		if (rows[k].known && rows[k].number && rows[k].frame == FRAME_STEP && (rows[k].count == ONE || r->number[k]))
			queue_int(&q, (enum key)k, r->number[k]);
	queue_frame_end(&q);
	EXPECT(request_parse(frame, q.area.data + FRAME_HEADER, q.size - FRAME_HEADER, &again, &why) == 0);
	EXPECT(!memcmp(again.number, r->number, sizeof r->number));
	EXPECT(again.args == r->args && again.park_args == r->park_args && again.envs == r->envs && again.files == r->files);
	for (unsigned i = 0; i < r->args; i++)
		EXPECT(same(again.arg[i], r->arg[i]));
	for (unsigned i = 0; i < r->park_args; i++)
		EXPECT(same(again.park_arg[i], r->park_arg[i]));
	for (unsigned i = 0; i < r->envs; i++)
		EXPECT(same(again.env[i], r->env[i]));
	for (unsigned i = 0; i < r->files; i++)
		EXPECT(same(again.file_name[i], r->file_name[i]) && same(again.file_data[i], r->file_data[i]));
	for (unsigned i = 0; i < r->files; i++)
		EXPECT(file_mode(again.file_modes, i) == file_mode(r->file_modes, i));
	EXPECT(same(again.stdin_data, r->stdin_data) && same(again.sandbox, r->sandbox) && same(again.cwd, r->cwd));
	queue_free(&q);
}

static void try_reading(const uint8_t *data, size_t size)
{
	static struct request r;
	struct refusal why = {0};
	/* The buffer has exactly this size, so that the sanitizer detects a read beyond it. */
	uint8_t *body = malloc(size ? size : 1);
	EXPECT(body);
	if (size)
		memcpy(body, data, size);
	static const enum frame frames[] = {FRAME_STEP, FRAME_PARK};
	for (size_t i = 0; i < 2; i++) {
		if (request_parse(frames[i], body, size, &r, &why) == 0) {
			check_counts(body, size);
			check_request(&r, body, size);
			check_again(frames[i], &r);
			EXPECT(frames[i] == FRAME_STEP ? r.park_args == 0 : r.files == 0 && r.stdin_data.size == 0);
		} else {
			EXPECT(why.reason && *why.reason && why.object);
		}
	}
	try_hold(body, size);
	try_rejoin(body, size);
	free(body);
}

/* ---- writing ---- */

enum { STREAM_MAX = 1 << 20, PIECE_MAX = 1 << 17, OPERATIONS_MAX = 64 };

static uint8_t stream[STREAM_MAX]; /* the bytes that the client is expected to receive, encoded independently */
static size_t written, complete, received;
static int ends[2];

static void expect(const void *data, size_t size)
{
	EXPECT(written + size <= sizeof stream);
	if (size)
		memcpy(stream + written, data, size);
	written += size;
}

static void expect_length(size_t at, size_t length)
{
	for (int i = 0; i < 4; i++)
		stream[at + (size_t)i] = (uint8_t)(length >> (8 * i));
}

/* Receives up to `most` bytes. They must be the expected ones, and must not be part of an unfinished frame. */
static void receive(size_t most)
{
	static uint8_t chunk[65536];
	ssize_t n;
	while (most && (n = recv(ends[1], chunk, most < sizeof chunk ? most : sizeof chunk, MSG_DONTWAIT)) > 0) {
		EXPECT(received + (size_t)n <= complete);
		EXPECT(!memcmp(stream + received, chunk, (size_t)n));
		received += (size_t)n;
		most -= (size_t)n;
	}
}

/* The input is a program: frames, entries and raw bytes of many sizes, with sends and reads in between. */
static void try_writing(const uint8_t *data, size_t size)
{
	static const enum frame kind[] = {FRAME_ENDED, FRAME_TEARDOWN, FRAME_STDOUT, FRAME_REFUSED};
	static uint8_t piece[PIECE_MAX];
	struct queue q = {0};
	size_t frame = 0;
	bool open = false;

	if (!ends[0]) {
		int small = 4096;
		EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
		setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
		for (size_t i = 0; i < sizeof piece; i++)
			piece[i] = (uint8_t)(i * 31);
	}
	written = complete = received = 0;
	for (size_t i = 0; i + 3 < size && i < 4 * OPERATIONS_MAX; i += 4) {
		unsigned operation = data[i] % 6;
		enum key key = data[i + 1];
		size_t length = ((size_t)data[i + 2] << 8 | data[i + 3]) << (data[i] >> 7); /* up to 128 KiB */
		if (written + length + 64 > sizeof stream)
			break;
		if (!open) {
			frame = written;
			expect((uint8_t[]){0, 0, 0, 0, (uint8_t)kind[data[i + 1] % 4]}, FRAME_HEADER);
			queue_frame(&q, kind[data[i + 1] % 4]);
			open = true;
		}
		uint8_t head[5] = {(uint8_t)key};
		switch (operation) {
		case 0:
			queue_int(&q, key, length);
			head[1] = 8;
			expect(head, 5);
			expect((uint8_t[]){(uint8_t)length, (uint8_t)(length >> 8), (uint8_t)(length >> 16), 0, 0, 0, 0, 0}, 8);
			break;
		case 1: {
			if (!rows[key].known || rows[key].number)
				break;
			size_t sent = length > rows[key].largest ? (size_t)rows[key].largest : length;
			queue_bytes(&q, key, piece, length);
			head[1] = (uint8_t)sent;
			head[2] = (uint8_t)(sent >> 8);
			head[3] = (uint8_t)(sent >> 16);
			expect(head, 5);
			expect(piece, sent);
			break;
		}
		case 2:
			queue_raw(&q, piece, length);
			expect(piece, length);
			break;
		case 3:
			queue_frame_end(&q);
			expect_length(frame, written - frame - FRAME_HEADER);
			complete = written;
			open = false;
			break;
		case 4:
			EXPECT(queue_flush(&q, ends[0]) == 0);
			break;
		default:
			receive(length);
		}
	}
	if (open) {
		queue_frame_end(&q);
		expect_length(frame, written - frame - FRAME_HEADER);
		complete = written;
	}
	while (received < complete) {
		EXPECT(queue_flush(&q, ends[0]) == 0);
		receive(sizeof stream);
	}
	EXPECT(queue_empty(&q));
	queue_free(&q);
}

/* The client reads as much as it is sent, but never all, as one does that is slow: the memory of the queue does not grow. */
static void try_slow_reader(void)
{
	enum { FRAMES = 200, WAITING = 4, FRAME_BYTES = 16384 };
	static uint8_t bytes[FRAME_BYTES];
	static bool tried;
	struct queue q = {0};
	int pair[2], small = 4096;
	if (tried)
		return;
	tried = true;
	EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
	for (int sent = 0; sent < FRAMES; sent++) {
		queue_frame(&q, FRAME_STDOUT);
		queue_raw(&q, bytes, sizeof bytes);
		queue_frame_end(&q);
		for (size_t left = sent < WAITING ? 0 : FRAME_HEADER + FRAME_BYTES; left;) {
			EXPECT(queue_flush(&q, pair[0]) == 0);
			ssize_t n = recv(pair[1], bytes, left < sizeof bytes ? left : sizeof bytes, MSG_DONTWAIT);
			EXPECT(n > 0);
			left -= (size_t)n;
		}
		EXPECT(!queue_empty(&q) && q.area.size <= 4 * WAITING * FRAME_BYTES);
	}
	queue_free(&q);
	close(pair[0]);
	close(pair[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_reading(data, size);
	try_writing(data, size);
	try_slow_reader();
	return 0;
}
