# assay set-up [worker | --no-worker]: prepares like `assay serve` or `assay worker`, and starts nothing. Units then start the files in
# DATA/current (installed-versions.sh).

. "$checkout/setup/installed-versions.sh"

exec 3</dev/null
choose_role "$@"
set_up_role
say "set up in $(since "$prepare_start"): $data/current"
