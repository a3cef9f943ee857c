# assay set-up [worker | --no-worker]: prepares what `assay serve`, or `assay worker`, would, and starts nothing. What a unit or
# a container starts then is in DATA/current (current.sh).

. "$checkout/setup/current.sh"

exec 3</dev/null
choose_role "$@"
set_up_role
say "set up in $(since "$prepare_start"): $data/current"
