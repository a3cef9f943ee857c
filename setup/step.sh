# Long steps. Each runs in a process of its own, with its output in a log file. An interrupt ends it (see interrupted).

step_pid=
step_may_be_killed=yes

# contained COMMAND...: replaces the shell by COMMAND in new pid and mount namespaces. These end, with every process and mount of COMMAND,
# when COMMAND or the parent of this shell ends, even by SIGKILL.
contained() {
  exec setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc -- "$@"
}

# clean_env RUNNER NAMES [NAME=VALUE...] COMMAND...: RUNNER runs the command with only the named variables of the
# environment. Settings of a user for Node, compilers or apt must change neither results nor speed. Every user of the
# machine can read the arguments of a process, and a value may be a password: values are therefore exported, in the
# subshell that must call this function, and the arguments only name the variables to omit.
clean_env() {
  runner=$1 kept=' PATH LANG TMPDIR '
  for name in $2; do
    eval "value=\${$name-}"
    [ -n "$value" ] || continue
    export "${name?}"
    kept="$kept$name "
  done
  shift 2
  LANG=C.UTF-8 TMPDIR=$data/tmp
  export PATH LANG TMPDIR
  while :; do
    case $1 in
    [A-Za-z_]*=*) export "${1?}" ;;
    *) break ;;
    esac
    kept="$kept${1%%=*} "
    shift
  done
  for name in $(awk 'BEGIN { for (name in ENVIRON) print name }'); do
    case $kept in *" $name "*) ;; *) set -- -u "$name" "$@" ;; esac
  done
  "$runner" env "$@"
}

# A machine behind a proxy needs these to reach its registries.
proxy_names='http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY'

# await COMMAND...: runs COMMAND in the background and waits for it, because a shell handles signals only while it waits.
await() {
  ("$@") </dev/null &
  step_pid=$!
  await_status=0
  wait "$step_pid" || await_status=$?
  step_pid=
  return "$await_status"
}

into_log() { "$@" >"$step_log" 2>&1; }

# try_step NAME ABOUT COMMAND...: announces ABOUT, runs COMMAND with its output in log/NAME.log, and prints the duration.
try_step() {
  step_name=$1 step_log=$data/log/$1.log
  say "$1: $2"
  shift 2
  clock
  step_start=$now
  await into_log "$@" || return
  say "$step_name: done in $(since "$step_start")"
}

# step NAME ABOUT COMMAND...: like try_step, but a failure ends this command.
step() {
  try_step "$@" && return
  # Some tools print the error first and end with pages of advice.
  awk '{ line[NR] = $0 } END { for (i = 1; i <= NR; i++) if (i <= 10 || i > NR - 20) print "    " line[i]; else if (i == 11) print "    [...]" }' \
    "$step_log" >&2
  fail "$step_name failed after $(since "$step_start"); the whole log: $step_log"
}

# interrupted STATUS: ends the running step and exits with STATUS. Before the service starts, there is nothing to wait for. Incomplete
# files have .tmp. in their names, and the next start removes them.
interrupted() {
  trap '' INT TERM HUP
  if [ -n "$step_pid" ] && [ $step_may_be_killed = no ]; then
    say "interrupted; letting $step_name end first, because a half-installed package harms the machine"
    wait "$step_pid" || true
    record_packages
  elif [ -n "$step_pid" ]; then
    kill -KILL "$step_pid" 2>/dev/null || true
    wait "$step_pid" 2>/dev/null || true
  fi
  say "interrupted; start again at any time"
  exit "$1"
}

interruptible() {
  trap 'interrupted 130' INT
  trap 'interrupted 143' TERM HUP
}
