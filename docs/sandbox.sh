#!/bin/sh
# Creates a sandbox of the service ASSAY_URL with the API key ASSAY_KEY, writes a file, executes a command on it, and ends the sandbox.
# Usage: sandbox.sh FILE COMMAND. The exit code is that of the command. It needs curl and jq.
set -eu
[ $# -eq 2 ] || { echo "usage: sandbox.sh FILE COMMAND" >&2 && exit 2; }

# --fail-with-body: an error ends the script, after its text.
api() { curl -sS --fail-with-body ${ASSAY_CA:+--cacert "$ASSAY_CA"} -H "X-API-Key: $ASSAY_KEY" "$@"; }

id=$(api "$ASSAY_URL/api/sandboxes" --json '{"lifetime_secs": 600}' | jq -r .id)
sandbox=$ASSAY_URL/api/sandboxes/$id
trap 'api -o /dev/null -X DELETE "$sandbox"' EXIT

name=$(basename -- "$1" | jq -Rr @uri)
api -o /dev/null -T "$1" "$sandbox/files?path=$name"
record=$(jq -n --arg shell "$2" '{$shell}' | api "$sandbox/executions" --json @-)
# An execution that takes longer than 30 s goes on.
while [ "$(printf '%s\n' "$record" | jq -r .status)" = running ]; do
  record=$(api "$sandbox/executions/$(printf '%s\n' "$record" | jq .number)?wait=true")
done
printf '%s\n' "$record" | jq -rj .output.stdout
printf '%s\n' "$record" | jq -rj .output.stderr >&2
exit "$(printf '%s\n' "$record" | jq '.result.exit_code // (128 + (.result.signal // 0))')"
