/*
 * assay-launcher: builds boxes, runs programs in them and reports facts. Of the processes that handle requests or programs, only those
 * of the launcher run as root. The command `assay` or systemd starts it. PROTOCOL.md explains how it works; its processes are:
 *
 *   launcher   This file, prepare.c and serve.c. It listens on a Unix socket. The command line,
 *              which root writes, fixes image, uids, control group and ceilings. It enters the
 *              image, forks a slot for each connection and sweeps after
 *              a slot that died. It reads no byte of a client or a payload.
 *   slot       slot/. Root. It reads requests of the service (wire/ checks them),
 *              builds boxes (box/) with programs (run/), watches these (supervise/) and reports facts.
 *   init       box/init.c. Pid 1 of a box, with uid 0 and without capabilities.
 *   program    box/init.c up to its exec, then the payload. Unprivileged and filtered.
 *
 * The launcher knows no defaults, languages or verdicts. It never reports a failure of
 * the platform as a failure of the program.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "image-memory.h"
#include "prepare.h"
#include "serve.h"
#include "slot/resources.h"
#include "wire/wire.h"

enum { KEEP_SECONDS_DEFAULT = 60, KEEP_SECONDS_MAX = 600 };

struct options {
	const char *socket, *image, *instance, *sandbox_disks, *egress;
	long client_uid, uid_base, slots, image_bytes, sandboxes, sandbox_memory, sandbox_disk, keep_seconds;
	bool describe, check, loopback, sandboxes_if_possible;
};

/* Applies a NAME=VALUE of --ceiling; NAME is an INT key of STEP in protocol.def. */
static void set_ceiling(char *text)
{
	char *value = strchr(text, '=');
	if (value)
		*value++ = 0;
	if (!value || wire_lower_limit(text, (uint64_t)parse_number(value, 0, LONG_MAX, "ceiling")) < 0) {
		fprintf(stderr, "assay-launcher: --ceiling: %s is not a limit of a request, or the value does not lower it\n", text);
		exit(2);
	}
}

static struct options read_options(int argc, char **argv)
{
	enum { SOCKET = 1, CLIENT, IMAGE, INSTANCE, UIDS, SLOTS, DESCRIBE, CHECK, CEILING, IMAGE_BYTES, SANDBOXES, SANDBOX_MEMORY, SANDBOX_DISKS, SANDBOX_DISK, EGRESS,
	       KEEP_SECONDS, LOOPBACK, IF_POSSIBLE };
	static const struct option known[] = {
		{"socket", 1, NULL, SOCKET}, {"client-uid", 1, NULL, CLIENT}, {"image", 1, NULL, IMAGE},
		{"instance", 1, NULL, INSTANCE}, {"uid-base", 1, NULL, UIDS}, {"slots", 1, NULL, SLOTS},
		{"describe", 0, NULL, DESCRIBE}, {"check", 0, NULL, CHECK}, {"ceiling", 1, NULL, CEILING},
		{"lock-image", 1, NULL, IMAGE_BYTES}, {"sandboxes", 1, NULL, SANDBOXES}, {"sandbox-memory", 1, NULL, SANDBOX_MEMORY},
		{"sandbox-disks", 1, NULL, SANDBOX_DISKS}, {"egress", 1, NULL, EGRESS}, {"sandbox-disk", 1, NULL, SANDBOX_DISK},
		{"keep-seconds", 1, NULL, KEEP_SECONDS}, {"loopback", 0, NULL, LOOPBACK}, {"sandboxes-if-possible", 0, NULL, IF_POSSIBLE}, {0},
	};
	struct options o = {.client_uid = -1, .uid_base = -1, .slots = -1, .keep_seconds = KEEP_SECONDS_DEFAULT};
	int option;
	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (option) {
		case SOCKET: o.socket = optarg; break;
		case CLIENT: o.client_uid = parse_number(optarg, 0, UINT32_MAX - 1, "client-uid"); break;
		case IMAGE: o.image = optarg; break;
		case INSTANCE: o.instance = optarg; break;
		case UIDS: o.uid_base = parse_number(optarg, 1000, UINT32_MAX - 1 - SLOTS_MAX * LANES - 2 * HOLDERS_MAX_NUMBER, "uid-base"); break;
		case SLOTS: o.slots = parse_number(optarg, 1, SLOTS_MAX, "slots"); break;
		case DESCRIBE: o.describe = true; break;
		case CHECK: o.check = true; break;
		case CEILING: set_ceiling(optarg); break;
		case IMAGE_BYTES: o.image_bytes = parse_number(optarg, 0, LONG_MAX, "lock-image"); break;
		case SANDBOXES: o.sandboxes = parse_number(optarg, 0, HOLDERS_MAX_NUMBER, "sandboxes"); break;
		case SANDBOX_MEMORY: o.sandbox_memory = parse_number(optarg, 16 << 20, LONG_MAX, "sandbox-memory"); break;
		case EGRESS: o.egress = optarg; break;
		case SANDBOX_DISKS: o.sandbox_disks = optarg; break;
		case SANDBOX_DISK: o.sandbox_disk = parse_number(optarg, 0, LONG_MAX, "sandbox-disk"); break;
		case LOOPBACK: o.loopback = true; break;
		case IF_POSSIBLE: o.sandboxes_if_possible = true; break;
		case KEEP_SECONDS: o.keep_seconds = parse_number(optarg, 0, KEEP_SECONDS_MAX, "keep-seconds"); break;
		default: exit(2);
		}
	}
	if (o.describe)
		return o;
	bool serves = o.socket && o.client_uid >= 0 && o.slots > 0;
	if (o.sandboxes && !o.sandbox_memory) {
		fputs("assay-launcher: --sandboxes needs --sandbox-memory\n", stderr);
		exit(2);
	}
	if (o.sandbox_disk && !o.sandbox_disks) {
		fputs("assay-launcher: --sandbox-disk needs --sandbox-disks\n", stderr);
		exit(2);
	}
	if (optind != argc || !o.image || !valid_instance(o.instance) || o.uid_base < 0 || (!serves && !o.check)) {
		fputs("usage: assay-launcher --image ROOTFS --instance NAME --uid-base N\n"
		      "         --socket PATH --client-uid N --slots N   serve\n"
		      "         --sandboxes N --sandbox-memory BYTES     with these: at most N sandboxes, which use so much memory together\n"
		      "         --sandboxes-if-possible                  refuse sandboxes where the machine can have none, instead of ending\n"
		      "         --sandbox-disks DIRECTORY --sandbox-disk BYTES   sandboxes can have disks there, of so many bytes together\n"
		      "         --egress DIRECTORY                       sandboxes can have a network, whose proxy listens in this directory\n"
		      "         --keep-seconds N                         how long a sandbox waits for another client, by default 60\n"
		      "         --loopback                               sandboxes have sockets of TCP and UDP on their loopback interface\n"
		      "       | --check                                  try every control, print JSON\n"
		      "         --lock-image BYTES                       with both: keep the image in memory if it is not larger\n"
		      "       assay-launcher --describe                  print the protocol as JSON\n", stderr);
		exit(2);
	}
	return o;
}

/*
 * Reports a failure, but does not end the launcher: programs run all the same. image-memory.h and docs/security.md ("an image that
 * does not stay in memory") explain the consequences.
 */
static pid_t keep_image_in_memory(const struct options *o)
{
	struct failure f = {0};
	if (o->image_bytes <= 0)
		return 0;
	pid_t keeper = image_keep(o->image, (uint64_t)o->image_bytes, &f);
	if (keeper < 0)
		fprintf(stderr, "assay-launcher: the image does not stay in memory, so programs are charged for parts of it: %s%s%s\n",
			f.object, f.err ? ": " : "", f.err ? strerror(f.err) : "");
	return keeper;
}

int main(int argc, char **argv)
{
	static struct launcher launcher;
	struct options o = read_options(argc, argv);
	struct failure f = {0};
	struct listeners listeners = {-1, -1, -1};
	int directory = -1;

	if (!open_standard_descriptors())
		return 1;
	if (o.describe) {
		wire_describe(build_name);
		return 0;
	}
	reset_all_signals();
	block_signals();
	if (!o.check && geteuid() != 0) { /* before a later step fails with a less clear message */
		fail_with(&f, EPERM, "start", "needs root");
		die(&f);
	}
	pid_t image_keeper = o.check ? 0 : keep_image_in_memory(&o); /* before clients can connect */
	/* The socket of slots comes last, because the supervisor takes it as the sign that all are there. */
	if (o.socket && ((o.sandboxes && listen_for_sandboxes(o.socket, (uid_t)o.client_uid, &listeners, &f) < 0) ||
			 (listeners.slots = listen_at(o.socket, (uid_t)o.client_uid, &directory, &f)) < 0))
		die(&f);
	init_launcher(&launcher, o.instance, (uid_t)o.uid_base, (unsigned)o.slots);
	launcher.image_keeper = image_keeper;
	launcher.holders = o.check ? 0 : (unsigned)o.sandboxes;
	launcher.attached = ATTACHED_OF_ONE * launcher.holders < ATTACHED_CONNECTIONS_MAX ? ATTACHED_OF_ONE * launcher.holders : ATTACHED_CONNECTIONS_MAX;
	launcher.sandboxes_if_possible = o.sandboxes_if_possible;
	launcher.sandbox_memory = (uint64_t)o.sandbox_memory;
	launcher.disk_directory = o.sandbox_disks;
	launcher.egress_directory = o.egress;
	launcher.disk_bytes = (uint64_t)o.sandbox_disk;
	launcher.has_loopback = o.loopback;
	launcher.keep_ns = (uint64_t)o.keep_seconds * 1000000000u;
	clear_bounding_set();
	if (o.check)
		return check_print(&launcher, o.image, (uint64_t)o.image_bytes);
	prepare(&launcher, o.image, launcher.slots);
	serve(&launcher, &listeners, (uid_t)o.client_uid);
	if (directory >= 0) {
		unlinkat(directory, strrchr(o.socket, '/') + 1, 0);
		unlinkat(directory, HOLDERS_SOCKET, 0);
		unlinkat(directory, ATTACHED_SOCKET, 0);
	}
	if (groups_close(&launcher.groups, launcher.instance) > 0) {
		fprintf(stderr, "assay-launcher: some control groups could not be removed\n");
		return 1;
	}
	return 0;
}
