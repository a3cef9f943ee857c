#!/bin/sh
# bare.sh ROOTFS PLAN SOURCES-DIR BARE.MJS: runs the Node script BARE.MJS in the image, without a box, with PLAN as its standard input and
# a copy of SOURCES-DIR as its directory. Requires root. The mounts are in a namespace of their own, and end with it.
set -eu
[ -n "${BARE_INSIDE-}" ] ||
  BARE_INSIDE=1 exec unshare --mount --propagation private --pid --fork --kill-child "$0" "$@"

rootfs=$1
mount --bind "$rootfs" "$rootfs"
mount -t proc proc "$rootfs/proc"
mount -t tmpfs tmpfs "$rootfs/tmp"
mount -t tmpfs tmpfs "$rootfs/box"
mount -t tmpfs tmpfs "$rootfs/dev"
mknod -m 666 "$rootfs/dev/null" c 1 3
mknod -m 666 "$rootfs/dev/urandom" c 1 9
cp -r "$3"/* "$rootfs/box/"
cp "$4" "$rootfs/tmp/bare.mjs"
exec chroot "$rootfs" /usr/bin/env -i -C /box PATH=/usr/local/bin:/usr/bin:/bin HOME=/box LC_ALL=C.UTF-8 TMPDIR=/tmp \
  /opt/assay/node/node /tmp/bare.mjs <"$2"
