# Shared by build and layer, which set $here, $start and $list, the file that names npm packages (see manifest).
# The box's user must be able to read the image, regardless of the umask and the modes of the checkout.
umask 022

say() { printf '[image %4ds] %s\n' $(($(date +%s) - start)) "$*" >&2; }
die() { say "error: $*"; exit 1; }

arch=$(dpkg --print-architecture 2>/dev/null) || die "this needs a Debian host (dpkg is missing)"

manifest() { sed -n "s/^$1  *//p" "$list"; }

# --- sources of Debian packages --------------------------------------------------------------------

# The image uses the host's mirror, which may be required (no route, a cache, a policy).
# Prints a line for each source of the host: address and suite.
host_sources() {
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
    awk '$3 == "main" && $1 ~ /\/debian(-security)?\/?$/ { sub(/\/$/, "", $1); print $1, $2 }' | sort -u || true
}

debian_mirror() {
  if [ -n "${ASSAY_DEBIAN_MIRROR:-}" ]; then echo "$ASSAY_DEBIAN_MIRROR"; return; fi
  found=$(host_sources | awk '$2 !~ /security/ { print $1; exit }')
  [ -n "$found" ] || die "the apt sources of this machine contain no Debian mirror: set ASSAY_DEBIAN_MIRROR"
  echo "$found"
}

security_mirror() {
  if [ -n "${ASSAY_DEBIAN_SECURITY_MIRROR:-}" ]; then echo "$ASSAY_DEBIAN_SECURITY_MIRROR"; return; fi
  found=$(host_sources | awk '$2 ~ /security/ { print $1; exit }')
  # Mirrors with both archives have them side by side.
  echo "${found:-${mirror%/debian}/debian-security}"
}

# --- packages from npm -----------------------------------------------------------------------------

fetch_npm() {
  mkdir -p "$cache/npm"
  manifest npm | while read -r for_arch target name version sum; do
    case $for_arch in all | "$arch") ;; *) continue ;; esac
    tarball=$cache/npm/$sum.tgz
    if ! echo "$sum  $tarball" | sha512sum --check --status 2>/dev/null; then
      say "npm: fetching $name $version"
      work=$tmp/npm-fetch
      rm -rf "$work"
      mkdir "$work"
      # npm pack only downloads; no script of a package runs.
      (cd "$work" && npm pack --ignore-scripts --no-update-notifier --cache "$cache/npm-cache" "$name@$version" >"$tmp/npm.log" 2>&1) ||
        { tail -n 20 "$tmp/npm.log" >&2; die "npm could not fetch $name@$version"; }
      mv "$work"/*.tgz "$tarball.$$"
      echo "$sum  $tarball.$$" | sha512sum --check --status ||
        die "$name@$version is not the expected package (its SHA-512 differs)"
      mv "$tarball.$$" "$tarball"
      rm -rf "$work"
    fi
  done
}

# unpack_npm ROOT
unpack_npm() {
  manifest npm | while read -r for_arch target name version sum; do
    case $for_arch in all | "$arch") ;; *) continue ;; esac
    mkdir -p "$1/$target"
    tar -xzf "$cache/npm/$sum.tgz" -C "$1/$target" --strip-components=1 --no-same-owner --no-same-permissions
  done
  [ ! -d "$1/opt/assay" ] || chmod -R u=rwX,go=rX "$1/opt/assay"
}

# --- a root ------------------------------------------------------------------------------------------

# A fresh /proc, /tmp and a minimal /dev.
mount_root() {
  mount -t proc proc "$rootfs/proc"
  mount -t tmpfs -o mode=1777 tmpfs "$rootfs/tmp"
  mount -t tmpfs -o mode=755 tmpfs "$rootfs/dev"
  mknod -m 666 "$rootfs/dev/null" c 1 3
  mknod -m 666 "$rootfs/dev/urandom" c 1 9
}

umount_root() { umount "$rootfs/dev" "$rootfs/tmp" "$rootfs/proc"; }

# trim_common: in the directory of a root or a layer.
trim_common() {
  # The package manager, its records and its downloads.
  rm -rf etc/apt etc/dpkg usr/lib/apt usr/lib/dpkg usr/share/dpkg usr/share/debconf usr/share/apt usr/libexec/dpkg etc/default var/lib/dpkg var/lib/apt var/cache
  find usr/bin usr/sbin \( -name 'apt*' -o -name 'dpkg*' -o -name 'debconf*' -o -name 'update-*' -o -name 'deb-systemd*' \) -delete
  # Accounts, schedules, services, logs, and files with the host's name or resolver.
  rm -rf etc/shadow* etc/gshadow* etc/passwd- etc/group- etc/subuid* etc/subgid* etc/security etc/pam* etc/cron* etc/init.d etc/rc*.d \
    etc/systemd etc/logrotate.d etc/hostname etc/resolv.conf etc/machine-id etc/ssl/private etc/fstab etc/motd etc/issue* etc/.pwd.lock \
    usr/lib/systemd usr/share/bash-completion usr/share/bug usr/share/pam* usr/share/menu usr/share/lintian usr/sbin/pam* \
    usr/sbin/unix_* usr/sbin/user* usr/sbin/group* usr/bin/passwd usr/bin/su usr/bin/chfn usr/bin/chsh usr/bin/chage usr/bin/gpasswd usr/bin/newgrp
  rm -rf usr/share/doc usr/share/man usr/share/info usr/share/locale usr/share/gdb usr/share/common-licenses
  # Owned by root, readable by all, writable by root only, no set-uid or set-gid.
  find . -xdev -perm /6000 -exec chmod u-s,g-s {} +
  find . -xdev ! -type l -perm /022 -exec chmod go-w {} +
  find . -xdev ! -uid 0 -exec chown -h 0:0 {} +
}
