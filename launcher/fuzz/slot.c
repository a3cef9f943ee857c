/*
 * Sends any bytes to a slot. Each frame must be served, skipped as late input, or refused with a reason. After a refusal, the slot
 * must read nothing more.
 *
 * Input: the bytes that a client sends before it closes.
 */
#include "../slot/slot.c"
#include "target.h"

enum { SENT_MAX = 64 * 1024 };

/* Whether such a frame is for a running step, so that a slot skips it between steps. */
static bool late(enum frame frame, size_t length)
{
	return frame == FRAME_INPUT ? length <= INPUT_MAX : (frame == FRAME_SIGNAL && length == 1) || (frame == FRAME_RESIZE && length == 4);
}

/* Counts the requests before the first invalid one, as a second implementation. */
static unsigned served(const uint8_t *data, size_t size)
{
	static struct request r;
	struct refusal why;
	unsigned count = 0;
	bool paired = false, stored[FILE_SETS_MAX + 1] = {true};
	for (size_t at = 0; size - at >= FRAME_HEADER;) {
		const uint8_t *h = data + at;
		size_t length = h[0] | (size_t)h[1] << 8 | (size_t)h[2] << 16 | (size_t)h[3] << 24;
		at += FRAME_HEADER;
		if (late(h[4], length) && length <= size - at) {
			at += length;
			continue;
		}
		bool known = h[4] == FRAME_STEP || (!paired && (h[4] == FRAME_PARK || h[4] == FRAME_PEER));
		if (!known || length > size - at || request_parse(h[4], data + at, length, &r, &why) < 0)
			break;
		if (r.sandbox.size) /* only on the socket of sandboxes */
			break;
		if (paired && (r.stdin_data.size || r.number[KEY_LIVE_STDIN] || r.number[KEY_MORE] || r.number[KEY_COLLECT]))
			break;
		uint64_t set = r.number[KEY_KEEP_FILES];
		if (!r.files && !stored[set])
			break;
		stored[set] = true;
		at += length;
		paired = h[4] == FRAME_PEER;
		count += !paired;
	}
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct session session;
	static struct request r;
	uint8_t answer[512];
	int ends[2];
	if (size > SENT_MAX)
		size = SENT_MAX;
	EXPECT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	EXPECT(send(ends[1], data, size, MSG_DONTWAIT) == (ssize_t)size && shutdown(ends[1], SHUT_WR) == 0);
	session.connection = ends[0];
	session.input.received = 0;
	for (unsigned set = 0; set < FILE_SETS_MAX; set++)
		session.file_set[set].files = 0;
	unsigned requests = 0;
	enum frame frame;
	int next;
	do {
		next = next_request(&session, &frame, &r);
		drop_peer(&session);
		requests += next == 0;
	} while (next == 0);
	EXPECT(requests == served(data, size));
	ssize_t n = recv(ends[1], answer, sizeof answer, MSG_DONTWAIT);
	EXPECT(n < 0 || (n > FRAME_HEADER && answer[4] == FRAME_REFUSED && answer[FRAME_HEADER] == KEY_REASON));
	queue_free(&session.out);
	close(ends[0]);
	close(ends[1]);
	return 0;
}
