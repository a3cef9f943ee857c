# User-mode Linux for `assay test`: Debian's package, unpacked into the data directory and never installed. It is a
# kernel that runs as a process, here on the machine's own root, and it has cgroup v2 alone.

# find_uml: sets $uml to the directory of the kernel, its modules, and what loads one.
find_uml() {
  uml=$data/uml/$({ cat "$checkout/setup/uml.sh" /etc/os-release && uname -m; } | hash_of_stdin)
  if [ ! -d "$uml" ]; then
    mkdir -p "$data/uml"
    try_step package-lists "reading" apt_get update || say "not all package lists could be read; see $step_log"
    step uml "unpacking Debian's user-mode Linux for the tests" unpack_uml "$uml.tmp.$$"
    place "$uml.tmp.$$" "$uml"
  fi
  touch "$uml"
}

# unpack_uml DIR: busybox-static, because not every Debian has an insmod.
unpack_uml() {
  mkdir -p "$1/archives/partial" "$1/all"
  (apt_get install -y --no-install-recommends --download-only -o "Dir::Cache::archives=$1/archives" \
    -o APT::Sandbox::User=root --reinstall user-mode-linux busybox-static) || return
  for archive in "$1"/archives/user-mode-linux_*.deb "$1"/archives/busybox-static_*.deb; do
    dpkg-deb -x "$archive" "$1/all" || return
  done
  # A module of several hundred is needed.
  mv "$1/all/usr/bin/linux.uml" "$1/linux" &&
    mv "$1"/all/usr/lib/uml/modules/*/kernel/fs/overlayfs/overlay.ko "$1/overlay.ko" &&
    find "$1/all" -name busybox -type f -exec mv {} "$1/busybox" \; || return
  rm -rf "${1:?}/archives" "${1:?}/all"
  ls "$1/linux" "$1/overlay.ko" "$1/busybox"
}
