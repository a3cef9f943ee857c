# Tests for arm64 on other machines: Debian's cross compiler, and an emulator for the programs that it builds, unpacked (see
# unpack.sh). On arm64 itself the native compiler is used, and the other tests cover far more.

# find_arm64: sets $arm64 to a directory with two programs: gcc, and run, which runs the programs that gcc built.
find_arm64() {
  find_unpacked arm64 "compiler and emulator of arm64"
  arm64=$unpacked
}

# unpack_arm64 DIR: unpacks compiler and emulator. Of the emulators of many processors, it keeps the one of arm64. Absolute paths are
# removed from libc.so, because the directory can be anywhere.
unpack_arm64() {
  if [ "$(uname -m)" = aarch64 ]; then
    mkdir "$1"
    printf '#!/bin/sh\nexec gcc "$@"\n' >"$1/gcc"
    printf '#!/bin/sh\nexec "$@"\n' >"$1/run"
    chmod 0755 "$1/gcc" "$1/run"
    return
  fi
  unpack "$1/all" "$completed --reinstall" gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static || return
  for emulator in qemu-aarch64-static qemu-aarch64; do
    [ ! -f "$1/all/usr/bin/$emulator" ] || [ -e "$1/qemu" ] || mv "$1/all/usr/bin/$emulator" "$1/qemu" || return
  done
  rm -rf "$1"/all/usr/bin/qemu-* "$1"/all/usr/bin/*-lto-dump* "$1/all/usr/share"
  sed -i 's#/usr/aarch64-linux-gnu/lib/##g' "$1/all/usr/aarch64-linux-gnu/lib/libc.so" || return
  cat >"$1/gcc" <<'SH'
#!/bin/sh
all=$(dirname "$(readlink -f "$0")")/all
export LD_LIBRARY_PATH="$all/usr/lib/$(gcc -dumpmachine)"
PATH=$all/usr/bin:$PATH
exec "$all/usr/bin/aarch64-linux-gnu-gcc" "-Wl,-rpath-link,$all/usr/aarch64-linux-gnu/lib" "$@"
SH
  cat >"$1/run" <<'SH'
#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
exec "$here/qemu" -L "$here/all/usr/aarch64-linux-gnu" "$@"
SH
  chmod 0755 "$1/gcc" "$1/run"
  ls "$1/qemu" "$1"/all/usr/bin/aarch64-linux-gnu-gcc
}
