# A release: the checkout, together with what set-up would otherwise fetch or build, which is in release/ (command-release.sh makes it).
# Only the frozen interpreters and language packs are made on each machine. A machine that sets itself up from a release needs no npm
# registry and no compiler for the eight languages, and a Debian mirror only for packages-release.
#
#   machine       the processor that the release is for
#   launcher.tar.gz  modules.tar.gz  image.tar.gz  dashboard.tar.gz
#                 as in the data directory; without modules for development and tests
#   sbom.json     the contents of the release (CycloneDX)
#   package       only in a Debian package: marks it
#
# The Debian package and the archive of the container image are made from a release alone, by any user
# (deploy/debian/pack, deploy/container/pack).

is_release() { [ -d "$checkout/release" ]; }

# is_packaged: whether the checkout belongs to a Debian package, which also has the files of the units.
is_packaged() { [ -f "$checkout/release/package" ]; }

# version: prints the version of the checkout.
version() { cat "$checkout/setup/version"; }

# for_this_machine: rejects a release for another processor, before any change.
for_this_machine() {
  ! is_release || [ "$(cat "$checkout/release/machine")" = "$(uname -m)" ] ||
    fail "this release is for $(cat "$checkout/release/machine"), and this machine is $(uname -m)"
}

# from_release NAME DIR: unpacks a part of the release into DIR, which is a draft, so that an interrupt leaves nothing that looks complete. After
# a power cut neither: the files are on the disk before the draft is renamed. They are owned by root, regardless of the user that
# unpacked the release, and have the stored modes.
from_release() {
  tar -C "$2" --same-permissions --numeric-owner -xf "$checkout/release/$1.tar.gz" || fail "cannot unpack $checkout/release/$1.tar.gz"
  sync -f -- "$2"
}

# packed OPTION...: runs tar so that order and owners of the files do not depend on the machine. Their times of modification stay, unless
# an option changes them. The variables would add options to tar and gzip.
packed() { (unset TAR_OPTIONS GZIP && exec tar --sort=name --format=gnu --owner=0 --group=0 --numeric-owner "$@"); }

# compressed OPTION...: like packed, with an archive that gzip compresses. Its header has neither a name nor a time.
compressed() { packed --use-compress-program='gzip -n' "$@"; }
