# assay uninstall [--yes]: removes the units and the data directory, and the system user if set-up created it. Debian packages stay,
# because other software may use them; this command prints the line that removes them.

. "$checkout/setup/units.sh"

yes=no
for argument; do
  case $argument in
  --yes | -y) yes=yes ;;
  *) misuse "uninstall accepts only --yes, not '$argument'" ;;
  esac
done

data_dir_is_ours || fail "$data was not made by assay (there is no $data/.assay-data); nothing removed"
exec 9<>"$data/lock"
flock -n 9 || fail "a set-up of $data is running; wait for it to end"
set_up_is_exclusive=yes
for lock in "$data"/run/*/lock; do
  [ -e "$lock" ] || continue
  (exec 7>>"$lock" && flock -n 7) || fail "${lock%/lock} is still running; stop it first"
done

user_made=no
if grep -qs "made the system user $service_user" "$data/changes.log" && getent passwd "$service_user" >/dev/null; then
  user_made=yes
fi
packages=$(sed -n 's/.*  installed Debian packages: //p' "$data/changes.log" 2>/dev/null | tr '\n' ' ')

say "this removes $data with all submissions, results and keys in it"
[ $user_made = no ] || say "and the system user $service_user"
units=
if units_are_ours; then units=$(installed_units); fi
[ -z "$units" ] || say "and stops and removes $(echo "$units" | tr '\n' ' ')with $settings_file"
if [ $yes = no ]; then
  [ -t 0 ] || fail "to remove it without confirmation: assay uninstall --yes"
  printf 'assay: remove? [y/N] ' >&2
  read -r answer || answer=
  case $answer in
  y | Y | yes) ;;
  *) fail "nothing removed" ;;
  esac
fi

if [ -n "$units" ]; then
  # shellcheck disable=SC2086 # names of ours
  remove_units $units
  rm -f -- "$settings_file"
  rmdir --ignore-fail-on-non-empty -- "${settings_file%/*}"
  changed "removed $settings_file"
fi
sweep
# The user is removed before the data. While a process of that user runs, userdel fails; the data is then still there, and uninstall can be
# repeated.
if [ $user_made = yes ]; then
  userdel "$service_user" || fail "cannot remove the user $service_user: end its processes, then repeat 'assay uninstall'"
elif getent passwd "$service_user" >/dev/null; then
  # The user stays, so its processes may continue. From now on, they can create files only in subdirectories that they have open. Such
  # files could make rm take forever, so its time is bounded.
  find "$data" -xdev -mindepth 1 -maxdepth 1 -type d -user "$service_user" -exec chown 0:0 {} + -exec chmod 0700 {} +
fi
directory_made=no
! grep -qs '^directory-made-by-us yes' "$data/.assay-data" || directory_made=yes
# The marker is removed last: after an interrupt, the next uninstall still recognises the directory.
timeout --foreground 600 find "$data" -xdev -mindepth 1 -maxdepth 1 ! -name .assay-data \
  -exec rm -rf --one-file-system {} + ||
  fail "cannot remove all of $data: end the processes of the user $service_user, then repeat 'assay uninstall'"
rm -f -- "$data/.assay-data"
[ $directory_made = no ] || rmdir -- "$data" || fail "$data is not empty; remove the rest manually"
if uid_locks_are_ours; then
  sweep_uid_locks
  rmdir -- "$uid_locks" 2>/dev/null || true # instances of other data directories may still run
fi
say "removed"
if [ -n "$packages" ]; then
  say "Debian packages that were installed for assay stay; to remove them and their dependencies:"
  printf '    apt-get autoremove %s\n' "${packages% }" >&2
fi
