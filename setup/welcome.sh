# Messages for the operator when the service is ready. Needs $listen; sets $url and $trust for clients.

# The given address, unless it means all addresses.
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

# ask_node COMMAND...: prints the output as plain text, because a compromised service can change it.
ask_node() {
  answer=$(run_node as_service "$@" --data "$data" && wait "$node_pid") || return
  printf '%s\n' "$answer" | plain
}

welcome() {
  say "ready in $(since "$prepare_start"): $url"
  [ -z "$trust" ] || say "authority of its certificate: $data/tls/ca.pem"
  say "for a client's shell: export ASSAY_URL='$url'${trust:+ ASSAY_CA='$data/tls/ca.pem'}"
  if [ ! -f "$data/first-key" ]; then
    if no_key_yet; then
      # The output of a container is kept as its log, which must not contain a key.
      if software_is_elsewhere; then say "there is no key yet; in here: assay keys create --name first"; else show_first_key; fi
    fi
    : >"$data/first-key" # not in db/, where the service could create a symbolic link
  fi
  show_first_link
}

# Shown until a person can sign in to the dashboard. A new link invalidates that of the previous start.
show_first_link() {
  if software_is_elsewhere; then
    people=$(ask_node members list --json) || fail "cannot read the members"
    [ "$people" != "[]" ] || say "the dashboard has no members yet; in here: assay members link --origin $url"
    return
  fi
  link=$(ask_node members link --if-empty --origin "$url") ||
    fail "cannot make the link of the first administrator"
  [ -z "$link" ] || cat <<TEXT
Open this link to become the dashboard's first administrator; it works once, for three days ('assay members link' makes another):

  $link

TEXT
}

show_first_key() {
  key=$(ask_node keys create --name first --account first) || fail "cannot make the first key"
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

# A database that other machines also use may already have keys.
no_key_yet() {
  keys=$(ask_node keys list --json) || fail "cannot read the keys"
  [ "$keys" = "[]" ]
}
