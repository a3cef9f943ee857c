# Messages for the operator. They go to stderr; stdout is for the result of a command.

say() { printf 'assay: %s\n' "$*" >&2; }

fail() {
  printf 'assay: error: %s\n' "$*" >&2
  exit 1
}

misuse() {
  printf 'assay: error: %s (see: ./assay help)\n' "$*" >&2
  exit 2
}

# clock: sets $now to hundredths of a second since boot. This clock needs no process and never jumps.
clock() {
  read -r now _ </proc/uptime
  now=${now%.*}${now#*.}
  now=${now#0}
  now=${now#0}
}

# since START: the time passed, as "12.3 s".
since() {
  clock
  printf '%d.%d s' $(((now - $1) / 100)) $(((now - $1) % 100 / 10))
}

# changed TEXT [LIST]: prints TEXT, a change to this machine, and records it for uninstall. LIST is only recorded.
changed() {
  say "changed on this machine: $1${2:+ (listed in $data/changes.log)}"
  printf '%s  %s%s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$1" "${2:+: $2}" >>"$data/changes.log"
}
