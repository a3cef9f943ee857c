#!/bin/sh
# A client of the HTTP API. ASSAY_URL, ASSAY_KEY and ASSAY_CA are set as `assay serve` prints them.

ask() { curl -sS --cacert "$ASSAY_CA" -H "X-API-Key: $ASSAY_KEY" "$@"; }

record=$(ask "$ASSAY_URL/api/submit?wait=true" \
  -H "Idempotency-Key: $(cat /proc/sys/kernel/random/uuid)" \
  -H 'Content-Type: application/json' -d '{"language": "python", "code": "print(6 * 7)"}')
id=$(printf %s "$record" | sed -n 's/^{.*"id":"\([0-9a-f-]*\)".*/\1/p')
[ -n "$id" ] || { echo "$record" >&2; exit 1; }

until printf %s "$record" | grep -qE '"status":"(completed|error)"'; do
  sleep 1
  record=$(ask "$ASSAY_URL/api/result/$id")
  case $record in *'"schema_version":'* | *'quota exceeded"'* | *'try again later"'* | '') ;; *) echo "$record" >&2; exit 1 ;; esac
done
printf '%s\n' "$record"
