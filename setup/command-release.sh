# assay release [--output DIR]: makes DIR/assay-VERSION-linux-MACHINE.tar.gz (see setup/release.sh), the packages of the clients
# (client/pack), and their checksums. The same checkout and image give identical bytes.

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

name=assay-$(cat "$checkout/setup/version")-linux-$(uname -m)
made=$instance_dir/$name
mkdir "$made"
cp -a -- "$app/." "$made"
rm -- "$made/node_modules"
mkdir "$made/release"
uname -m >"$made/release/machine"
(cd "$app" && clean_env exec '' "$node" setup/release.ts "$modules" "$image" "$dashboard" "$made/release/sbom.json") >"$instance_dir/paths" ||
  fail "cannot list the contents of the release"
# All users may read these files, because the service's user must be able to read its programs.
packed --mtime=@0 --mode=u=rwX,go=rX -C "$modules" --files-from="$instance_dir/paths" -cf "$made/release/modules.tar"
# Only root may run the launcher: launcher/prepare.c has the reason.
packed --mtime=@0 --mode=u=rwX,go= -C "${launcher%/*}" -cf "$made/release/launcher.tar" .
packed --mtime=@0 --mode=u=rwX,go=rX -C "$dashboard" -cf "$made/release/dashboard.tar" .
# The image keeps its modification times, by which Python and Java check that their compiled files are up to date. Interpreters
# are frozen by the set-up of each machine.
packed -C "$image" --exclude=rootfs/opt/assay/frozen -cf "$made/release/image.tar" rootfs manager versions.json
say "packing; $(du -sm "$made" | cut -f1) MB take a minute or two"
packed --mtime=@0 --mode=u=rwX,go=rX -C "$instance_dir" -cf - "$name" | gzip -n >"$output/$name.tar.gz.tmp.$$"
mkdir "$instance_dir/clients"
(clean_env contained '' PATH="$(dirname "$node"):$PATH" "$app/client/pack" "$instance_dir/clients") >/dev/null || fail "cannot pack the clients"
released() { (cd "$output" && mv -T -- "$1.tmp.$$" "$1" && sha256sum "$1" >"$1.sha256"); }
released "$name.tar.gz"
for client in "$instance_dir/clients"/*; do
  cp -- "$client" "$output/${client##*/}.tmp.$$"
  released "${client##*/}"
  say "made $output/${client##*/}"
done
say "made $output/$name.tar.gz ($(du -m "$output/$name.tar.gz" | cut -f1) MB)"
