#ifndef ASSAY_SLOT_CONNECTION_H
#define ASSAY_SLOT_CONNECTION_H

#include "box/box.h"

/*
 * What the processes that serve a connection have in common: slots of submissions (slot.c), holders of sandboxes (sandbox/holder.c), and
 * attached slots (sandbox/attached.c).
 */

enum { FRAME_TIMEOUT_MS = 10000 }; /* the longest silence within a frame of the client */

/* Whether SIGTERM has arrived. The signal also ends every wait. */
extern volatile int slot_stopping;

/*
 * Makes the calling process, a child of the process `launcher`, end with the launcher and note SIGTERM, and raises its priority. Returns -1
 * if the launcher has died.
 */
int begin_process(pid_t launcher);
/*
 * Gives the tables of descriptors of all programs the same size. A process gets a table of the size that the highest descriptor of its
 * parent needs, and can read that size (FDSize in /proc/self/status), which would show how many descriptors the slot has, for example
 * for other boxes. So the slot always has one descriptor that is higher than all others. The connection gets another number if it has that one.
 */
int fix_descriptor_table(const struct launcher *l, int *connection, struct failure *f);

/* Waits for `events` of `fd`. Returns -1 after the timeout (errno is ETIMEDOUT), after SIGTERM, or if the connection is closed. */
int await(int fd, short events, int timeout_ms);
/* Sends the whole queue. Returns -1 if the client has disconnected or does not read, or after SIGTERM. */
int flush_all(struct queue *out, int connection);
/* Reads `size` bytes. The first may take `first_wait_ms`, each further one FRAME_TIMEOUT_MS. Returns -1 if they do not come. */
int read_exactly(int fd, uint8_t *to, size_t size, int first_wait_ms);
/* Sends REFUSED. Returns -1. */
int refuse_request(struct queue *out, int connection, const char *reason, const char *object);
/* Queues HELLO of the process with this number. */
void send_hello(struct queue *out, const struct launcher *l, unsigned number);
/* Sends FAILED. */
void send_failed(struct queue *out, int connection, const struct failure *f);
/* Queues TEARDOWN. */
void send_teardown(struct queue *out, const struct teardown *t);

#endif
