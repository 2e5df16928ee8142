import test from "ava";

import { environmentOf, KEY, startService, STOPPED } from "../../support/service.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { send } from "../posting.ts";

test("a request over the limit of its address is refused in the form of its protocol", async (t) => {
  const settings = { ...environmentOf("embedded", temporaryFolder(t)), LOGGIA_RATE_ADDRESS: "1" };
  const service = await startService(settings, STOPPED);
  t.teardown(() => service.close());
  const post = async (path: string, body: string) => {
    const { status, headers, text } = await send(service, `/keys/${KEY}${path}`, body, {
      headers: { "Content-Type": "application/json" },
    });
    return { status, retryAfter: headers.get("Retry-After"), text };
  };
  for (let i = 0; i < 2; i++) t.is((await post("/lines", "first")).status, 201);
  const message = "Too many requests from your address; send fewer per second";
  const refusals: readonly (readonly [path: string, body: string, refusal: object])[] = [
    ["/services/collector/event", '{"event":"x"}', { text: "Server is busy", code: 9 }],
    ["/_bulk", '{"index":{}}\n{"message":"x"}\n', { status: 429 }],
    ["/v1/logs", '{"resourceLogs":[]}', { code: 8, message }],
    ["/api/v2/logs", '[{"message":"x"}]', { errors: [{ status: "429", title: "too_many_requests", detail: message }] }],
  ];
  for (const [path, body, refusal] of refusals) {
    const { status, retryAfter, text } = await post(path, body);
    t.deepEqual([status, retryAfter], [429, "1"], path);
    t.like(JSON.parse(text), refusal, path);
  }
});
