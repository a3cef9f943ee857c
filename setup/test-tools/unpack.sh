# What only tests need of Debian: packages, unpacked into the data directory and never installed. Installing a server or a
# kernel would make users, start services and fill /etc and /boot; the tests only need the files.

# find_unpacked NAME ABOUT: sets $unpacked to the directory that unpack_NAME has filled, a function in NAME.sh. Calls this function if the
# directory is missing.
find_unpacked() {
  unpacked=$data/$1/$({ cat "$checkout/setup/test-tools/unpack.sh" "$checkout/setup/test-tools/$1.sh" /etc/os-release && uname -m; } | hash_of_stdin)
  if [ ! -d "$unpacked" ]; then
    mkdir -p "$data/$1"
    try_step package-lists "reading" apt_get update || say "not all package lists could be read; see $step_log"
    step "$1" "unpacking Debian's $2 for the tests" "unpack_$1" "$unpacked.tmp.$$"
    place "$unpacked.tmp.$$" "$unpacked"
  fi
  touch "$unpacked"
}

# What apt-get does to fetch packages: alone, or together with those of their dependencies that the machine lacks.
alone='download'
completed='install -y --no-install-recommends --download-only'

# unpack DIR HOW PACKAGE...: fetches the packages as HOW says, which is $alone or $completed, and unpacks them into DIR.
unpack() {
  archives=$1/archives unpack_how=$2
  into=$1
  shift 2
  mkdir -p "$archives/partial"
  # shellcheck disable=SC2086 # a list of words
  (cd "$archives" && apt_get $unpack_how -o "Dir::Cache::archives=$archives" -o APT::Sandbox::User=root "$@") || return
  for archive in "$archives"/*.deb; do dpkg-deb -x "$archive" "$into" || return; done
  rm -rf "${archives:?}"
}

# needed_by PACKAGE PATTERN: prints the dependency of PACKAGE whose whole name fits PATTERN, a regular expression of sed.
needed_by() {
  apt-cache depends "$1" | sed -n "s/^ *Depends: \($2\)\$/\1/p" | grep . || { echo "no package list has $1" >&2 && return 1; }
}
