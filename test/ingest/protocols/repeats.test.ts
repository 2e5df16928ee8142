import test from "ava";

import { KEY, serviceOf } from "../../support/service.ts";
import { eventsOf, send } from "../posting.ts";

/** A request of each protocol whose clients send no ids: the pages say what becomes of repeats. */
const REQUESTS = [
  { page: "elasticsearch.md", path: "/_bulk", body: '{"create":{"_index":"a"}}\n{"message":"Order 17"}\n' },
  {
    page: "otlp.md",
    path: "/v1/logs",
    body: '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"Order 17"}}]}]}]}',
  },
  { page: "splunk.md", path: "/services/collector", body: '{"event":"Order 17"}' },
  {
    page: "loki.md",
    path: "/loki/api/v1/push",
    body: `{"streams":[{"stream":{"app":"shop"},"values":[["${Date.now()}000000","Order 17"]]}]}`,
  },
] as const;

for (const { page, path, body } of REQUESTS) {
  test(`${page}: a repeat without ids is stored again, and once with an Idempotency-Key`, async (t) => {
    const service = await serviceOf(t, "embedded");
    const headers = { "Content-Type": "application/json", Authorization: `Bearer ${KEY}` };
    const post = async (more: Record<string, string> = {}): Promise<void> => {
      const { status, text } = await send(service, path, body, { headers: { ...headers, ...more } });
      t.true(status === 200 || status === 204, text);
    };
    await post();
    await post();
    await post({ "Idempotency-Key": "a" });
    await post({ "Idempotency-Key": "a" });
    // Events are listed in the order in which they were posted.
    await send(service, "/lines", "the last", { headers });
    const events = await eventsOf(service, 4);
    t.is(events.filter(({ text }) => text === "Order 17").length, 3);
  });
}
