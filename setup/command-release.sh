# assay release [--output DIR]: makes in DIR, with a file .sha256 for each:
#
#   assay-VERSION-linux-MACHINE.tar.gz       the release (see setup/release.sh)
#   assay_VERSION_ARCHITECTURE.deb           it as a Debian package (deploy/debian/pack)
#   assay-VERSION-linux-MACHINE.oci.tar      it as the image of a container (deploy/container/pack)
#   assay-client-…, assay_client-…           the packages of the clients (client/pack)
#
# The same checkout and image give identical bytes; the image of a container also has the current packages of Debian.

. "$checkout/setup/foreground.sh"

output=$(option output . "$@")
case $#-${1-} in 0- | 1---output=* | 2---output) ;; *) misuse "release accepts only --output DIR" ;; esac
[ -d "$output" ] || misuse "--output: there is no directory '$output'"
! is_release || fail "this is a release already"

exec 3</dev/null
prepare_sandbox
build_dashboard
prepared release
trap 'close_instance' EXIT

name=assay-$(version)-linux-$(uname -m)
made=$instance_dir/$name
mkdir "$made"
cp -a -- "$app/." "$made"
rm -- "$made/node_modules"
mkdir "$made/release"
uname -m >"$made/release/machine"
(cd "$app" && clean_env exec '' "$node" setup/release.ts "$modules" "$image" "$dashboard" "$made/release/sbom.json") >"$instance_dir/paths" ||
  fail "cannot list the contents of the release"
say "packing; $(du -smc "$image" "$modules" | tail -n 1 | cut -f1) MB take some minutes"
# All users may read these files, because the service's user must be able to read its programs.
compressed --mtime=@0 --mode=u=rwX,go=rX -C "$modules" --files-from="$instance_dir/paths" -cf "$made/release/modules.tar.gz"
# Only root may run the launcher: launcher/prepare.c has the reason.
compressed --mtime=@0 --mode=u=rwX,go= -C "${launcher%/*}" -cf "$made/release/launcher.tar.gz" .
compressed --mtime=@0 --mode=u=rwX,go=rX -C "$dashboard" -cf "$made/release/dashboard.tar.gz" .
# The image keeps its modification times, by which Python and Java check that their compiled files are up to date. Interpreters
# are frozen by the set-up of each machine.
compressed -C "$image" --exclude=rootfs/opt/assay/frozen -cf "$made/release/image.tar.gz" rootfs manager versions.json
packages=$instance_dir/packages
mkdir "$packages"
compressed --mtime=@0 --mode=u=rwX,go=rX -C "$instance_dir" -cf "$packages/$name.tar.gz" "$name"
# Other commands remove what is in the directory for temporary files of set-up. mmdebstrap works as another user.
chmod 0711 "$instance_dir"
(clean_env contained '' TMPDIR="$instance_dir" "$made/deploy/debian/pack" "$packages") || fail "cannot make the Debian package"
(clean_env contained "$proxy_names ASSAY_DEBIAN_MIRROR ASSAY_DEBIAN_SECURITY_MIRROR" TMPDIR="$instance_dir" "$made/deploy/container/pack" "$packages") ||
  fail "cannot make the image of a container"
(clean_env contained '' TMPDIR="$instance_dir" PATH="$(dirname "$node"):$PATH" "$app/client/pack" "$packages") >/dev/null || fail "cannot pack the clients"
for package in "$packages"/*; do
  package=${package##*/}
  mv -- "$packages/$package" "$output/$package.tmp.$$"
  (cd "$output" && mv -T -- "$package.tmp.$$" "$package" && sha256sum "$package" >"$package.sha256")
  say "made $output/$package ($(du -m "$output/$package" | cut -f1) MB)"
done
