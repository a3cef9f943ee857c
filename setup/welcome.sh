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

# ask_node COMMAND...: sets $answer to the output of the command, as plain text. Other processes of the service's user can write to the pipe
# and keep it open, so size and time are bounded. It does not use $(...), in which the shell would not handle signals.
ask_node() {
  answer_file=$data/run/.answer-$$
  [ ! -d "${instance_dir-}" ] || answer_file=$instance_dir/answer # removed with the instance
  rm -f -- "$answer_file" "$answer_file.pipe"
  mkfifo -m 0600 -- "$answer_file.pipe"
  # While descriptor 9 is open, opening the FIFO does not block. Otherwise, a signal between the starts of the two processes would leave one
  # process that waits for the other. The reader is in Perl, which buffers nothing here. It continues to read after 64 KiB, so that Node
  # does not fail if its output is longer.
  # shellcheck disable=SC2016 # variables of Perl
  {
    setpriv --pdeathsig KILL perl -e 'while ($read = sysread(STDIN, $part, 65536)) {
        syswrite(STDOUT, $part, 65536 - $sum) if $sum < 65536;
        $sum += $read;
      }' <"$answer_file.pipe" >"$answer_file" 3<&- 4>&- 5>&- 6<&- 7>&- 8>&- 9>&- &
    reader_pid=$!
    run_node as_service "$@" --data "$data" >"$answer_file.pipe" 9>&-
  } 9<>"$answer_file.pipe"
  asked_pid=$node_pid
  await_end "$asked_pid" 60
  asked_status=1
  # If Node is not reapable after its time, it was killed and does not end, or another process traces it.
  if reapable "$asked_pid"; then
    asked_status=0
    wait "$asked_pid" || asked_status=$?
  fi
  await_end "$reader_pid" 1
  answer=$(plain <"$answer_file")
  rm -f -- "$answer_file" "$answer_file.pipe"
  return $asked_status
}

# await_end PID SECONDS: waits for the end of a child, and kills it after SECONDS.
await_end() {
  clock
  awaited=$now
  while alive "$1" && clock && [ $((now - awaited)) -lt $(($2 * 100)) ]; do sleep 0.02; done
  kill_child "$1"
}

welcome() {
  say "ready in $(since "$prepare_start"): $url"
  [ -z "$trust" ] || say "authority of its certificate: $data/tls/ca.pem"
  say "for a client's shell: export ASSAY_URL='$url'${trust:+ ASSAY_CA='$data/tls/ca.pem'}"
  if [ ! -f "$data/first-key" ]; then
    if no_key_yet; then
      # The output of a container is kept as its log, which must not contain a key.
      if software_is_prebuilt; then say "there is no key yet; in here: assay keys create --name first"; else show_first_key; fi
    fi
    : >"$data/first-key" # not in db/, where the service could create a symbolic link
  fi
  show_first_link
}

# show_first_link: shows a link to become the first administrator, until a person can sign in to the dashboard. A new link invalidates
# that of the previous start.
show_first_link() {
  if software_is_prebuilt; then
    ask_node members list --json || fail "cannot read the members"
    [ "$answer" != "[]" ] || say "the dashboard has no members yet; in here: assay members link --origin $url"
    return
  fi
  ask_node members link --if-empty --origin "$url" || fail "cannot make the link of the first administrator"
  [ -z "$answer" ] || cat <<TEXT
Open this link to become the dashboard's first administrator; it works once, for three days ('assay members link' makes another):

  $answer

TEXT
}

show_first_key() {
  ask_node keys create --name first --account first || fail "cannot make the first key"
  key=$answer
  # The key becomes part of a shell command, and any process of the service's user could have written it.
  case $key in '' | *[!A-Za-z0-9_-]*) fail "the first key contains an unexpected character" ;; esac
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

# no_key_yet: whether the database has no key. A database that other machines also use may already have some.
no_key_yet() {
  ask_node keys list --json || fail "cannot read the keys"
  [ "$answer" = "[]" ]
}
