#ifndef ASSAY_SANDBOX_H
#define ASSAY_SANDBOX_H

#include <string.h>

#include "launcher.h"
#include "slot/resources.h"
#include "wire/wire.h"

/*
 * Sandboxes: boxes that live as long as a connection, or a little longer, and in which any number of programs run.
 *
 *   holder          holder.c. Keeps one sandbox for one connection: its init, namespaces, file systems and groups. It runs no program.
 *   attached slot   attached.c. Runs programs in a sandbox for one connection, one after the other, as a slot does in its own boxes.
 *
 * The launcher forks both. They talk over a socket in a directory that no other process has (struct launcher), whose name is the token of
 * the sandbox, 128 random bits. The holder passes its descriptors of the sandbox to each attached slot, and gives it a leaf for each
 * execution.
 *
 * A client that says KEEP can leave without the end of its sandbox: the holder then stops all programs, and waits for a REJOIN with the token. That comes
 * to an attached slot, which passes its connection to the holder, and ends.
 */

enum { ATTACHED_MAX = ATTACHED_OF_ONE /* attached slots of one sandbox at the same time: 16 for executions, and one that reads its files */ };

/* What the holder and an attached slot send each other: messages of this form, each in one packet. */
enum held_kind {
	HELD_BOX = 1,  /* from the holder, first: the descriptors of the sandbox */
	HELD_LEAF,     /* from the holder: the leaf for an execution, or, with `err`, that there is none */
	HELD_PAUSED, HELD_RESUMED, /* from the holder */
	HELD_TAKE,     /* from the attached slot: asks for a leaf */
	HELD_ASK,      /* from the holder: whether the program in the leaf was started, because it will stop everything */
	HELD_STARTED,  /* the answer of the attached slot, as soon as that is so; a HELD_GIVE answers as well */
	HELD_GIVE,     /* from the attached slot: it no longer uses the leaf */
	HELD_LEFT,     /* from the attached slot: its client has left a step that may go on */
	HELD_STAY,     /* the answer of the holder: its client has left as well, so the step goes on; or */
	HELD_ENDS,     /* it does not */
	HELD_JOIN,     /* from the attached slot, first: asks for HELD_BOX */
	HELD_REJOIN,   /* from the attached slot, first: its connection, which becomes that of the holder */
	HELD_REJOINED, /* the answer of the holder, with `err` if it does not take the connection */
};

struct held_message {
	uint32_t kind;
	int32_t leaf;      /* HELD_LEAF, HELD_GIVE */
	uint32_t same;     /* HELD_LEAF: in which trees the group is the one that the slot had before, in whose place it was not made anew: bits by enum tree */
	int32_t err;       /* HELD_LEAF, HELD_REJOINED: the errno if there is no leaf, or if the connection is not taken; otherwise 0 */
	uint32_t number;   /* HELD_REJOIN: of the attached slot, HELD_STAY: of the holder, among all processes that serve connections */
	uint32_t left;     /* HELD_GIVE: the leaf has processes that run on */
	uint32_t reusable; /* HELD_GIVE: the leaf may serve another execution */
	uint32_t killed;   /* HELD_GIVE: its processes were killed together (leaf_kill()) */
	uint32_t as_new;   /* HELD_GIVE: the leaf is empty, and no group of it has to be made anew (leaf_is_as_new()) */
	uint64_t charged;  /* HELD_GIVE: the bytes that are charged to the leaf; UINT64_MAX: unknown */
	uint32_t while_frozen; /* HELD_TAKE: for a step that runs while all other processes of the sandbox are stopped */
	uid_t uid;         /* HELD_BOX: of the programs */
	pid_t init;        /* HELD_BOX */
	uint64_t processes; /* HELD_BOX: the limit of the sandbox */
	uint32_t network;   /* HELD_BOX: the sandbox has a network, so the client is told by which group the connections of a step are known */
};

/* The descriptors that come with HELD_BOX; with HELD_REJOIN, only `connection`. One that is -1 is not sent, and received as -1. */
struct held_descriptors {
	int init, namespaces[LANE_NAMESPACES], terminals, groups[TREE_COUNT], cpu_tasks, connection;
};
enum { HELD_DESCRIPTORS = sizeof(struct held_descriptors) / sizeof(int) };
static inline struct held_descriptors held_none(void)
{
	struct held_descriptors d;
	memset(&d, -1, sizeof d);
	return d;
}
/* Closes all of them. */
void held_close(struct held_descriptors *descriptors);

/* Sends a message, with the descriptors if there are any. Returns -1 with errno on failure; it never waits. */
int held_send(int socket, const struct held_message *message, const struct held_descriptors *descriptors);
/* Receives a message without waiting; `descriptors` can be NULL. Returns 0, or -1 with errno: EAGAIN, or ECONNRESET if the peer is gone. */
int held_receive(int socket, struct held_message *message, struct held_descriptors *descriptors);

/*
 * Each makes the calling process, a child of `launcher`, a holder or an attached slot, and serves one connection until it closes. `number`
 * is that of the process among all that serve connections, `holder` that among the holders. Returns the exit status. A holder wipes the `token` that it is
 * given, because its children have copies of its stack.
 */
int holder_serve(const struct launcher *l, unsigned number, unsigned holder, char token[TOKEN_BYTES + 1], int connection, pid_t launcher);
int attached_serve(const struct launcher *l, unsigned number, int connection, pid_t launcher);

#endif
