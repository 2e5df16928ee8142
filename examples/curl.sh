#!/bin/sh
# Posts a form and a batch, lists the newest events, and groups them by source.
set -eu
api=${LOGGIA_API:-http://127.0.0.1:8080} post=${LOGGIA_POST:-http://127.0.0.1:8081}
log=${LOGGIA_LOG:?the key of a log} key=${LOGGIA_KEY:?an API key of that log}

ask() { # path parameter…
  path=$1
  shift
  curl -fsS -G "$api/1/logs/$log/$path" --data-urlencode "apikey=$key" "$@"
}

# A form is one event. The answer holds its id once it is on disk.
curl -fsS "$post/1/logs/$log/events" -H "apikey: $key" \
  --data-urlencode 'text=Order 1 paid' -d source=curl -d tags='order paid' -d value=12.5
echo

# A batch is one JSON object a line. With an Idempotency-Key a repeat is stored once.
curl -fsS "$post/1/logs/$log/events" -H "apikey: $key" -H 'Content-Type: application/x-ndjson' \
  -H "Idempotency-Key: curl-$$-$(date +%s)" --data-binary @- <<'END'
{"text":"Order 2 paid","source":"curl","tags":["order","paid"],"value":7}
{"text":"Order 3 failed","source":"curl","tags":["order","error"],"attributes":{"reason":"card"}}
END
echo

# An event is found a moment after it was accepted.
newest=$(ask events -d source=curl -d pagesize=3)
until [ "$(echo "$newest" | grep -o '"id"' | wc -l)" -eq 3 ]; do
  sleep 0.2
  newest=$(ask events -d source=curl -d pagesize=3)
done
echo "$newest"
ask query --data-urlencode "query=GET events WHERE source = 'curl' GROUPBY tags SORT COUNT DESC"
echo
