# Output of the service's user on root's terminal or in root's file: it goes through a pipe and a process of root's, the relay.
#
# Every process of that user can take descriptors from another one (pidfd_getfd). With a descriptor of the terminal it could read what
# root types and change the terminal's settings, and control sequences can make some terminals type. With a descriptor of a file it could
# truncate and overwrite what is in it. So as_service passes on neither.

relay_pids= file_relay_pids=

# For GNU sed in the C locale: control characters of ASCII, and those of Unicode as UTF-8, become question marks. A form feed stays, and so do
# the bytes of UTF-8: a terminal that is not in UTF-8 mode can still take 0x80 to 0x9f for control characters.
plain_text='s/\xc2[\x80-\x9f]/?/g; s/[^\t\f -~\x80-\xff]/?/g'

# plain [SED]: standard input as plain text. SED handles form feeds.
plain() { LC_ALL=C sed -e "$plain_text" -e "${1:-s/\\f/?/g}"; }

# open_relay [SED]: where standard output is a terminal or a file, descriptor 4 leads to it, and descriptor 5 to standard error. A terminal
# gets plain text.
open_relay() {
  is_passed_on 1 || start_relay 1 4 "$@"
  if is_passed_on 2; then return; fi
  if ! is_passed_on 1 && [ /dev/fd/1 -ef /dev/fd/2 ]; then exec 5>&4; else start_relay 2 5 "$@"; fi
}

# start_relay TO DESCRIPTOR [SED]
start_relay() {
  relay_fifo=$data/run/.relay-$$
  rm -f -- "$relay_fifo"
  mkfifo -m 0600 -- "$relay_fifo"
  # Opening a FIFO for reading and writing does not block, and while it is open, opening it in one way does not block either.
  eval "exec $2<>\"\$relay_fifo\""
  rm -f -- "$relay_fifo"
  if [ -t "$1" ]; then relay=to_terminal; else relay=to_file; fi
  ("$relay" "${3:-s/\\f/?/g}") <"/dev/fd/$2" >&"$1" 3<&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
  relay_pids="$relay_pids $!"
  [ $relay = to_terminal ] || file_relay_pids="$file_relay_pids $!"
  eval "exec $2>/dev/fd/$2"
}

# The relay is in a session of its own, so that Ctrl-C does not end it before the service.

# to_terminal SED: sed keeps a whole line in memory, which is therefore bounded. When sed ends, by a line that is too long or because the
# terminal is gone, cat reads on: the service must not block.
to_terminal() {
  # shellcheck disable=SC2016 # the inner shell expands it
  exec setsid sh -c 'ulimit -v 200000; LC_ALL=C sed -e "$1" -e "$2" 2>/dev/null; exec cat >/dev/null' sh "$plain_text" "$1"
}

# to_file: of a command, the first error ends the output. A service outlives a full disk, and what it says meanwhile is lost.
to_file() {
  case $command in
  serve | worker) exec setsid sh -c 'until cat 2>/dev/null; do sleep 0.1; done' ;;
  *) exec setsid cat ;;
  esac
}

# close_relay: returns when all output is written. A process of the service's user can hold the pipe open, so the time is bounded: 5 s for a
# terminal, and for files, which can be on a slow disk, 60 s. Fails if not all was written to a file.
close_relay() {
  exec 4>&- 5>&-
  relay_status=0
  clock
  closed=$now
  for relay_pid in $relay_pids; do
    case " $file_relay_pids " in *" $relay_pid "*) relay_seconds=60 ;; *) relay_seconds=5 ;; esac
    while alive "$relay_pid" && clock && [ $((now - closed)) -lt $((relay_seconds * 100)) ]; do sleep 0.02; done
    kill -s KILL -- "-$relay_pid" 2>/dev/null || true
    wait "$relay_pid" || [ $relay_seconds -eq 5 ] || relay_status=1
  done
  relay_pids=
  [ $relay_status -eq 0 ] || say "not all output was written"
  return $relay_status
}
