# Language packs: languages in addition to the eight, each with a layer of files for the image (image/layer).
#
#   $data/languages        the names of the chosen packs, separated by commas
#   $data/layers/HASH      the files that one or more packs add to an image
#   $data/image/HASH       an image with packs: hard links to the files of the image without packs, and of the layers

# packs_ts ARGUMENTS...: runs setup/packs.ts.
packs_ts() { (cd "$app" && clean_env exec '' "$node" setup/packs.ts "$@"); }

# choose_languages: sets ASSAY_LANGUAGES for Node to the packs in the setting, or to those that were last chosen, or to "none".
choose_languages() {
  choice=${ASSAY_LANGUAGES-}
  if [ -z "$choice" ]; then
    ASSAY_LANGUAGES=$(cat "$data/languages" 2>/dev/null) || ASSAY_LANGUAGES=
  else
    ASSAY_LANGUAGES=$(packs_ts names "$choice") || exit 1
  fi
  : "${ASSAY_LANGUAGES:=none}"
  choice=$ASSAY_LANGUAGES
  unset ASSAY_LANGUAGES # a new variable is not exported
  ASSAY_LANGUAGES=$choice
  [ "$choice" = none ] || export ASSAY_LANGUAGES
}

# keep_languages: stores the chosen packs, after they were built, as the choice for later commands. Only the commands that are named here
# change that choice.
keep_languages() {
  case $command in serve | worker | install | configure | set-up | languages) ;; *) return 0 ;; esac
  [ "$(cat "$data/languages" 2>/dev/null)" != "$ASSAY_LANGUAGES" ] || return 0
  exclusively
  echo "$ASSAY_LANGUAGES" >"$data/languages.tmp.$$"
  mv -T -- "$data/languages.tmp.$$" "$data/languages"
}

# add_packs NAMES: builds the layers of these packs that are missing, and sets $image to an image with them.
add_packs() {
  [ "$1" != none ] || return 0
  mkdir -p -- "$data/layers"
  chmod 0700 -- "$data/layers" # like that of the image
  plans=$data/tmp/packs.$$
  mkdir "$plans"
  packs_ts plan "$plans" "${image##*/}" "$1" >"$plans/plan" || fail "the language packs cannot be planned"
  if [ -n "$(missing_layers)" ]; then exclusively; fi
  missing=$(missing_layers)
  if [ -n "$missing" ]; then
    free_kb=$(df -Pk -- "$data" | awk 'NR == 2 { print $4 }')
    [ "$free_kb" -ge 2000000 ] || fail "language packs need 2 GB free below $data; there are $((free_kb / 1000000)) GB"
    await for_packs "$app/image/layer" lists --cache "$data/cache" || fail "the lists of packages could not be fetched; see the output above"
    # shellcheck disable=SC2086 # names of ours
    await for_packs "$app/setup/build-layers" "$app" "$data/layers" "$image" "$data/cache" "$plans" $missing || fail "a language pack could not be built; see the output above"
    rm -rf -- "${data:?}/cache"
  fi
  if [ -s "$plans/plan" ]; then compose_image; fi
  rm -rf -- "$plans"
}

missing_layers() {
  cut -d ' ' -f 2 "$plans/plan" | sort -u | while read -r layer; do [ -d "$data/layers/$layer" ] || echo "$layer"; done
}

compose_image() {
  base=$image
  image=$data/image/$({ echo "${base##*/}" && cat "$plans/plan" "$app/image/layer"; } | hash_of_stdin)
  if lacks "$image"; then
    say "image: adding the files of language packs"
    # shellcheck disable=SC2046 # names of ours
    await for_packs "$app/image/layer" compose "$image" "$base" $(sed "s|\(.*\) \(.*\)|\1=$data/layers/\2|" "$plans/plan") ||
      fail "the language packs do not fit together; see the output above"
  elif has_other_states && exclusively && has_other_states; then
    # The interpreters of the base image were frozen again, after a boot or for other languages.
    rm -rf -- "$image/frozen.tmp" "$image/rootfs/opt/assay/frozen"
    cp -al -- "$base/rootfs/opt/assay/frozen" "$image/frozen.tmp"
    mv -T -- "$image/frozen.tmp" "$image/rootfs/opt/assay/frozen"
  fi
  if [ "$(cut -d ' ' -f 2 "$plans/plan")" != "$(cat "$image/layers" 2>/dev/null)" ]; then
    exclusively
    cut -d ' ' -f 2 "$plans/plan" >"$image/layers.tmp" # see keep_layers
    mv -T -- "$image/layers.tmp" "$image/layers"
  fi
  touch "$image"
}

has_other_states() {
  [ "$(ls -i -- "$base/rootfs/opt/assay/frozen" 2>/dev/null)" != "$(ls -i -- "$image/rootfs/opt/assay/frozen" 2>/dev/null)" ]
}

# remove_layers NAMES: removes the layers of these packs, except for layers that a chosen pack also uses.
remove_layers() {
  base=$data/image/$("$app/image/build" --hash)
  plans=$data/tmp/packs.$$
  mkdir "$plans"
  packs_ts plan "$plans" "${base##*/}" "$ASSAY_LANGUAGES" | cut -d ' ' -f 2 >"$plans/kept"
  packs_ts plan "$plans" "${base##*/}" "$1" | cut -d ' ' -f 2 | sort -u | while read -r layer; do
    grep -qxF "$layer" "$plans/kept" || rm -rf --one-file-system -- "${data:?}/layers/$layer"
  done
  rm -rf -- "$plans"
}

# for_packs COMMAND...: runs COMMAND contained (step.sh), with the variables that downloads need.
for_packs() {
  : "${NODE_EXTRA_CA_CERTS:=/etc/ssl/certs/ca-certificates.crt}"
  clean_env contained "$proxy_names NODE_EXTRA_CA_CERTS HOME ASSAY_DEBIAN_MIRROR ASSAY_DEBIAN_SECURITY_MIRROR" "$@"
}
