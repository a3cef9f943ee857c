#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"

/* Serves one request after the other, until the service closes the input. */
int main(void)
{
	struct frame frame;
	/* Other programs of the sandbox have the same user. They cannot write into its memory or its pipes by /proc. */
	if (prctl(PR_SET_DUMPABLE, 0) != 0)
		return 1;
	signal(SIGPIPE, SIG_IGN); /* write() reports the end of the reader */
	signal(SIGXFSZ, SIG_IGN); /* write() reports a file that would be larger than the limit */
	umask(022);
	while (next_frame(&frame)) {
		switch (frame.type) {
		case STAT:
			serve_stat(&frame);
			break;
		case LIST:
			serve_list(&frame);
			break;
		case READ:
			serve_read(&frame);
			break;
		case WRITE:
			serve_write(&frame);
			break;
		case MAKE:
			serve_make(&frame);
			break;
		case MOVE:
			serve_move(&frame);
			break;
		case REMOVE:
			serve_remove(&frame);
			break;
		case ARCHIVE:
			serve_archive(&frame);
			break;
		case UNPACK:
			serve_unpack(&frame);
			break;
		case WATCH:
			serve_watch(&frame);
			break;
		case SAVE:
			serve_save();
			break;
		case RESTORE:
			serve_restore();
			break;
		default:
			return 1;
		}
	}
	return 0;
}
