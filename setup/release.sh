# A release: the checkout, together with what set-up would otherwise fetch or build, which is in release/ (command-release.sh makes it).
# Only the frozen interpreters and language packs are made on each machine. A machine that sets itself up from a release needs no npm
# registry and no compiler for the eight languages, and a Debian mirror only for packages-release.
#
#   machine       the processor that the release is for
#   launcher.tar  modules.tar  image.tar  dashboard.tar
#                 as in the data directory; without modules for development and tests
#   sbom.json     the contents of the release (CycloneDX)

is_release() { [ -d "$checkout/release" ]; }

# for_this_machine: rejects a release for another processor, before any change.
for_this_machine() {
  ! is_release || [ "$(cat "$checkout/release/machine")" = "$(uname -m)" ] ||
    fail "this release is for $(cat "$checkout/release/machine"), and this machine is $(uname -m)"
}

# from_release NAME DIR: unpacks a part of the release into DIR. The files are owned by root, regardless of the user that unpacked the
# release, and have the stored modes.
from_release() {
  tar -C "$2" --same-permissions --numeric-owner -xf "$checkout/release/$1.tar" || fail "cannot unpack $checkout/release/$1.tar"
}

# packed OPTION...: runs tar so that order and owners of the files do not depend on the machine. Their times of modification stay, unless
# an option changes them.
packed() { tar --sort=name --format=gnu --owner=0 --group=0 --numeric-owner "$@"; }
