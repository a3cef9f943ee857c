# The software itself. Everything is named by a hash of what it is made from, made beside its place and renamed into
# it: so a second start has nothing to do, an interrupt leaves nothing half made, and a running service keeps its
# files while a newer checkout is set up.

# source_of DIR: its files as a tar stream that depends on names, contents and execute bits alone.
source_of() {
  set -- "$1" --exclude=./.git --exclude=./release --exclude='./assay-*-linux-*.tar.gz*' --exclude=node_modules \
    --exclude='*.tmp.*'
  case $data in "$checkout"/*) set -- "$@" --exclude="./${data#"$checkout"/}" ;; esac
  tree=$1
  shift
  tar -C "$tree" "$@" --sort=name --format=gnu --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -cf - .
}

hash_of_stdin() { sha256sum | cut -c1-16; }

# place BUILT DIR: the last act of every step.
place() {
  rm -rf --one-file-system -- "${2:?}"
  mv -T -- "$1" "$2"
}

# install_app: the service user can't read a checkout below /root, and must not run files that change while it runs.
install_app() {
  clock
  app_start=$now
  app=$data/app/$(source_of "$checkout" | hash_of_stdin)
  if [ ! -d "$app" ]; then
    mkdir "$app.tmp.$$"
    source_of "$checkout" | tar -C "$app.tmp.$$" -xf - || fail "cannot copy the checkout to $app"
    ln -s "../../modules/$(modules_hash)/node_modules" "$app.tmp.$$/node_modules"
    place "$app.tmp.$$" "$app"
    say "app: copied in $(since "$app_start")"
  fi
  touch "$app"
}

# build_dashboard: what browsers load, as the service hands it out. It depends on the modules, which are of the app's hash, too.
build_dashboard() {
  built=$({
    modules_hash
    source_of "$app/dashboard"
    cat "$app/src/http/dashboard/answers.ts"
  } | hash_of_stdin)
  dashboard=$data/dashboard/$built
  if [ ! -d "$dashboard" ]; then
    made=$dashboard.tmp.$$
    mkdir "$made"
    if is_release; then from_release dashboard "$made"; else step dashboard "building" vite_build "$made"; fi
    [ -f "$made/index.html" ] || fail "the dashboard was built without its page"
    chmod -R u=rwX,go=rX -- "$made" # the service's user reads it
    place "$made" "$dashboard"
  fi
  touch "$dashboard"
}

# Vite's own way to read its settings writes beside the modules, which many versions of the app share.
vite_build() {
  cd "$app" || return
  clean_env contained 'HOME' "$node" node_modules/.bin/vite build dashboard --configLoader native --outDir "$1" --emptyOutDir
}

# Those of a release are others: without what develops and tests.
modules_hash() {
  {
    (cd "$checkout" && sha256sum package.json package-lock.json) && uname -m
    ! is_release || echo release
  } | hash_of_stdin
}

install_modules() {
  modules=$data/modules/$(modules_hash)
  if [ ! -d "$modules" ]; then
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
  # npm leaves out the package of the other processor, so there is one.
  node=$(echo "$modules"/node_modules/node-linux-*/bin/node)
}

# npm leaves out optional packages for which the Node that it runs on is too old, and some of ours need a newer one than
# Debian has. There it first installs what includes Node, and then everything with that.
npm_ci() {
  cd "$1" || return
  npm_node=node
  if [ "$(node -p 'process.versions.node.split(".")[0]')" -lt 24 ]; then
    (npm_with node ci --omit=dev) || return
    mv node_modules/node-linux-*/bin/node "$data/tmp/node" || return
    npm_node=$data/tmp/node
  fi
  npm_with "$npm_node" ci --include=dev
}

# npm_with NODE ARGUMENTS...
npm_with() {
  with=$1
  shift
  # npm trusts its own list of authorities; the machine's list also has the ones that its owner added.
  : "${NODE_EXTRA_CA_CERTS:=/etc/ssl/certs/ca-certificates.crt}"
  # Debian's npm finds its parts in NODE_PATH; Debian's Node looks there by itself.
  clean_env contained "$proxy_names NODE_EXTRA_CA_CERTS HOME" NODE_PATH=/usr/share/nodejs \
    "$with" "$(readlink -f "$(command -v npm)")" "$@" --ignore-scripts --include=optional --no-audit --no-fund \
    --no-update-notifier --engine-strict=false --loglevel=error --cache="$data/tmp/npm"
}

# build_launcher [--sanitize | --faults]: sets $launcher, $launcher_asan or $launcher_faults. Beside each program stands PROGRAM.delegated, which is what
# starts it (see delegated-launcher).
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
  if [ ! -d "$built" ]; then
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
  image_hash=$("$app/image/build" --hash) || fail "image/build --hash failed"
  image=$data/image/$image_hash
  if [ ! -d "$image" ]; then
    free_kb=$(df -Pk -- "$data" | awk 'NR == 2 { print $4 }')
    [ "$free_kb" -ge 4000000 ] || fail "the sandbox image needs 4 GB free below $data; there are $((free_kb / 1000000)) GB"
    if is_release; then
      say "image: unpacking the sandbox's root file system"
      mkdir "$image.tmp.$$"
      await from_release image "$image.tmp.$$" || fail "the image could not be unpacked; its words stand above"
      place "$image.tmp.$$" "$image"
    else
      say "image: building the sandbox's root file system (a minute or two)"
      await build_image_in "$image" || fail "the image could not be built; its words stand above"
      rm -rf -- "${data:?}/cache"
    fi
  fi
  # The service's user must not read it: it could drop pages from the cache, so that the next box is charged for them.
  chmod 0700 "$data/image"
  touch "$image"
  ln -sfn "$image_hash" "$data/image/current.tmp.$$"
  mv -T -- "$data/image/current.tmp.$$" "$data/image/current"
}

# It tells its progress itself, and makes its directory only when that is complete. What it downloaded is kept for a
# second try.
build_image_in() {
  : "${NODE_EXTRA_CA_CERTS:=/etc/ssl/certs/ca-certificates.crt}"
  clean_env contained "$proxy_names NODE_EXTRA_CA_CERTS HOME ASSAY_DEBIAN_MIRROR ASSAY_DEBIAN_SECURITY_MIRROR" \
    "$app/image/build" "$1" --cache "$data/cache"
}
