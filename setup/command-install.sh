# assay install [worker | --no-worker]: sets up, and lets systemd start launcher and service as separate units
# (deploy/systemd/), now and at every boot. If the units already run, for example before an upgrade or a change of settings, it stops
# them through systemd and starts them with the new files. A launcher that stays the same goes on. `assay uninstall` removes them.

for part in foreground welcome installed-versions units; do . "$checkout/setup/$part.sh"; done

exec 3</dev/null
needs_systemd
units_see_data
one_way_to_install
units_are_ours || fail "$units_dir has the units of another data directory; assay uninstall --data THAT removes them"
[ ! -e "$settings_file" ] || say "settings: from $settings_file"
read_settings
choose_role "$@"
common_options
# While a service runs in the foreground, the launcher of the units could not start. Then this command fails here, before any long step.
if [ -z "$(installed_units)" ] && [ -e "$data/serve.lock" ]; then (take_serving); fi
listen=${ASSAY_LISTEN:-127.0.0.1:8443}
choose_url
set_up_role
make_settings
# shellcheck disable=SC2046 # names of ours
set -- $(units_of_role)
service=$1
# shellcheck disable=SC2046
remove_units $(installed_units | grep -vxF -e "$(units_of_role)")
is_packaged || rm -f -- "$data/packaged"
write_units "$service" $(((drain_ms + 999) / 1000 + 15))
unlock_set_up
systemctl daemon-reload
systemctl enable --quiet "$@"
launcher_stays=no
if [ -n "${2-}" ] && launcher_is_current; then launcher_stays=yes; fi
say "starting $service"
restart_units "$@"
case $role in
serve)
  trap leave EXIT
  make_service_group "unit-service-$$"
  pass_signals_on
  welcome
  [ -z "$ended_by" ] || exit "$ended_by"
  trap '' INT TERM HUP
  end_service_group
  ;;
worker) say "working: ready in $(since "$prepare_start")" ;;
esac
say "settings: $settings_file; log: journalctl -u $service${2:+ -u $2}"
