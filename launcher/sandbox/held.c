/* The messages between a holder and its attached slots (sandbox.h). */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sandbox/sandbox.h"

/* A message and a map of the descriptors that come with it, because those that are -1 cannot be sent. */
struct packet {
	struct held_message message;
	uint32_t present;
};

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(struct held_descriptors))];
};

int held_send(int socket, const struct held_message *message, const struct held_descriptors *descriptors)
{
	struct packet packet = {.message = *message};
	struct iovec data = {&packet, sizeof packet};
	struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1};
	union control control;
	int all[HELD_DESCRIPTORS], sent[HELD_DESCRIPTORS];
	size_t count = 0;
	if (descriptors) {
		memcpy(all, descriptors, sizeof all);
		for (size_t i = 0; i < HELD_DESCRIPTORS; i++)
			if (all[i] >= 0) {
				packet.present |= 1u << i;
				sent[count++] = all[i];
			}
	}
	if (count) {
		memset(&control, 0, sizeof control);
		header.msg_control = control.bytes;
		header.msg_controllen = CMSG_SPACE(count * sizeof(int));
		struct cmsghdr *c = &control.align;
		*c = (struct cmsghdr){.cmsg_len = CMSG_LEN(count * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(c), sent, count * sizeof(int));
	}
	return sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof packet ? 0 : -1;
}

void held_close(struct held_descriptors *descriptors)
{
	int all[HELD_DESCRIPTORS];
	memcpy(all, descriptors, sizeof all);
	for (size_t i = 0; i < HELD_DESCRIPTORS; i++)
		if (all[i] >= 0)
			close(all[i]);
	*descriptors = held_none();
}

int held_receive(int socket, struct held_message *message, struct held_descriptors *descriptors)
{
	struct packet packet;
	struct iovec data = {&packet, sizeof packet};
	union control control;
	struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
	int received[HELD_DESCRIPTORS], all[HELD_DESCRIPTORS];
	size_t count = 0, next = 0;
	ssize_t n = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return -1;
	for (struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&header) : NULL; c; c = CMSG_NXTHDR(&header, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && count == 0) {
			count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
			memcpy(received, CMSG_DATA(c), (count < HELD_DESCRIPTORS ? count : HELD_DESCRIPTORS) * sizeof(int));
		}
	for (size_t i = 0; i < HELD_DESCRIPTORS; i++)
		all[i] = n == sizeof packet && packet.present >> i & 1 && next < count ? received[next++] : -1;
	if (!descriptors || n != sizeof packet)
		for (size_t i = 0; i < count && i < HELD_DESCRIPTORS; i++)
			close(received[i]);
	if (n != sizeof packet) {
		errno = ECONNRESET;
		return -1;
	}
	*message = packet.message;
	if (descriptors)
		memcpy(descriptors, all, sizeof all);
	return 0;
}
