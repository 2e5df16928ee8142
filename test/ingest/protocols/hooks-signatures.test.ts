import test from "ava";
import { createHmac } from "node:crypto";

import { serviceOf } from "../../support/service.ts";
import { eventsOf, send } from "../posting.ts";
import { hookPath, makeHook } from "./hooks-made.ts";

test("signatures in the older header are verified, as Bitbucket and Jira send them", async (t) => {
  const service = await serviceOf(t, "embedded");
  const secret = await makeHook(service, "bitbucket", {
    signature: "github",
    template: { text: "{actor.nickname} sent {$header.X-Event-Key}", id: "{$header.x-request-uuid}" },
  });
  const body = JSON.stringify({ actor: { nickname: "ann" }, push: { changes: [{ new: { name: "main" } }] } });
  const post = (signature: string, more: Record<string, string> = {}) => {
    const headers = {
      "X-Hub-Signature": signature,
      "X-Request-UUID": "r1",
      "X-Event-Key": "repo:push",
      "Content-Type": "application/json",
      ...more,
    };
    return send(service, hookPath("bitbucket"), body, { headers });
  };
  const sign = (algorithm: string) => createHmac(algorithm, secret).update(body).digest("hex");
  for (let attempt = 0; attempt < 2; attempt++) t.is((await post(`sha256=${sign("sha256")}`)).status, 200);
  t.is((await post(`sha1=${sign("sha1")}`)).status, 401);
  t.is((await post(`sha256=${"0".repeat(64)}`)).status, 401);
  t.is((await post(`sha256=${sign("sha256")}`, { "X-Hub-Signature-256": "sha256=00" })).status, 401);
  const events = await eventsOf(service, 1);
  t.deepEqual(
    events.map(({ text }) => text),
    ["ann sent repo:push"],
  );
});
