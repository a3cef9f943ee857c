# assay set-up [worker | --no-worker | software]: prepares what `assay serve`, or `assay worker`, would, and starts nothing. What a
# unit starts then is in DATA/current (current.sh). Software: what runs, and nothing of a service; it is for a container's image.

. "$checkout/setup/current.sh"

exec 3</dev/null
choose_role "$@"
set_up_role
say "set up in $(since "$prepare_start"): $data/current"
