# Messages for the operator when the service is ready. Needs $listen; sets $url and $trust for clients.

# choose_url ARGUMENTS...: sets $url to the URL of the address in $listen, with 127.0.0.1 if that means all addresses, and $trust to the
# options by which curl trusts the certificate.
choose_url() {
  case ${listen%:*} in
  0.0.0.0 | '[::]' | '') url=127.0.0.1:${listen##*:} ;;
  *) url=$listen ;;
  esac
  url=https://$url
  trust="--cacert $data/tls/ca.pem "
  [ -z "${ASSAY_TLS_CERT-}" ] || trust=
  case "${ASSAY_PLAIN_HTTP-} $* " in
  yes* | *" --plain-http "*) url=http://${url#https://} trust= ;;
  esac
}

welcome() {
  say "ready in $(since "$prepare_start"): $url"
  [ -z "$trust" ] || say "authority of its certificate: $data/tls/ca.pem"
  say "for a client's shell: export ASSAY_URL='$url'${trust:+ ASSAY_CA='$data/tls/ca.pem'}"
  if software_is_prebuilt; then
    # The output of a container is kept as its log, which must not contain a key or a link.
    [ -f "$data/first-key" ] || say "to make the first key, in here: assay keys create --name first"
    [ -f "$data/first-key" ] || say "to become the dashboard's first administrator, in here: assay members link --origin $url"
  else
    [ -f "$data/first-key" ] || show_first_key
    show_first_link
  fi
  : >"$data/first-key" # not in db/, where the service could create a symbolic link
}

# ask_database COMMAND ARGUMENT...: asks the database, as the service's user, and sets $answer. Stops the command if that fails.
ask_database() {
  ask 60 "$app/src/main.ts" "$@" --data "$data" && return
  [ -z "$ended_by" ] || exit "$ended_by"
  fail "'assay $1 $2' failed"
}

# show_first_link: shows a link to become the first administrator, until a person can sign in to the dashboard. A new link invalidates
# that of the previous start.
show_first_link() {
  ask_database members link --if-empty --origin "$url"
  [ -z "$answer" ] || cat <<TEXT
Open this link to become the dashboard's first administrator; it works once, for three days ('assay members link' makes another):

  $answer

TEXT
}

# show_first_key: makes a key and shows it. A database that other machines also use may already have some.
show_first_key() {
  ask_database keys create --if-empty --name first --account first
  key=$answer
  # The key becomes part of a shell command, and any process of the service's user could have written it.
  case $key in
  '') return ;;
  *[!A-Za-z0-9_-]*) fail "the first key contains an unexpected character" ;;
  esac
  cat <<TEXT

The first key, shown this once: $key
Paste this into a client's shell, and the examples of docs/api.md work there:

export ASSAY_URL='$url'${trust:+ ASSAY_CA='$data/tls/ca.pem'} ASSAY_KEY='$key'

Or try it at once:

curl ${trust}'$url/api/submit?wait=true' \\
  -H 'X-API-Key: $key' -H 'Content-Type: application/json' \\
  -d '{"language": "python", "code": "print(6 * 7)"}'

TEXT
}
