# assay uninstall [--yes]: removes the units and the data directory, and the system user if set-up created it. Debian packages stay,
# because other software may use them; this command prints the line that removes them.

for part in units removal; do . "$checkout/setup/$part.sh"; done

yes=no
for argument; do
  case $argument in
  --yes | -y) yes=yes ;;
  *) misuse "uninstall accepts only --yes, not '$argument'" ;;
  esac
done

if is_packaged && [ "$data" = /var/lib/assay ]; then fail "this is the installation of a Debian package: apt-get purge assay"; fi
data_dir_is_ours || fail "$data was not made by assay (there is no $data/.assay-data); nothing removed"
hold_for_removal
find_made

say "this removes $data with all submissions, results and keys in it"
[ "$user_made" = no ] || say "and the system user $service_user"
[ -z "$units" ] || say "and stops and removes $(echo "$units" | tr '\n' ' ')with $settings_file"
if [ $yes = no ]; then
  [ -t 0 ] || fail "to remove it without confirmation: assay uninstall --yes"
  printf 'assay: remove? [y/N] ' >&2
  read -r answer || answer=
  case $answer in
  y | Y | yes) ;;
  *) fail "nothing removed" ;;
  esac
fi

remove_made
say "removed"
if [ -n "$packages" ]; then
  say "Debian packages that were installed for assay stay; to remove them and their dependencies:"
  printf '    apt-get autoremove %s\n' "${packages% }" >&2
fi
