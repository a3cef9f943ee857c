# The data directory: which one, whose it is, and who may change it now.
#
# .assay-data marks it as ours: without that file we neither fill a directory nor remove one.
# Descriptors kept open: 9 = the set-up lock, 8 = the uid range, 7 = the running instance (see instance.sh),
# 4 and 5 = relays of standard output and error (see relay.sh).

# choose_data_dir DIR: sets $data to the absolute path, after refusing what can't be meant.
choose_data_dir() {
  [ -n "$1" ] || misuse "--data needs a directory"
  data=$(readlink -m -- "$1")
  case $data in
  / | /bin | /boot | /dev | /etc | /home | /lib | /lib32 | /lib64 | /media | /mnt | /opt | /proc | /root | /run | /sbin | /srv | \
    /sys | /tmp | /usr | /var | /usr/* | /etc/* | /boot/* | /dev/* | /proc/* | /sys/* | /var/lib | /var/tmp | /var/log | /var/cache)
    fail "$data is not a place for a data directory; name one of its own, like /var/lib/assay"
    ;;
  *[!A-Za-z0-9/._@+-]*) fail "the data directory's name may have letters, digits and / . _ @ + - only" ;; # env(1) takes a = for a setting
  esac
  case $checkout/ in
  "$data"/*) fail "$data contains this checkout; choose a data directory outside of it" ;;
  esac
  only_root_changes_data
}

# only_root_changes_data: root runs what lies in the data directory, so nobody else may write there, or rename a directory
# on the way to it. In a sticky one (/tmp) nobody can rename what is root's, and all that follows has to be root's.
only_root_changes_data() {
  way=$data
  while :; do
    if [ -e "$way" ]; then
      # %f: the mode in hex; of its bits, 022 is writing by group and others, 01000 is sticky.
      owner_and_mode=$(stat -c '%u 0x%f' -- "$way")
      way_mode=${owner_and_mode#* }
      writable=$((way_mode & 022))
      if [ "$way" != "$data" ] && [ $((way_mode & 01000)) -ne 0 ]; then writable=0; fi
      [ "${owner_and_mode% *}" -eq 0 ] && [ $writable -eq 0 ] ||
        fail "only root may be able to change the data directory, but $way belongs to somebody else or can be written by others"
    fi
    [ "$way" != / ] || break
    way=$(dirname -- "$way")
  done
}

data_dir_is_ours() { [ -f "$data/.assay-data" ]; }

# open_data_dir: make it if need be and take the set-up lock.
open_data_dir() {
  if ! data_dir_is_ours; then
    made=yes
    if [ -e "$data" ]; then
      [ -d "$data" ] || fail "$data is not a directory"
      [ -z "$(ls -A -- "$data")" ] || fail "$data is not empty and was not made by assay; choose another with --data"
      made=no
    fi
    mkdir -p -- "$data" || fail "cannot make $data"
    only_root_changes_data # somebody could have been quicker
    printf 'Made by assay; see changes.log. To remove: assay uninstall --data %s\ndirectory-made-by-us %s\n' "$data" "$made" \
      >"$data/.assay-data"
  fi
  lock_set_up
  mkdir -p -- "$data/log" "$data/tmp" "$data/app" "$data/modules" "$data/launcher" "$data/image" \
    "$data/dashboard" "$data/run"
  sweep
}

# only_ours FILE: a lock that nobody but root can open, and so hold: flock asks for no right to write.
only_ours() { (umask 077 && : >>"$1") && chmod 0600 -- "$1"; }

lock_set_up() {
  only_ours "$data/lock"
  exec 9<>"$data/lock"
  # A second's patience: the steps of a set-up that was just interrupted hold the lock until they are really gone.
  if ! flock -w 1 9; then
    read -r holder <"$data/lock" || holder=unknown
    # The file can have text that the service wrote before only root could open it.
    case $holder in '' | *[!0-9]*) holder=unknown ;; esac
    say "another set-up of $data is running (process $holder); waiting for it to end"
    await flock 9 || fail "could not take the lock $data/lock"
  fi
  echo "$$" >"$data/lock"
}

unlock_set_up() { exec 9<&-; }

# sweep: what a killed set-up or instance left behind. Only called while holding the set-up lock, so that whatever
# carries .tmp. has no maker any more.
sweep() {
  unmount_below "$data/tmp"
  unmount_below "$data/image"
  rm -rf --one-file-system -- "${data:?}"/tmp/* "${data:?}"/*.tmp.*
  for kind in app modules launcher image dashboard set-up postgres arm64 promtool uml qemu; do
    rm -rf --one-file-system -- "${data:?}/$kind"/*.tmp.*
  done
  sweep_instances
}

# unmount_below DIR: steps mount in namespaces of their own, so there is nothing here unless someone ran image/build
# by hand. A mount must never meet our rm -rf.
unmount_below() {
  awk -v dir="$1/" 'index($5, dir) == 1 { line[n++] = $5 } END { while (n) print line[--n] }' /proc/self/mountinfo |
    while read -r mounted; do
      umount -- "$mounted" || fail "cannot unmount $mounted"
    done
}

# keep_recent KIND: versions pile up (every change of the checkout makes a new app). The three used last stay, and all
# that a live instance uses, or the next start of a unit would.
keep_recent() {
  # The names are hashes that we made: nothing for ls to garble.
  # shellcheck disable=SC2010
  ls -1t -- "$data/$1" | grep -E '^[0-9a-f]{16}$' | tail -n +4 | while read -r old; do
    grep -qsxF "$data/$1/$old" "$data"/run/*/uses "$data/current/uses" || rm -rf --one-file-system -- "${data:?}/$1/$old"
  done
}

keep_recent_versions() {
  for kind in app modules launcher image dashboard; do keep_recent "$kind"; done
}
