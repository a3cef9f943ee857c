# Changes outside of the data directory: Debian packages and one system user.

service_user=assay

needed_packages() {
  set -- "$checkout/setup/packages"
  if is_release; then
    sed -e '/^#/d' -e 's/ .*//' "$checkout/setup/packages-release"
    return
  fi
  case $command in release | test) set -- "$@" "$checkout/setup/packages-clients" ;; esac
  [ "$command" != test ] || set -- "$@" "$checkout/setup/packages-test"
  case "$command ${test_mode-} ${ASSAY_TEST_LONG-}" in
  'test full '*) set -- "$@" "$checkout/setup/packages-full" "$checkout/setup/packages-long" ;;
  'test '*' yes') set -- "$@" "$checkout/setup/packages-long" ;;
  esac
  sed -e '/^#/d' -e 's/ .*//' "$@"
  command -v npm >/dev/null || echo npm
}

missing_packages() {
  needed=$(needed_packages)
  # shellcheck disable=SC2086 # a list of words
  states=$(dpkg-query -W -f='${db:Status-Status} ${Package} ' $needed 2>/dev/null) || true # it fails for unknown packages
  for package in $needed; do
    case " $states" in *" installed $package "*) ;; *) printf ' %s' "$package" ;; esac
  done
}

# known_processor: rejects a processor on which assay does not run, before any change.
known_processor() {
  case $(uname -m) in
  x86_64 | aarch64) ;;
  *) fail "assay runs on x86_64 and aarch64; this kernel reports $(uname -m), for which the launcher has no table of system calls" ;;
  esac
}

install_packages() {
  ! is_packaged || return 0 # dpkg has checked the dependencies, and holds its lock
  command -v dpkg-query >/dev/null || fail "assay sets itself up on Debian 12 and 13; this machine has no dpkg"
  ! [ -f "$data/packages-before" ] || exclusively
  record_packages
  missing=$(missing_packages)
  [ -n "$missing" ] || return 0
  exclusively
  missing=$(missing_packages)
  [ -n "$missing" ] || return 0
  installed_packages >"$data/packages-before.tmp.$$"
  mv "$data/packages-before.tmp.$$" "$data/packages-before"
  step_may_be_killed=no
  # After dpkg was killed, it rejects every command except for `dpkg --configure -a`.
  [ -z "$(ls /var/lib/dpkg/updates)" ] || step dpkg "finishing what an earlier installation left" dpkg --configure -a
  # A failing source does not matter if the other sources have the packages: the installation decides.
  try_step package-lists "reading" apt_get update || say "not all package lists could be read; see $step_log"
  # shellcheck disable=SC2086 # a list of words
  step packages "installing$missing" apt_get install -y --no-install-recommends $missing
  step_may_be_killed=yes
  record_packages
}

apt_get() {
  # The lock is not inherited: a daemon that a package starts must not keep it.
  exec 9<&-
  clean_env exec "$proxy_names" DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120 "$@"
}

installed_packages() { dpkg-query -W -f='${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p' | sort -u; }

# record_packages: records the packages that apt has installed, with their dependencies, as changes. The list of the packages before the
# installation stays on disk until then, so that the difference can be recorded even after SIGKILL.
record_packages() {
  [ -f "$data/packages-before" ] || return 0
  added=$(installed_packages | comm -13 "$data/packages-before" -)
  needed=$(printf '%s\n' "$added" | grep -xF -e "$(needed_packages; echo npm)" | tr '\n' ' ')
  along=$(printf '%s\n' "$added" | grep -vxF -e "$(needed_packages; echo npm)" | tr '\n' ' ')
  [ -z "$needed" ] || changed "installed Debian packages: ${needed% }"
  [ -z "$along" ] || changed "installed $(echo "$along" | wc -w) more packages, which these depend on" "${along% }"
  rm -f -- "$data/packages-before"
}

make_user() {
  getent passwd "$service_user" >/dev/null && return
  exclusively
  getent passwd "$service_user" >/dev/null && return
  useradd --system --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin "$service_user" ||
    fail "cannot make the user $service_user"
  changed "made the system user $service_user (no login, no home)"
}

give_to_service() {
  for private in db keys; do
    [ -d "$data/$private" ] || mkdir -p -m 0700 -- "$data/$private" # with -p, because another command may be first
    [ "$(stat -c %U:%G "$data/$private")" = "$service_user:$service_user" ] ||
      chown -R "$service_user:$service_user" "$data/$private"
  done
  # This reads the modes instead of trying the access as that user, because other processes of the user could take over such a process.
  way_states=$(stat_way -L -c '0x%f %n')
  while read -r way_mode way; do
    [ $((way_mode & 01)) -ne 0 ] ||
      fail "the user $service_user can't reach $data: $way needs execute permission for others"
  done <<WAY
$way_states
WAY
}
