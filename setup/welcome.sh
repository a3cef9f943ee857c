# What people are told when the service is ready. Needs $listen; its url and trust are what clients use.

# The address as given, unless it stands for all addresses.
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

# ask_node COMMAND...: the answer as plain text, because a compromised service can change it.
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
      # What a container says is kept as its log, and a key has no business there.
      if software_is_elsewhere; then say "there is no key yet; in here: assay keys create --name first"; else show_first_key; fi
    fi
    : >"$data/first-key" # not in db/: root follows no link that the service could lay
  fi
  show_first_link
}

# As long as nobody can sign in to the dashboard. The one of the start before is worth nothing any more.
show_first_link() {
  if software_is_elsewhere; then
    people=$(ask_node members list --json) || fail "cannot read the members"
    [ "$people" != "[]" ] || say "nobody can sign in to the dashboard yet; in here: assay members link --origin $url"
    return
  fi
  link=$(ask_node members link --if-empty --origin "$url") ||
    fail "cannot make the link of the first administrator"
  [ -z "$link" ] || cat <<TEXT
The dashboard's first administrator is who opens this link; it works once, for three days ('assay members link' makes another):

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

# A database that other machines use, too, has had its first key.
no_key_yet() {
  keys=$(ask_node keys list --json) || fail "cannot read the keys"
  [ "$keys" = "[]" ]
}
