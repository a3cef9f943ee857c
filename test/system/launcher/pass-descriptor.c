/*
 * pass-descriptor SOCKET: passes its standard input to the launcher before the launcher has accepted, and again after it has.
 * Prints the two results: 0, or the errno.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int pass(int connection)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
	struct iovec byte = {"", 1};
	struct msghdr message = {
	    .msg_iov = &byte, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	memset(CMSG_DATA(&control.head), 0, sizeof(int)); /* descriptor 0 */
	return sendmsg(connection, &message, MSG_NOSIGNAL) < 0 ? errno : 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int connection = socket(AF_UNIX, SOCK_STREAM, 0);
	char first;
	if (argc != 2)
		return 2;
	strncpy(address.sun_path, argv[1], sizeof address.sun_path - 1);
	if (connect(connection, (struct sockaddr *)&address, sizeof address) < 0)
		return 1;
	int early = pass(connection);
	if (read(connection, &first, 1) != 1) /* HELLO, of the slot */
		return 1;
	printf("%d %d\n", early, pass(connection));
	return 0;
}
