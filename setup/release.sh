# A release: the checkout with all that set-up would else fetch or build, in its directory release/ (command-release.sh makes it).
# A machine that starts from one needs no npm registry, no compiler and no Debian mirror but for packages-release.
#
#   machine       what it was made for
#   launcher.tar  modules.tar  image.tar  dashboard.tar
#                 as they lie in the data directory; modules are those that run, not those of tests
#   sbom.json     what is in it (CycloneDX)

is_release() { [ -d "$checkout/release" ]; }

# for_this_machine: before anything is changed.
for_this_machine() {
  ! is_release || [ "$(cat "$checkout/release/machine")" = "$(uname -m)" ] ||
    fail "this release is for $(cat "$checkout/release/machine"), and this machine is $(uname -m)"
}

# from_release WHAT DIR: as root's, whoever unpacked the release; what a box's user must read is readable.
from_release() {
  tar -C "$2" --same-permissions --numeric-owner -xf "$checkout/release/$1.tar" || fail "cannot unpack $checkout/release/$1.tar"
}

# packed OPTION...: a tar stream that depends on names, contents and modes alone.
packed() { tar --sort=name --format=gnu --owner=0 --group=0 --numeric-owner "$@"; }
