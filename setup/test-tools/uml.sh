# User-mode Linux for `assay test`: Debian's, unpacked (see unpack.sh). It is a kernel that runs as a process, here with the machine's root
# file system, and it has cgroup v2 alone.

# find_uml: sets $uml to a directory with the kernel `linux`, its module overlay.ko, and busybox, which loads the module.
find_uml() {
  find_unpacked uml "user-mode Linux"
  uml=$unpacked
}

# unpack_uml DIR: unpacks these files. busybox is needed because not every Debian has an insmod.
unpack_uml() {
  unpack "$1/all" "$alone" user-mode-linux busybox-static || return
  # Of several hundred modules, one is needed.
  mv "$1/all/usr/bin/linux.uml" "$1/linux" &&
    mv "$1"/all/usr/lib/uml/modules/*/kernel/fs/overlayfs/overlay.ko "$1/overlay.ko" &&
    find "$1/all" -name busybox -type f -exec mv {} "$1/busybox" \; || return
  rm -rf "${1:?}/all"
  ls "$1/linux" "$1/overlay.ko" "$1/busybox"
}
