import test from "ava";

import { AUTHORIZATION, get, LOG, serviceOf } from "../support/service.ts";
import { rows, run, shipTo } from "./ship-runs.ts";

type Attributed = { readonly text: string; readonly attributes: Readonly<Record<string, unknown>> };

test("lines that claim a time ahead are stored, and keep it", async (t) => {
  const service = await serviceOf(t, "embedded");
  const ahead = new Date(Date.now() + 3_600_000).toISOString();
  const input = Array.from({ length: 250 }, (_, n) => `${ahead} line ${n}`).join("\n");
  const words = shipTo(service.postUrl, "--pattern", String.raw`^(?<created>\S+) (?<text>.*)$`);
  const { code, out } = await run(words, { input });
  t.is(out, "posted 250, failed 0, retried 0\n");
  t.is(code, 0);
  await rows(service, 250);
  const { body } = await get(service, `/1/logs/${LOG}/events?pagesize=500&attributes=true`);
  const events = body as Attributed[];
  t.is(events.length, 250);
  t.true(events.every(({ attributes }) => attributes["claimed_created"] === ahead));
});

test("lines that are older than the log keeps are counted, and lines without a time keep what they have", async (t) => {
  const service = await serviceOf(t, "embedded");
  const changed = await fetch(`${service.apiUrl}/manage/1/logs/${LOG}`, {
    method: "PATCH",
    headers: { Authorization: AUTHORIZATION, "Content-Type": "application/json" },
    body: JSON.stringify({ retentionDays: 30 }),
  });
  t.true(changed.ok);
  const words = shipTo(service.postUrl, "--pattern", String.raw`^(?<created>\S+) (?<text>.*)$`);
  const { code, out, err } = await run(words, {
    input: "2011-06-19T13:54:33Z old\n12.345678 usb 1-1\n20190501 invoice\n",
  });
  t.is(out, "posted 2, failed 1, retried 0\n");
  t.is(code, 1);
  t.regex(err, /\nloggia: 1 line is older than the log keeps events, and not stored; /);
  await rows(service, 2);
  const { body } = await get(service, `/1/logs/${LOG}/events?attributes=true`);
  const events = new Map((body as Attributed[]).map(({ text, attributes }) => [text, attributes]));
  t.deepEqual(events.get("usb 1-1"), { created: "12.345678" });
  t.deepEqual(events.get("invoice"), { created: "20190501" });
});
