# Output of the service's user on root's terminal: it goes through a pipe and a process of root's, the relay.
#
# Every process of that user can take descriptors from another one (pidfd_getfd). With a descriptor of the terminal it could read what
# root types and change the terminal's settings, and control sequences can make some terminals type. So as_service passes on no
# descriptor of a terminal.

relay_pid=

# For GNU sed in the C locale: control characters of ASCII, and those of Unicode as UTF-8, become question marks. A form feed stays, and so do
# the bytes of UTF-8: a terminal that is not in UTF-8 mode can still take 0x80 to 0x9f for control characters.
plain_text='s/\xc2[\x80-\x9f]/?/g; s/[^\t\f -~\x80-\xff]/?/g'

# plain [SED]: standard input as plain text. SED handles form feeds.
plain() { LC_ALL=C sed -e "$plain_text" -e "${1:-s/\\f/?/g}"; }

# open_relay [SED]: if standard output or standard error is a terminal, descriptor 4 leads to it as plain text. If the two are
# different terminals, descriptor 4 leads to that of standard output.
open_relay() {
  if [ -t 1 ]; then relay_to=1; elif [ -t 2 ]; then relay_to=2; else return 0; fi
  relay_fifo=$data/run/.relay-$$
  rm -f -- "$relay_fifo"
  mkfifo -m 0600 -- "$relay_fifo"
  # Opening a FIFO for reading and writing does not block, and afterwards the two other ways do not block either.
  exec 4<>"$relay_fifo"
  exec 5<"$relay_fifo"
  exec 4>"$relay_fifo"
  rm -f -- "$relay_fifo"
  # In a session of its own, so that Ctrl-C does not end it before the service. sed keeps a whole line in memory, which is therefore
  # bounded. When sed ends, by a line that is too long or because the terminal is gone, cat reads on: the service must not block.
  (
    # shellcheck disable=SC2016 # the inner shell expands it
    exec setsid sh -c 'ulimit -v 200000; LC_ALL=C sed -e "$1" -e "$2" 2>/dev/null; exec cat >/dev/null' sh \
      "$plain_text" "${1:-s/\\f/?/g}"
  ) <&5 >&"$relay_to" 3<&- 4>&- 5<&- 6>&- 7>&- 8>&- 9>&- &
  relay_pid=$!
  exec 5<&-
}

# close_relay: returns when the terminal has all output, after 5 s at most: a process of the service's user can hold the pipe open.
close_relay() {
  [ -n "$relay_pid" ] || return 0
  exec 4>&-
  waited=0
  while alive "$relay_pid" && [ $waited -lt 250 ]; do
    waited=$((waited + 1))
    sleep 0.02
  done
  kill -KILL -- "-$relay_pid" 2>/dev/null || true
  relay_pid=
}
