import test from "ava";

import { DEFAULT_LIMITS, largestForm_bytes } from "../../../src/events/limits.ts";
import { KEY, LOG, serviceOf } from "../../support/service.ts";
import type { Service } from "../../support/service.ts";
import { dataOf, eventsOf } from "../posting.ts";

const { text: TEXT, data: DATA } = DEFAULT_LIMITS;
const CHARACTER = "\u{1f600}";

async function postForm(service: Service, fields: Record<string, string>): Promise<{ status: number; body: string }> {
  const form = new URLSearchParams({ apikey: KEY, ...fields });
  const response = await fetch(`${service.postUrl}/1/logs/${LOG}/events`, { method: "POST", body: form });
  return { status: response.status, body: await response.text() };
}

test("a form with text and data at their limits is stored whole", async (t) => {
  const service = await serviceOf(t, "embedded");
  const fields = { text: CHARACTER.repeat(TEXT), data: CHARACTER.repeat(DATA) };
  t.is((await postForm(service, fields)).status, 201);
  const [event] = await eventsOf(service, 1);
  t.is(event!.text, fields.text);
  t.is(await dataOf(service, event!.id), fields.data);
});

test("a form beyond the limits leaves an error event with all of what was posted", async (t) => {
  const service = await serviceOf(t, "embedded");
  const data = `${'a"'.repeat(DATA)}\u0001 end`;
  const { status, body } = await postForm(service, { text: "x", data });
  t.is(status, 400);
  t.regex(body, new RegExp(`data has ${data.length} characters, at most ${DATA} are allowed`));
  const [event] = await eventsOf(service, 1);
  t.deepEqual(JSON.parse(await dataOf(service, event!.id)), { text: "x", data });
});

test("an error event of a form of control characters fits a record of the bus", async (t) => {
  const service = await serviceOf(t, "embedded");
  const body = `apikey=${KEY}&text=x&data=${"\u0001".repeat(1_000_000)}`;
  const { status } = await fetch(`${service.postUrl}/1/logs/${LOG}/events`, { method: "POST", body });
  t.is(status, 400);
  const [event] = await eventsOf(service, 1);
  const posted = await dataOf(service, event!.id);
  t.true(posted.endsWith("…"));
  t.true(Buffer.byteLength(JSON.stringify(posted)) < 1_000_000);
});

test("a form above its bound is 413", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { status, body } = await postForm(service, { text: "x".repeat(largestForm_bytes(DEFAULT_LIMITS)) });
  t.is(status, 413, body);
});

test("a form with too many fields is 413, with a valid key and without", async (t) => {
  const service = await serviceOf(t, "embedded");
  const url = `${service.postUrl}/1/logs/${LOG}/events`;
  const post = async (key: string, pairs: number) => {
    const response = await fetch(url, { method: "POST", body: `apikey=${key}&text=x${"&a=1".repeat(pairs - 2)}` });
    return { status: response.status, body: await response.text() };
  };
  t.is((await post(KEY, 2_000)).status, 201);
  for (const key of [KEY, "unknown"]) {
    const { status, body } = await post(key, 2_001);
    t.is(status, 413);
    t.regex(body, /A form may hold at most 2000 fields/);
  }
});
