# The output of processes of the service's user to root's terminal, or to a file of root, goes through a pipe and a process of root, the
# relay.
#
# Every process of that user can take descriptors from its other processes (pidfd_getfd). With a descriptor of the terminal
# it could read root's input and change the terminal's settings, and control sequences make some terminals send input. With
# a descriptor of a file it could truncate and overwrite the file. From a socket that is also root's input, it could read this
# input. So as_service passes none of these descriptors to a process of that user.

relay_pids= file_relay_pids=

# A script for GNU sed in the C locale: control characters of ASCII, and those of Unicode as UTF-8, become question marks. A form
# feed stays, and so do the bytes of UTF-8: a terminal that is not in UTF-8 mode can still interpret 0x80 to 0x9f as control
# characters.
plain_text='s/\xc2[\x80-\x9f]/?/g; s/[^\t\f -~\x80-\xff]/?/g'

# plain [SED]: copies standard input to standard output as plain text. SED is the part of the script that handles form feeds.
plain() { LC_ALL=C sed -e "$plain_text" -e "${1:-s/\\f/?/g}"; }

# open_relay [SED]: opens relays for standard output (descriptor 4) and standard error (descriptor 5), as far as they must not be passed on.
# A terminal gets plain text.
open_relay() {
  is_passed_on 1 || start_relay 1 4 "$@"
  if is_passed_on 2; then return; fi
  if ! is_passed_on 1 && [ /dev/fd/1 -ef /dev/fd/2 ]; then exec 5>&4; else start_relay 2 5 "$@"; fi
}

# start_relay TO DESCRIPTOR [SED]: opens DESCRIPTOR for writing, and starts a relay from it to the descriptor TO.
start_relay() {
  relay_fifo=$data/run/.relay-$$
  rm -f -- "$relay_fifo"
  mkfifo -m 0600 -- "$relay_fifo"
  # Opening a FIFO for reading and writing does not block. While it is open, opening it for one of them does not block either.
  eval "exec $2<>\"\$relay_fifo\""
  rm -f -- "$relay_fifo"
  if [ -t "$1" ]; then relay=to_terminal; else relay=to_file; fi
  ("$relay" "${3:-s/\\f/?/g}") <"/dev/fd/$2" >&"$1" 3<&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
  relay_pids="$relay_pids $!"
  [ $relay = to_terminal ] || file_relay_pids="$file_relay_pids $!"
  eval "exec $2>/dev/fd/$2"
}

# A relay is in a session of its own, so that Ctrl-C does not end it before the service.

# to_terminal SED: copies output to a terminal as plain text. sed has a whole line in memory, so its memory is limited. It ends if a line
# is too long or the terminal was closed; cat then continues to read, so that the service does not block.
to_terminal() {
  # shellcheck disable=SC2016 # the inner shell expands it
  exec setsid sh -c 'ulimit -v 200000; LC_ALL=C sed -e "$1" -e "$2" 2>/dev/null; exec cat >/dev/null' sh "$plain_text" "$1"
}

# to_file: copies output to a file. For a command, the first error ends the copy. For a service, output during a full disk is lost, and the
# copy continues afterwards.
to_file() {
  case $command in
  serve | worker) exec setsid sh -c 'until cat 2>/dev/null; do sleep 0.1; done' ;;
  *) exec setsid cat ;;
  esac
}

# close_relay: returns when all output is written. A process of the service's user can hold the pipe open, so the time is
# bounded: 5 s for a terminal, and 60 s for files, which can be on a slow disk. Fails if the output to a file is incomplete.
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
