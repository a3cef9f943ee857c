# PostgreSQL for the tests: Debian's server, unpacked (see unpack.sh). The tests run its programs themselves.

# find_postgres: sets $postgres to the directory that contains usr/lib/postgresql: / if the machine has a server, otherwise the unpacked one.
find_postgres() {
  postgres=/
  ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || return 0
  find_unpacked postgres PostgreSQL
  postgres=$unpacked
}

# unpack_postgres DIR: unpacks the server, and the libraries that the machine lacks.
unpack_postgres() {
  server=$(needed_by postgresql 'postgresql-[0-9]*') || return
  unpack "$1" "$completed" "$server" || return
  ls "$1"/usr/lib/postgresql/*/bin/initdb
}
