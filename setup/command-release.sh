# assay release [--output DIR]: DIR/assay-VERSION-linux-MACHINE.tar.gz and its checksum: what setup/release.sh describes. From the
# same checkout and the same image it is the same, byte for byte.

. "$checkout/setup/foreground.sh"

output=$(option output . "$@")
case $#-${1-} in 0- | 1---output=* | 2---output) ;; *) misuse "release knows only --output DIR" ;; esac
[ -d "$output" ] || misuse "--output: there is no directory '$output'"
! is_release || fail "this is a release already"

exec 3</dev/null
prepare_engine
build_dashboard
prepared release
trap 'close_instance' EXIT

name=assay-$(sed -n 's/^  "version": "\(.*\)",*$/\1/p' "$checkout/package.json")-linux-$(uname -m)
made=$instance_dir/$name
mkdir "$made"
cp -a -- "$app/." "$made"
rm -- "$made/node_modules"
mkdir "$made/release"
uname -m >"$made/release/machine"
(cd "$app" && clean_env exec '' "$node" setup/release.ts "$modules" "$image" "$dashboard" "$made/release/sbom.json") >"$instance_dir/paths" ||
  fail "cannot tell what is in the release"
# The service's user has to read what runs.
packed --mtime=@0 --mode=u=rwX,go=rX -C "$modules" --files-from="$instance_dir/paths" -cf "$made/release/modules.tar"
# Root alone: launcher/prepare.c says why.
packed --mtime=@0 --mode=u=rwX,go= -C "${launcher%/*}" -cf "$made/release/launcher.tar" .
packed --mtime=@0 --mode=u=rwX,go=rX -C "$dashboard" -cf "$made/release/dashboard.tar" .
# With its times: Python and Java know by them that what they had compiled is still good.
packed -C "$image" -cf "$made/release/image.tar" rootfs versions.json
say "packing; $(du -sm "$made" | cut -f1) MB take a minute or two"
packed --mtime=@0 --mode=u=rwX,go=rX -C "$instance_dir" -cf - "$name" | gzip -n >"$output/$name.tar.gz.tmp.$$"
mv -T -- "$output/$name.tar.gz.tmp.$$" "$output/$name.tar.gz"
(cd "$output" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
say "made $output/$name.tar.gz ($(du -m "$output/$name.tar.gz" | cut -f1) MB)"
