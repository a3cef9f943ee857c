# The removal of an installation: by `assay uninstall`, and by the purge of the Debian package (deploy/debian/postrm), in which this file is
# included because the package has no other files left by then.

# hold_for_removal: rejects a removal while a command uses the data directory, and lets no command start until this one has ended.
hold_for_removal() {
  exec 9<>"$data/lock"
  flock -n 9 || fail "a set-up of $data is running; wait for it to end"
  set_up_is_exclusive=yes
  for lock in "$data"/run/*/lock; do
    [ -e "$lock" ] || continue
    (exec 7>>"$lock" && flock -n 7) || fail "${lock%/lock} is still running; stop it first"
  done
}

# find_made: sets $user_made, $packages and $units to what set-up has made.
find_made() {
  user_made=no
  if grep -qs "made the system user $service_user" "$data/changes.log" && getent passwd "$service_user" >/dev/null; then
    user_made=yes
  fi
  packages=$(sed -n 's/.*  installed Debian packages: //p' "$data/changes.log" 2>/dev/null | tr '\n' ' ')
  units=
  if units_are_ours; then units=$(installed_units); fi
}

remove_settings() {
  [ -e "$settings_file" ] || return 0
  rm -f -- "$settings_file"
  changed "removed $settings_file"
  rmdir --ignore-fail-on-non-empty -- "${settings_file%/*}"
}

# remove_made: removes what find_made has found, except for Debian packages, and the data directory.
remove_made() {
  if [ -n "$units" ]; then
    # shellcheck disable=SC2086 # names of ours
    remove_units $units
    remove_settings
    # Processes of the service's user can be left, so the time is bounded.
    timeout 5 rm -rf --one-file-system -- "$units_egress" || fail "cannot remove $units_egress: end the processes of the user $service_user, then repeat the removal"
  fi
  sweep
  # The user is removed before the data. While a process of that user runs, userdel fails; the data is then still there, and the removal can
  # be repeated.
  if [ "$user_made" = yes ]; then
    userdel "$service_user" || fail "cannot remove the user $service_user: end its processes, then repeat the removal"
  elif getent passwd "$service_user" >/dev/null; then
    # The user stays, so its processes may continue. From now on, they can create files only in subdirectories that they have open. Such
    # files could make rm take forever, so its time is bounded.
    find "$data" -xdev -mindepth 1 -maxdepth 1 -type d -user "$service_user" -exec chown 0:0 {} + -exec chmod 0700 {} +
  fi
  directory_made=no
  ! grep -qs '^directory-made-by-us yes' "$data/.assay-data" || directory_made=yes
  # The marker is removed last: after an interrupt, the next removal still recognises the directory.
  timeout --foreground 600 find "$data" -xdev -mindepth 1 -maxdepth 1 ! -name .assay-data \
    -exec rm -rf --one-file-system {} + ||
    fail "cannot remove all of $data: end the processes of the user $service_user, then repeat the removal"
  rm -f -- "$data/.assay-data"
  [ $directory_made = no ] || rmdir -- "$data" || fail "$data is not empty; remove the rest manually"
  if uid_locks_are_ours; then
    sweep_uid_locks
    rmdir -- "$uid_locks" 2>/dev/null || true # instances of other data directories may still run
  fi
}
