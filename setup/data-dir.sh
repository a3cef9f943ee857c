# The data directory: its path, its ownership and its locks.
#
# The file .assay-data marks a data directory: set-up neither fills nor removes a directory without this file.
# Descriptor 9 has the set-up lock until the set-up has ended. These descriptors stay open: 8 = the lock of the uid range, 7 = the lock of
# the running instance, and 6 = the lock of the command that serves (see instance.sh).

# choose_data_dir DIR: sets $data to the absolute path and rejects unsuitable directories.
choose_data_dir() {
  [ -n "$1" ] || misuse "--data needs a directory"
  data=$(readlink -m -- "$1")
  case $data in
  / | /bin | /boot | /dev | /etc | /home | /lib | /lib32 | /lib64 | /media | /mnt | /opt | /proc | /root | /run | /sbin | /srv | \
    /sys | /tmp | /usr | /var | /usr/* | /etc/* | /boot/* | /dev/* | /proc/* | /sys/* | /var/lib | /var/tmp | /var/log | /var/cache)
    fail "$data is not a place for a data directory; choose a separate one, such as /var/lib/assay"
    ;;
  *[!A-Za-z0-9/._@+-]*) fail "the data directory's name may have letters, digits and / . _ @ + - only" ;; # env(1) takes a = for a setting
  esac
  case $checkout/ in
  "$data"/*) fail "$data contains this checkout; choose a data directory outside of it" ;;
  esac
  only_root_changes_data
}

# only_root_changes_data: root runs programs from the data directory, so no other user may write there or rename a
# directory on its path. A parent that others can write to is allowed if it is sticky, like /tmp, because users cannot rename root's
# files there.
only_root_changes_data() {
  # %f: the mode in hex; of its bits, 022 is writing by group and others, 01000 is sticky.
  way_states=$(stat_way -c '%u 0x%f %n')
  while read -r way_owner way_mode way; do
    writable=$((way_mode & 022))
    if [ "$way" != "$data" ] && [ $((way_mode & 01000)) -ne 0 ]; then writable=0; fi
    [ "$way_owner" -eq 0 ] && [ $writable -eq 0 ] ||
      fail "only root may be able to change the data directory, but $way belongs to another user or is writable by others"
  done <<WAY
$way_states
WAY
}

# stat_way OPTIONS...: runs stat on the data directory and its parents, as far as they exist.
stat_way() {
  way=$data/
  while way=${way%/*} && [ -n "$way" ]; do [ ! -e "$way" ] || set -- "$@" "$way"; done
  stat "$@" /
}

data_dir_is_ours() { [ -f "$data/.assay-data" ]; }

# open_data_dir: creates the data directory if necessary, takes the set-up lock, and removes what killed commands left. The lock is
# shared, or exclusive if drafts must be removed.
open_data_dir() {
  data_dir_is_ours || claim_data_dir
  lock_set_up
  mkdir -p -- "$data/log" "$data/tmp" "$data/app" "$data/modules" "$data/launcher" "$data/image" \
    "$data/dashboard" "$data/run"
  if has_drafts; then exclusively; fi
  sweep
}

# claim_data_dir: creates and marks the data directory. If several commands do so at once, one of them creates it, and the others wait
# until it is marked.
claim_data_dir() {
  made=no
  mkdir -p -- "$(dirname -- "$data")" || fail "cannot make the parents of $data"
  if mkdir -- "$data" 2>/dev/null; then made=yes; fi
  [ -d "$data" ] || fail "cannot make $data, or it is not a directory"
  exec 5<"$data"
  flock 5
  if ! data_dir_is_ours; then
    [ -z "$(ls -A -- "$data")" ] || fail "$data is not empty and was not made by assay; choose another with --data"
    only_root_changes_data # another user could have created it first
    mark_data_dir
  elif [ $made = yes ]; then
    mark_data_dir # another command was faster, and does not know who created the directory
  fi
  exec 5<&-
}

mark_data_dir() {
  printf 'Made by assay; see changes.log. To remove: assay uninstall --data %s\ndirectory-made-by-us %s\n' "$data" "$made" \
    >"$data/.assay-data.tmp.$$"
  mv -T -- "$data/.assay-data.tmp.$$" "$data/.assay-data"
}

# only_ours FILE: creates a lock file that only root can open, because each user who can open a file can also lock it.
only_ours() { (umask 077 && : >>"$1") && chmod 0600 -- "$1"; }

# The set-up lock. Commands that find everything set up share it, so that none of them waits. Only a command that holds it exclusively may
# make and remove versions, and drafts of them, which have .tmp. in their names.
set_up_is_exclusive=no

lock_set_up() {
  only_ours "$data/lock"
  exec 9<>"$data/lock"
  case ${command-} in install | configure | set-up | release | test | languages) exclusively ;; *) take_set_up_lock --shared ;; esac
}

# exclusively: makes the set-up lock exclusive, before a change. In between, the lock is free for a moment, and another command may make
# the change, so the caller must check again whether the change is needed. No other command removes the versions that this command has
# found so far, because they are the most recent ones.
exclusively() {
  [ $set_up_is_exclusive = no ] || return 0
  take_set_up_lock --exclusive
  set_up_is_exclusive=yes
  echo "$$" >"$data/lock"
}

# lacks PATH: whether this command has to make PATH. If so, it then holds the set-up lock exclusively.
lacks() {
  [ ! -e "$1" ] || return
  exclusively
  [ ! -e "$1" ]
}

# take_set_up_lock HOW: takes the set-up lock. HOW is --shared or --exclusive.
take_set_up_lock() {
  # This waits a second first: the steps of a set-up that was just interrupted hold the lock until they have ended.
  if ! flock "$1" -w 1 9; then
    read -r holder <"$data/lock" || holder=unknown
    # The service's user may have opened the file before its mode was restricted to root.
    case $holder in '' | *[!0-9]*) holder=unknown ;; esac
    say "another set-up of $data is running (process $holder); waiting for it to end"
    await flock "$1" 9 || fail "could not take the lock $data/lock"
  fi
}

unlock_set_up() { exec 9<&-; }

# sweep: removes the remains of killed set-ups and instances.
sweep() {
  if [ $set_up_is_exclusive = yes ]; then sweep_drafts; fi
  sweep_instances
}

# The directories in $data in which commands make drafts.
draft_kinds='app modules launcher image layers dashboard set-up run postgres arm64 promtool uml qemu'

# has_drafts: whether sweep_drafts would find anything. A command that opens its instance also has a draft for a moment.
has_drafts() {
  set -- "$data"/tmp/* "$data"/*.tmp.*
  for kind in $draft_kinds; do set -- "$@" "$data/$kind"/*.tmp.*; done
  for draft; do
    [ -e "$draft" ] || [ -L "$draft" ] || continue
    # Node makes this directory itself, in any command. It is no draft.
    [ "$draft" = "$data/tmp/node-compile-cache" ] || return 0
  done
  return 1
}

# sweep_drafts: removes drafts. It needs the exclusive lock, so that none of them is in use.
sweep_drafts() {
  unmount_below "$data/tmp"
  unmount_below "$data/image"
  unmount_below "$data/layers"
  # One rm removes all drafts: in some virtual machines, the start of a process takes 2 ms of CPU time, because it reads the CPU's features.
  set -- "${data:?}"/tmp/* "${data:?}"/*.tmp.*
  for kind in $draft_kinds; do set -- "$@" "${data:?}/$kind"/*.tmp.*; done
  rm -rf --one-file-system -- "$@"
}

# unmount_below DIR: unmounts everything below DIR, because rm -rf must never reach a mount. Steps mount in separate namespaces, so there is
# a mount only if image/build was run manually.
unmount_below() {
  awk -v dir="$1/" 'index($5, dir) == 1 { line[n++] = $5 } END { while (n) print line[--n] }' /proc/self/mountinfo |
    while read -r mounted; do
      umount -- "$mounted" || fail "cannot unmount $mounted"
    done
}

# in_use_by_others VERSION: whether a live instance or the next start of a unit needs VERSION, such as app/HASH.
in_use_by_others() { grep -qsxF "$data/$1" "$data"/run/*/uses "$data/current/uses"; }

# keep_recent KIND: removes old versions, because every change of the checkout makes a new one. The three most recently used versions
# stay, and those that a live instance or the next start of a unit needs.
keep_recent() {
  set -- "$1" "$data/$1"/*
  [ $# -gt 4 ] || return 0
  # The names are hashes, which ls prints unchanged.
  # shellcheck disable=SC2010
  ls -1t -- "$data/$1" | grep -E '^[0-9a-f]{16}$' | tail -n +4 | while read -r old; do
    in_use_by_others "$1/$old" || rm -rf --one-file-system -- "${data:?}/$1/$old"
  done
}

# keep_recent_versions: removes old versions of each kind. It does nothing without the exclusive lock: in this case, this command has made
# no version, and another command may be about to use an old one.
keep_recent_versions() {
  [ $set_up_is_exclusive = yes ] || return 0
  for kind in app modules launcher image dashboard; do keep_recent "$kind"; done
  keep_layers
}

# keep_layers: removes images with packs that were removed, and then the layers that no image uses. The file `layers` of an image names
# its layers.
keep_layers() {
  [ -d "$data/layers" ] || return 0
  for named in "$data"/image/*/layers; do
    [ -f "$named" ] || continue
    made=${named%/layers}
    has_layers "$named" || in_use_by_others "image/${made##*/}" || rm -rf --one-file-system -- "${made:?}"
  done
  for layer in "$data"/layers/*; do
    grep -qsxF "${layer##*/}" "$data"/image/*/layers || rm -rf --one-file-system -- "${layer:?}"
  done
}

has_layers() { while read -r layer; do [ -d "$data/layers/$layer" ] || return; done <"$1"; }
