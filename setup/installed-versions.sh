# Units need stable names for the files of the last set-up. The directory DATA/current has them:
#
#   app, node, launcher, image, dashboard
#                                links to versions that fit each other; launcher and image only where programs run, dashboard
#                                only for a service
#   environment                  the chosen options, for the units
#   uses                         the versions that must not be removed while DATA/current names them
#
# DATA/current is a link, which is replaced atomically, so that a start finds either all old versions or all new ones.

# choose_role ARGUMENTS...: [worker | --no-worker]
choose_role() {
  role=serve own_worker=yes
  for argument; do
    case $argument in
    worker) role=worker ;;
    --no-worker) own_worker=no ;;
    *) misuse "$command accepts only 'worker' and --no-worker, not '$argument'; the rest are settings (ASSAY_…)" ;;
    esac
  done
  case $role-$own_worker in
  worker-no) misuse "'worker' and --no-worker exclude each other" ;;
  serve-yes) ;;
  *)
    [ -n "${ASSAY_DATABASE-}" ] ||
      fail "that needs ASSAY_DATABASE=postgres://…: SQLite belongs to one process, which serves and runs everything"
    ;;
  esac
}

# last_role: prints the arguments with which choose_role chooses the role of the last set-up.
last_role() {
  [ -e "$data/current" ] || return 0
  if [ ! -e "$data/current/dashboard" ]; then
    echo worker
  elif [ ! -e "$data/current/launcher" ]; then
    echo --no-worker
  fi
}

# set_up_role: prepares everything except the start.
set_up_role() {
  if [ "$role" = worker ]; then prepare_sandbox; else prepare_service; fi
  [ "$role" = worker ] || make_certificate
  only_ours "$data/serve.lock" # a unit may write to it, but cannot create it
  [ "$own_worker" = no ] || mkdir -p -m 0700 -- "$data/sandbox-disks" # as well
  keep_recent_versions
  make_current
}

make_current() {
  serve_options='' started=/ready
  [ "$own_worker" = yes ] || serve_options=--no-worker started=/live
  made=set-up/$({ in_use && echo "$node $started $ASSAY_LANGUAGES"; } | hash_of_stdin)
  if [ ! -d "$data/$made" ]; then
    new=$data/$made.tmp.$$
    mkdir -p "$new"
    in_use >"$new/uses"
    printf 'SERVE_OPTIONS=%s\nSTARTED=%s\n' "$serve_options" "$started" >"$new/environment"
    [ "$ASSAY_LANGUAGES" = none ] || printf 'ASSAY_LANGUAGES=%s\n' "$ASSAY_LANGUAGES" >>"$new/environment"
    ln -s "$app" "$new/app"
    ln -s "$node" "$new/node"
    if [ "$own_worker" = yes ]; then
      ln -s "${launcher%/*}" "$new/launcher"
      ln -s "$image" "$new/image"
    fi
    [ "$role" = worker ] || ln -s "$dashboard" "$new/dashboard"
    place "$new" "$data/$made"
  fi
  ln -sfn "$made" "$data/current.tmp.$$"
  mv -T -- "$data/current.tmp.$$" "$data/current"
  find "$data/set-up" -mindepth 1 -maxdepth 1 ! -name "${made#set-up/}" -exec rm -rf --one-file-system {} +
}
