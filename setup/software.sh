# The software. Everything is named by a hash of its sources, built next to its destination and then renamed: a second
# start has nothing to do, an interrupt leaves nothing incomplete, and a running service keeps its files while a newer
# checkout is set up.

# source_of DIR: prints the files of DIR as a tar stream that depends only on their names, contents and execute bits.
source_of() {
  set -- "$1" --exclude=./.git --exclude=./release --exclude='./assay-*-linux-*.tar*' --exclude='./assay_*.deb*' --exclude='./assay[-_]client-*' \
    --exclude=node_modules --exclude=__pycache__ --exclude='*.tmp.*'
  is_release || set -- "$@" --exclude=./bin
  case $data in "$checkout"/*) set -- "$@" --exclude="./${data#"$checkout"/}" ;; esac
  tree=$1
  shift
  tar -C "$tree" "$@" --sort=name --format=gnu --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -cf - .
}

hash_of_stdin() { sha256sum | cut -c1-16; }

# place BUILT DIR: renames a complete draft to its final name. It is the last action of every step.
place() {
  rm -rf --one-file-system -- "${2:?}"
  mv -T -- "$1" "$2"
}

# install_app: copies the checkout, because the service's user cannot read a checkout below /root, and must not run files that change.
install_app() {
  clock
  app_start=$now
  app=$data/app/$(source_of "$checkout" | hash_of_stdin)
  if lacks "$app"; then
    mkdir "$app.tmp.$$"
    source_of "$checkout" | tar -C "$app.tmp.$$" -xf - || fail "cannot copy the checkout to $app"
    ln -s "../../modules/$(modules_hash)/node_modules" "$app.tmp.$$/node_modules"
    # A release contains the program.
    is_release || step supervisor "compiling" clean_env contained '' "$app.tmp.$$/launcher/build" --supervisor "$app.tmp.$$/bin"
    ! is_release || sync -f -- "$app.tmp.$$" # a package must survive a power cut after its installation
    place "$app.tmp.$$" "$app"
    say "app: copied in $(since "$app_start")"
  fi
  touch "$app"
  supervisor=$app/bin/assay-supervisor
}

# build_dashboard: builds the files for browsers. Their hash includes that of the modules, because they depend on these.
build_dashboard() {
  built=$({
    modules_hash
    source_of "$app/dashboard"
    source_of "$app/src/http/dashboard/api"
    source_of "$app/src/domain"
  } | hash_of_stdin)
  dashboard=$data/dashboard/$built
  if lacks "$dashboard"; then
    made=$dashboard.tmp.$$
    mkdir "$made"
    if is_release; then from_release dashboard "$made"; else step dashboard "building" vite_build "$made"; fi
    [ -f "$made/index.html" ] || fail "the dashboard was built without its page"
    chmod -R u=rwX,go=rX -- "$made" # for the service's user
    place "$made" "$dashboard"
  fi
  touch "$dashboard"
}

# By default, Vite's configuration loader writes next to the modules, which many versions of the app share.
vite_build() {
  cd "$app" || return
  clean_env contained 'HOME' "$node" node_modules/.bin/vite build dashboard --configLoader native --outDir "$1" --emptyOutDir
}

# Each of these packages has hundreds of files. Set-up bundles them into one file, because loading all of them took a third of the CPU time
# of a command.
packed_modules='kysely/dist/index.js zod/index.js'

# modules_hash: prints the name of the version of the modules. A release has another version, without modules for development and tests.
modules_hash() {
  {
    (cd "$checkout" && sha256sum package.json package-lock.json) && uname -m && echo "packed: $packed_modules"
    ! is_release || echo release
  } | hash_of_stdin
}

install_modules() {
  modules=$data/modules/$(modules_hash)
  if lacks "$modules"; then
    made=$modules.tmp.$$
    mkdir "$made"
    cp -- "$checkout/package.json" "$checkout/package-lock.json" "$made"
    if is_release; then from_release modules "$made"; else step modules "npm ci" npm_ci "$made"; fi
    ls "$made"/node_modules/node-linux-*/bin/node >/dev/null 2>&1 ||
      fail "npm installed no Node for this processor ($(uname -m)); assay runs on x86_64 and aarch64"
    place "$made" "$modules"
    rm -rf -- "${data:?}/tmp/npm" "${data:?}/tmp/node"
  fi
  touch "$modules"
  # npm omits the package for the other processor, so only one matches.
  node=$(echo "$modules"/node_modules/node-linux-*/bin/node)
}

# npm omits optional packages for which its Node is too old, and some of ours need a newer Node than Debian has. In this case, npm runs
# twice: first it installs a new Node, with the packages that need no newer one; then, run by the new Node, it installs all packages.
npm_ci() {
  cd "$1" || return
  npm_node=node
  if [ "$(node -p 'process.versions.node.split(".")[0]')" -lt 24 ]; then
    (npm_with node ci --omit=dev) || return
    mv node_modules/node-linux-*/bin/node "$data/tmp/node" || return
    npm_node=$data/tmp/node
  fi
  (npm_with "$npm_node" ci --include=dev) || return
  for module in $packed_modules; do
    (clean_env contained '' node_modules/node-linux-*/bin/node node_modules/rolldown/bin/cli.mjs "node_modules/$module" \
      --format esm --platform node --file packed.js) && mv packed.js "node_modules/$module" || return
  done
}

# npm_with NODE ARGUMENTS...: runs npm by the program NODE.
npm_with() {
  with=$1
  shift
  # npm trusts its own list of authorities; the machine's list also has those that its operator added.
  : "${NODE_EXTRA_CA_CERTS:=/etc/ssl/certs/ca-certificates.crt}"
  # Debian's npm needs NODE_PATH to find its modules; Debian's Node has it by default.
  clean_env contained "$proxy_names NODE_EXTRA_CA_CERTS HOME" NODE_PATH=/usr/share/nodejs \
    "$with" "$(readlink -f "$(command -v npm)")" "$@" --ignore-scripts --include=optional --no-audit --no-fund \
    --no-update-notifier --engine-strict=false --loglevel=error --cache="$data/tmp/npm"
}

# build_launcher [--sanitize | --faults]: sets $launcher, $launcher_asan or $launcher_faults. Next to each program is
# PROGRAM.delegated, which starts it (see delegated-launcher).
build_launcher() {
  case ${1-} in
  --sanitize) program=assay-launcher.asan ;;
  --faults) program=assay-launcher.faults ;;
  *) program=assay-launcher ;;
  esac
  built=$({
    if is_release; then echo release; else gcc -dumpfullversion -dumpmachine; fi
    echo "$@"
    source_of "$app/launcher"
    cat "$app/setup/delegated-launcher"
  } | hash_of_stdin)
  built=$data/launcher/$built
  if lacks "$built"; then
    mkdir "$built.tmp.$$"
    if is_release; then from_release launcher "$built.tmp.$$"; else compile_launcher "$@"; fi
    place "$built.tmp.$$" "$built"
  fi
  touch "$built"
  case ${1-} in
  --sanitize) launcher_asan=$built/$program ;;
  --faults) launcher_faults=$built/$program ;;
  *) launcher=$built/$program ;;
  esac
}

compile_launcher() {
  step "$program" "compiling" clean_env contained '' "$app/launcher/build" "$@" "$built.tmp.$$"
  cp -- "$app/setup/delegated-launcher" "$built.tmp.$$/$program.delegated"
  [ $# -gt 0 ] || cp -- "$app/setup/delegated-launcher" "$built.tmp.$$/assay-bench.delegated"
}

build_image() {
  # Without packs, programs use the image of prebuilt software where it is. An image with packs consists of hard links, and so needs a copy
  # in the data directory.
  if software_is_prebuilt && [ "$ASSAY_LANGUAGES" = none ]; then return; fi
  image_hash=$("$app/image/build" --hash) || fail "image/build --hash failed"
  image=$data/image/$image_hash
  if lacks "$image"; then
    free_kb=$(df -Pk -- "$data" | awk 'NR == 2 { print $4 }')
    [ "$free_kb" -ge 4000000 ] || fail "the sandbox image needs 4 GB free below $data; there are $((free_kb / 1000000)) GB"
    if software_is_prebuilt; then
      say "image: copying the sandbox's root file system, for language packs"
      await cp -a -- "$image_of_software" "$image.tmp.$$" || fail "the image could not be copied; see the output above"
      sync -f -- "$image.tmp.$$"
      place "$image.tmp.$$" "$image"
    elif is_release; then
      say "image: unpacking the sandbox's root file system"
      mkdir "$image.tmp.$$"
      await from_release image "$image.tmp.$$" || fail "the image could not be unpacked; see the output above"
      place "$image.tmp.$$" "$image"
    else
      say "image: building the sandbox's root file system (a minute or two)"
      await build_image_in "$image" || fail "the image could not be built; see the output above"
      rm -rf -- "${data:?}/cache"
    fi
  fi
  freeze_interpreters
  # The service's user must not read the image: it could then drop pages of the image from the page cache, and the next box that reads such
  # a page would be charged for it.
  chmod 0700 "$data/image"
  touch "$image"
  [ "$(readlink "$data/image/current")" != "$image_hash" ] || return 0
  exclusively
  ln -sfn "$image_hash" "$data/image/current.tmp.$$"
  mv -T -- "$data/image/current.tmp.$$" "$data/image/current"
}

# If the freeze fails, submissions take longer, but work.
freeze_interpreters() {
  ! "$app/image/build" --is-frozen "$image" || return 0
  exclusively
  ! "$app/image/build" --is-frozen "$image" || return 0
  say "image: starting interpreters and keeping their state"
  (cd "$app" && clean_env exec '' "$node" image/freeze/steps.ts) >"$data/tmp/steps.$$" &&
    "$app/image/build" --freeze "$image" <"$data/tmp/steps.$$" || say "warning: interpreters start without their frozen state"
  rm -f -- "$data/tmp/steps.$$"
}

# image/build prints its own progress and creates its directory only when complete. Downloads are kept for another try.
build_image_in() {
  : "${NODE_EXTRA_CA_CERTS:=/etc/ssl/certs/ca-certificates.crt}"
  clean_env contained "$proxy_names NODE_EXTRA_CA_CERTS HOME ASSAY_DEBIAN_MIRROR ASSAY_DEBIAN_SECURITY_MIRROR" \
    "$app/image/build" "$1" --cache "$data/cache"
}
