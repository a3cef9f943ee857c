# promtool for `assay test`: the checker of Debian's Prometheus, unpacked (see unpack.sh). Installing the package would start a
# server.

# find_promtool: sets $promtool to the program.
find_promtool() {
  find_unpacked promtool "checker of Prometheus"
  promtool=$unpacked/promtool
}

# unpack_promtool DIR: unpacks only this program. Since Debian 13, it has a package of its own.
unpack_promtool() {
  promtool_package=prometheus
  ! apt-cache show promtool >/dev/null 2>&1 || promtool_package=promtool
  unpack "$1/all" "$alone" $promtool_package || return
  mv "$1/all/usr/bin/promtool" "$1/promtool" || return
  rm -rf "${1:?}/all"
  ls "$1/promtool"
}
