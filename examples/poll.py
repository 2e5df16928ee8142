"""Posts three orders, and reads each event of the log once: a poller asks for what came after the last id it saw."""

import json
import os
import time
import urllib.parse
import urllib.request
import uuid

API = os.environ.get("LOGGIA_API", "http://127.0.0.1:8080")
POST = os.environ.get("LOGGIA_POST", "http://127.0.0.1:8081")
LOG, KEY = os.environ["LOGGIA_LOG"], os.environ["LOGGIA_KEY"]


def call(url, body=None, headers={}):
    request = urllib.request.Request(url, body, headers)
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)


def post(events):
    """Posts a batch. A repeat under the same Idempotency-Key is stored once."""
    body = "\n".join(map(json.dumps, events)).encode()
    headers = {"apikey": KEY, "Content-Type": "application/x-ndjson", "Idempotency-Key": str(uuid.uuid4())}
    return call(f"{POST}/1/logs/{LOG}/events", body, headers)


def events_after(last):
    """Returns the events accepted after an id, in the order of acceptance, up to 500."""
    parameters = {"sinceid": last, "source": "python", "pagesize": 500, "apikey": KEY}
    return call(f"{API}/1/logs/{LOG}/events?{urllib.parse.urlencode(parameters)}")


accepted = post(
    [
        {"text": "Order 1 paid", "source": "python", "tags": ["order", "paid"], "value": 12.5},
        {"text": "Order 2 paid", "source": "python", "tags": ["order", "paid"], "value": 7},
        {"text": "Order 3 failed", "source": "python", "tags": ["order", "error"], "attributes": {"reason": "card"}},
    ]
)
first = accepted["items"][0]["id"]
# An id need not exist: this one is just before the first.
last = f"{int(first, 16) - 1:024x}"
seen = 0
while seen < 3:
    for event in events_after(last):
        print(event["id"], event["text"], *event["tags"])
        last, seen = event["id"], seen + 1
    time.sleep(0.2)
