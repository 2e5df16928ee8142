// Follows the new events of a log, as lines of JSON, while it posts three.
const {
  LOGGIA_API = "http://127.0.0.1:8080",
  LOGGIA_POST = "http://127.0.0.1:8081",
  LOGGIA_LOG,
  LOGGIA_KEY,
} = process.env;
if (!LOGGIA_LOG || !LOGGIA_KEY) throw new Error("set LOGGIA_LOG and LOGGIA_KEY");

/** Posts events. A repeat under the same key is stored once, so failures can be retried. */
async function post(events, key = crypto.randomUUID()) {
  for (let attempt = 0; attempt < 5; attempt++) {
    const response = await fetch(`${LOGGIA_POST}/1/logs/${LOGGIA_LOG}/events`, {
      method: "POST",
      headers: { apikey: LOGGIA_KEY, "Content-Type": "application/x-ndjson", "Idempotency-Key": key },
      body: events.map((event) => JSON.stringify(event)).join("\n"),
    }).catch(() => null);
    if (response?.status === 201) return;
    if (response !== null && response.status < 500 && response.status !== 429) throw new Error(await response.text());
    const wait_s = Number(response?.headers.get("Retry-After") ?? 2 ** attempt);
    await new Promise((resolve) => setTimeout(resolve, wait_s * 1000));
  }
  throw new Error("Loggia does not answer");
}

const parameters = new URLSearchParams({ query: "GET events WHERE source = 'node'", apikey: LOGGIA_KEY });
const tail = await fetch(`${LOGGIA_API}/1/logs/${LOGGIA_LOG}/tail?${parameters}`, {
  headers: { Accept: "application/x-ndjson" },
});
if (!tail.ok) throw new Error(await tail.text());

await post([
  { text: "Order 1 paid", source: "node", tags: ["order", "paid"], value: 12.5 },
  { text: "Order 2 paid", source: "node", tags: ["order", "paid"], value: 7 },
  { text: "Order 3 failed", source: "node", tags: ["order", "error"], attributes: { reason: "card" } },
]);

let rest = "";
let count = 0;
for await (const chunk of tail.body.pipeThrough(new TextDecoderStream())) {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop();
  for (const line of lines.filter((each) => each.startsWith("{"))) {
    const { id, text, tags } = JSON.parse(line);
    console.log(id, text, tags.join(" "));
    count += 1;
  }
  if (count === 3) break;
}
