# assay configure: sets up what the Debian package has brought, and starts it (deploy/debian/postinst). While it sets up, a service of the
# former version goes on. If the set-up fails, that service still runs, and `dpkg --configure -a` calls this command again.
#
# It is like `assay install` with the role of the last set-up, but obeys what Debian has for packages: units that were disabled stay so,
# policy-rc.d can forbid the start, and there may be no systemd, as in a root file system that is being built. It shows no key, because apt
# keeps a log of its output.

for part in foreground installed-versions units; do . "$checkout/setup/$part.sh"; done

[ $# -eq 0 ] || misuse "configure accepts no arguments"
is_packaged || fail "'assay configure' is for the Debian package: use assay install"

# may_start: whether the policy of the machine permits the package to start its service; 101 forbids it.
may_start() {
  [ -x /usr/sbin/policy-rc.d ] || return 0
  policy=0
  /usr/sbin/policy-rc.d assay restart || policy=$?
  [ $policy -ne 101 ]
}

exec 3</dev/null
one_way_to_install
units_are_ours || fail "$units_dir has the units of another data directory; assay uninstall --data THAT removes them"
read_settings
# shellcheck disable=SC2046 # at most one word
choose_role $(last_role)
common_options
# While a service runs in the foreground, the launcher of the units could not start. Then this command fails here, before any long step.
if [ -z "$(installed_units)" ] && [ -e "$data/serve.lock" ]; then (take_serving); fi
set_up_role
make_settings
# shellcheck disable=SC2046 # names of ours
set -- $(units_of_role)
service=$1
: >"$data/packaged" # from here on, the units in $units_dir belong to the package (deploy/debian/prerm)
write_units "$service" $(((drain_ms + 999) / 1000 + 15))
unlock_set_up
for unit; do
  # A unit without a state was never enabled by the package.
  if deb-systemd-helper --quiet was-enabled "$unit"; then deb-systemd-helper enable "$unit"; else deb-systemd-helper update-state "$unit"; fi >/dev/null
done
if [ ! -d /run/systemd/system ]; then
  say "set up; $service starts with systemd"
  exit
fi
systemctl daemon-reload
launcher_stays=no
if [ -n "${2-}" ] && launcher_is_current; then launcher_stays=yes; fi
if ! systemctl --quiet is-enabled "$service" && ! systemctl --quiet is-active "$service"; then
  say "set up; $service is disabled, and stays so"
elif ! may_start; then
  say "set up; policy-rc.d does not permit the start of $service"
else
  say "starting $service"
  restart_units "$@"
  say "$service runs; settings: $settings_file; log: journalctl -u $service${2:+ -u $2}"
  [ "$role" = worker ] || say "a key: assay keys create --name first; an administrator: assay members link --origin https://HOST:8443"
fi
