# An emulated machine for the tests: Debian's QEMU and Debian's stock kernel, unpacked (see unpack.sh). The machine has only
# cgroup v2, with pressure for each group and BPF.

# find_qemu: sets $qemu to the directory of `qemu`, `kernel`, `initrd` and `busybox`.
find_qemu() {
  find_unpacked qemu "QEMU and its kernel"
  qemu=$unpacked
}

# unpack_qemu DIR: unpacks the kernel, of whose thousands of modules the initrd has a few, and QEMU with the libraries that the machine
# lacks.
unpack_qemu() {
  image=$(needed_by linux-image-amd64 'linux-image-[0-9].*') || return
  unpack "$1" "$completed" qemu-system-x86 || return
  unpack "$1/all" "$alone" "$image" busybox-static || return
  mv "$1"/all/boot/vmlinuz-* "$1/kernel" && find "$1/all" -name busybox -type f -exec mv {} "$1/busybox" \; &&
    make_initrd "$1/all" "$1" || return
  rm -rf "${1:?}/all"
  cat >"$1/qemu" <<'QEMU'
#!/bin/sh
here=${0%/*}
export LD_LIBRARY_PATH="$here/usr/lib/x86_64-linux-gnu:$here/lib/x86_64-linux-gnu"
exec "$here/usr/bin/qemu-system-x86_64" -L "$here/usr/share/seabios" -L "$here/usr/share/qemu" "$@"
QEMU
  chmod 755 "$1/qemu" && "$1/qemu" --version && ls "$1/kernel" "$1/initrd" "$1/busybox"
}

# make_initrd UNPACKED DIR: builds DIR/initrd, which mounts the host's root by 9p and executes the program of the kernel's command line
# there.
make_initrd() {
  tree=$1/initrd modules=$(echo "$1"/lib/modules/* "$1"/usr/lib/modules/* | tr ' ' '\n' | grep -v '\*')
  version=${modules##*/}
  mkdir -p "$tree/bin" "$tree/root" "$tree/lib/modules/$version"
  cp "$2/busybox" "$tree/bin/busybox"
  for kept in drivers/virtio net/9p fs/9p fs/netfs fs/fscache fs/overlayfs; do
    [ ! -d "$modules/kernel/$kept" ] || mv "$modules/kernel/$kept" "$tree/lib/modules/$version/$(echo $kept | tr / -)"
  done
  find "$tree/lib/modules" -name '*.xz' -exec "$tree/bin/busybox" unxz {} \;
  "$tree/bin/busybox" depmod -b "$tree" "$version" || return
  # A driver can be a module in one release of Debian and built in in another.
  needed=
  for module in virtio_pci 9pnet_virtio 9p overlay; do
    ! grep -q "/$module\.ko:" "$tree/lib/modules/$version/modules.dep" || needed="$needed $module"
  done
  cat >"$tree/init" <<INIT
#!/bin/busybox sh
/bin/busybox modprobe -a $needed
/bin/busybox mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=262144 root /root
exec /bin/busybox switch_root /root "\$@"
INIT
  chmod 755 "$tree/init"
  (cd "$tree" && find . | bin/busybox cpio -o -H newc) >"$2/initrd"
}
