# assay languages list | add NAME... | remove NAME...: lists or chooses the language packs of this data directory. The choice takes effect
# at the next start of a service or a worker, unless that is started with `--languages` or ASSAY_LANGUAGES, which replace the choice.

action=${1-list}
[ $# -eq 0 ] || shift
case $action-$# in
list-0) ;;
add-0 | remove-0) misuse "'assay languages $action' needs the name of a pack: see 'assay languages list'" ;;
add-* | remove-*) ;;
*) misuse "'assay languages' takes list, add NAME... or remove NAME..." ;;
esac
. "$checkout/setup/units.sh"
exec 3</dev/null
unset ASSAY_LANGUAGES
prepare_software
before=$ASSAY_LANGUAGES
case $action in
list)
  image=$data/image/$("$app/image/build" --hash)
  packs_ts list "$data/layers" "${image##*/}" "${before#none}"
  exit
  ;;
esac
# The units take their packs from ASSAY_LANGUAGES in their settings, if it is there, and would ignore a choice made here.
! { units_are_ours && [ -n "$(installed_units)" ] && grep -qs '^ASSAY_LANGUAGES=' "$settings_file"; } ||
  fail "$settings_file has ASSAY_LANGUAGES, which decides: change or remove that line, then run 'assay install'"
# Only known names may be chosen.
named=$(packs_ts names "$(printf '%s,' "$@")") || exit 1
if [ "$action" = add ]; then
  ASSAY_LANGUAGES=$(packs_ts names "${before#none},$named")
else
  ASSAY_LANGUAGES=$(echo "$before" | tr , '\n' | grep -vxF -e "$(echo "$named" | tr , '\n')" | paste -sd ,)
  : "${ASSAY_LANGUAGES:=none}"
fi
build_sandbox
[ "$action" = add ] || remove_layers "$named"
prepared languages
close_instance
say "language packs: $ASSAY_LANGUAGES; a service or worker has them after its next start, and units after 'assay install'"
