#ifndef ASSAY_RELAY_H
#define ASSAY_RELAY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A relay is a process of root that copies the output of processes of the service's user to root's terminal or file.
 *
 * Every process of that user can take descriptors from its other processes (pidfd_getfd). With a descriptor of the terminal it could
 * read root's input and change the terminal's settings, and control sequences make some terminals send input. With a descriptor of
 * a file it could truncate and overwrite the file. From a socket that is also root's input, it could read this input. So a process of that
 * user gets a pipe instead. Only pipes and /dev/null are passed on themselves.
 *
 * It is a process of its own, because a terminal can block its writer at any time.
 */
struct relay_options {
	bool plain;           /* plain text, wherever it goes; a terminal always gets plain text */
	bool clears_terminal; /* a form feed becomes the sequence that clears the terminal */
	bool goes_on;         /* after an error: what cannot be written is lost. Otherwise the first error ends the relay */
	uint64_t most;        /* bytes that are passed on; what follows is read and discarded */
};

/*
 * Opens the relays for standard output and standard error, as far as they must not be passed on. Sets `to` to the descriptors to write
 * to, or to -1 for a descriptor that can be passed on. Returns -1 with errno on failure.
 */
int relays_open(const struct relay_options *options, int to[2]);

/*
 * Waits until all output is written: plain text for 5 s, and other output for 60 s, because files can be on a slow disk. Returns
 * false, with a message, if the output to a file is incomplete.
 */
bool relays_close(int to[2]);

#endif
