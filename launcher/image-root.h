#ifndef ASSAY_IMAGE_ROOT_H
#define ASSAY_IMAGE_ROOT_H

#include <stdbool.h>
#include <sys/types.h>

#include "failure.h"

/*
 * Moves this process into a new mount namespace whose root is the image (read-only, no set-uid, no devices), with a /dev of five
 * harmless devices. No path leads to the host's file system afterwards.
 */
int image_enter(const char *image, struct failure *f);

/*
 * Gives this process, which must have its own mount namespace, the image as a separate file system, an overlay. The inodes of the
 * overlay are not shared, so locks and watches on them do not reach other slots, and it reveals neither the location of the image
 * nor the free space of the host's disk. Its /etc/passwd and /etc/group name the `count` users of the slot, and none of the host.
 * Returns 0 on success, and -1 with a failure. Returns 1 if the overlay cannot be mounted, for example because the kernel has no
 * overlayfs: the slot then uses the shared image with a /dev of its own, and every box of the slot lacks the control own_image.
 */
int image_overlay(const uid_t *users, int count, struct failure *f);

/*
 * Mounts a read-only /dev at `dev` in the working directory, with five harmless devices, and with /dev/tty and places for terminals if
 * `terminals`.
 */
int image_make_devices(bool terminals, struct failure *f);

#endif
