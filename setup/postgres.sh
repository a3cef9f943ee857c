# PostgreSQL for the tests: Debian's server, unpacked into the data directory and never installed. Installing it would make
# a user, start a server and fill /etc; the tests only need its programs, which they run themselves.

# find_postgres: sets $postgres to the directory below which usr/lib/postgresql is: / when the machine has a server.
find_postgres() {
  postgres=/
  ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || return 0
  postgres=$data/postgres/$({ cat "$checkout/setup/postgres.sh" /etc/os-release && uname -m; } | hash_of_stdin)
  if [ ! -d "$postgres" ]; then
    mkdir -p "$data/postgres"
    try_step package-lists "reading" apt_get update || say "not all package lists could be read; see $step_log"
    step postgres "unpacking Debian's PostgreSQL for the tests" unpack_postgres "$postgres.tmp.$$"
    place "$postgres.tmp.$$" "$postgres"
  fi
  touch "$postgres"
}

# unpack_postgres DIR: the server and the libraries that the machine lacks.
unpack_postgres() {
  server=$(apt-cache depends postgresql | sed -n 's/^ *Depends: \(postgresql-[0-9]*\)$/\1/p')
  [ -n "$server" ] || { echo "no package list has postgresql" && return 1; }
  mkdir -p "$1/archives/partial"
  (apt_get install -y --no-install-recommends --download-only -o "Dir::Cache::archives=$1/archives" \
    -o APT::Sandbox::User=root "$server") || return
  for archive in "$1"/archives/*.deb; do dpkg-deb -x "$archive" "$1" || return; done
  rm -rf "${1:?}/archives"
  ls "$1"/usr/lib/postgresql/*/bin/initdb
}
