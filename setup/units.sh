# The units of deploy/systemd/ on this machine: their files and their settings.

units_dir=/etc/systemd/system
# A Debian package has its units here. A file in $units_dir replaces one of them.
packaged_units_dir=/usr/lib/systemd/system
settings_file=/etc/assay/environment
all_units='assay.service assay-worker.service assay-launcher.service'

needs_systemd() {
  [ -d /run/systemd/system ] || fail "this machine is not run by systemd: start 'assay serve' from its own service manager"
}

# units_see_data: PrivateTmp and ProtectHome hide these directories from units.
units_see_data() {
  case $data/ in /tmp/* | /var/tmp/* | /home/* | /root/* | /run/user/*)
    fail "units cannot access /tmp, /var/tmp, /home, /root and /run/user: choose a data directory other than $data"
    ;;
  esac
}

# one_way_to_install: rejects an installation beside that of a Debian package, and one of the package in another data directory.
one_way_to_install() {
  if is_packaged; then
    [ "$data" = /var/lib/assay ] ||
      fail "the units of the Debian package use /var/lib/assay, which must not be a link: omit --data and ASSAY_DATA"
  elif [ -e "$packaged_units_dir/assay.service" ]; then
    fail "the Debian package 'assay' is installed: upgrade it, or remove it first"
  fi
}

# units_are_ours: whether no installed unit belongs to another data directory.
units_are_ours() {
  if is_packaged && [ "$data" != /var/lib/assay ]; then return 1; fi # the package's units use that directory
  for unit in $all_units; do
    [ ! -e "$units_dir/$unit" ] || grep -qF "=$data/current/" "$units_dir/$unit" || return
  done
}

# make_settings: creates the file of settings from the ASSAY_ variables of the first installation. Later, only the operator edits it.
# ASSAY_LANGUAGES is left out, because `assay languages` changes the choice in the data directory.
make_settings() {
  [ ! -e "$settings_file" ] || return 0
  given=$(env | sed -n '/^ASSAY_\(TEST_\|DEBIAN_\|DATA=\|LANGUAGES=\)/d; /^ASSAY_[A-Z0-9_]*=/p')
  # systemd would interpret these characters in the file.
  case $given in *[[:blank:]\'\"\\]*) fail "a setting has a blank, a quote or a backslash: write $settings_file yourself, in systemd's syntax" ;; esac
  mkdir -p -- "${settings_file%/*}"
  # Only root may read the file, because the URL of a database can contain a password.
  (umask 077 && printf '%s\n' "# Settings of the units (docs/configuration.md): NAME=value. To apply them: assay install" "$given" >"$settings_file")
  changed "wrote $settings_file"
}

# read_settings: exports the settings of the units for this command.
read_settings() {
  [ -f "$settings_file" ] || return 0
  while IFS='=' read -r name value; do
    case $name in ASSAY_*) ;; *) continue ;; esac
    case $name in *[!A-Z0-9_]*) continue ;; esac
    case $value in \"*\" | \'*\') value=${value#?} && value=${value%?} ;; esac
    export "$name=$value"
  done <"$settings_file"
}

# units_of_role: prints the units of the role, its service first.
units_of_role() {
  case $role in serve) echo assay.service ;; worker) echo assay-worker.service ;; esac
  [ "$own_worker" = no ] || echo assay-launcher.service
}

# write_units SERVICE SECONDS: writes the units of the role for this data directory. SERVICE may take SECONDS to stop.
write_units() {
  for unit in $(units_of_role); do
    stop_seconds=$2
    [ "$unit" = "$1" ] || stop_seconds='\1'
    sed -e "s#/var/lib/assay\([/ ]\|\$\)#$data\1#g" -e "s|^TimeoutStopSec=\(.*\)|TimeoutStopSec=$stop_seconds|" \
      "$app/deploy/systemd/$unit" >"$units_dir/$unit.tmp.$$"
    if is_packaged && cmp -s "$units_dir/$unit.tmp.$$" "$packaged_units_dir/$unit"; then
      rm -f -- "$units_dir/$unit.tmp.$$"
      remove_unit_file "$unit"
    elif cmp -s "$units_dir/$unit.tmp.$$" "$units_dir/$unit"; then
      rm -f -- "$units_dir/$unit.tmp.$$"
    else
      mv -T -- "$units_dir/$unit.tmp.$$" "$units_dir/$unit"
      changed "wrote $units_dir/$unit"
    fi
  done
}

# launcher_unit: prints what identifies the launcher's unit, with what an operator has added to it.
launcher_unit() {
  systemctl cat assay-launcher.service | sha256sum
}

# launcher_is_current: whether the launcher's unit runs already as it would now be started: with this unit, these files and these arguments. A
# repair can replace files under the same names. Only the settings of the file count, as for the unit.
launcher_is_current() (
  unit=assay-launcher.service
  pid=$(systemctl show -P MainPID "$unit") && [ "${pid:-0}" != 0 ] || exit 1
  [ "$(launcher_unit)" = "$(cat "$data/launcher-unit" 2>/dev/null)" ] || exit 1
  started=$(date -d "$(systemctl show -P ExecMainStartTimestamp "$unit")" +%s) || exit 1
  for file in launcher/assay-launcher image/rootfs image/rootfs/opt/assay/frozen; do
    [ -e "$data/current/$file" ] || continue
    [ "$(stat -L -c %Z "$data/current/$file")" -lt "$started" ] || exit 1
  done
  for name in $(env | sed -n 's/^\(ASSAY_[A-Z0-9_]*\)=.*/\1/p'); do unset "$name"; done
  read_settings
  "$app/setup/start-launcher" "$data" /run/assay-launcher/launcher.sock "$pid"
)

# restart_units SERVICE [LAUNCHER]: starts the service and the launcher, again if they run. If $launcher_stays is yes, the launcher goes on, and with it
# the sandboxes, which the next process of the service takes over.
restart_units() {
  if [ "$launcher_stays" = yes ]; then
    say "the launcher is the same, and goes on"
    systemctl restart "$1"
  else
    systemctl stop "$@"
    [ -z "${2-}" ] || launcher_unit >"$data/launcher-unit"
    systemctl start "$1"
  fi || fail "$1 did not start; its log: journalctl -u $1${2:+ -u $2}"
}

# installed_units: prints the units that have a file, or, if a Debian package has the files of all of them, that systemd starts at boot.
installed_units() {
  for unit in $all_units; do
    if [ -e "$units_dir/$unit" ] || { is_packaged && systemctl --quiet is-enabled "$unit"; } 2>/dev/null; then echo "$unit"; fi
  done
}

remove_unit_file() {
  [ -e "$units_dir/$1" ] || return 0
  rm -f -- "$units_dir/$1"
  changed "removed $units_dir/$1"
}

# remove_units UNIT...: stops and removes units.
remove_units() {
  [ $# -gt 0 ] || return 0
  [ ! -d /run/systemd/system ] || systemctl stop "$@"
  for unit in "$@"; do
    systemctl disable --quiet "$unit" || true
    remove_unit_file "$unit"
  done
  [ ! -d /run/systemd/system ] || systemctl daemon-reload
}
