#ifndef ASSAY_ROOT_H
#define ASSAY_ROOT_H

#include "failure.h"

/*
 * Moves this process into the image: a mount namespace of its own whose root is
 * the image (read-only, no set-uid, no devices), with a /dev of five harmless
 * devices. Nothing of the host's file system can be named from then on.
 */
int root_enter(const char *image, struct failure *f);

/*
 * Gives this process, which must have a mount namespace of its own, the image as
 * a file system of its own: inodes that nobody else has, so that locks and watches
 * on them reach no other slot, and no word about where the image lies and how full
 * the host's disk is. Returns 1 where the kernel has no overlays: then the image
 * stays as it is, and every box of the slot lacks the control own_image.
 */
int root_own(struct failure *f);

#endif
