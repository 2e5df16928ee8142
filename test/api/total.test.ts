import test from "ava";

import { KINDS } from "../support/engine-kinds.ts";
import { get, LOG, postOnce, serviceOf } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { until } from "../support/until.ts";

const COUNT = 10_003;

async function fill(service: Service): Promise<void> {
  for (let from = 0; from < COUNT; from += 5_000) {
    const events = Array.from({ length: Math.min(5_000, COUNT - from) }, (_, i) => ({
      text: `line ${from + i}`,
      source: from + i < 7 ? "few" : "many",
    }));
    await postOnce(service, events);
  }
  const count = async () =>
    (await get(service, `/1/logs/${LOG}/events?pagesize=1&total=exact`)).headers.get("x-total-count");
  await until(async () => (await count()) === String(COUNT), { what: "all events" });
}

for (const kind of KINDS) {
  test(`${kind}: totals are exact up to 10,000, and beyond with total=exact`, async (t) => {
    t.timeout(300_000);
    const service = await serviceOf(t, kind);
    await fill(service);
    const ask = async (path: string) => {
      const { status, headers, body } = await get(service, `/1/logs/${LOG}/${path}`);
      return {
        status,
        body: body as readonly unknown[],
        count: headers.get("x-total-count"),
        least: headers.get("x-total-at-least"),
        links: Array.from((headers.get("link") ?? "").matchAll(/rel="(\w+)"/g), ([, relation]) => relation),
      };
    };
    const query = (text: string) => `query?query=${encodeURIComponent(text)}`;

    for (const path of [
      "events?pagesize=2",
      query("GET events TAKE 2"),
      query("GET events WHERE text MATCHES 'line'"),
    ]) {
      const { count, least } = await ask(path);
      t.deepEqual([count, least], [null, "10000"], path);
    }
    const exact = await ask("events?pagesize=2&total=exact");
    t.deepEqual([exact.count, exact.least], [String(COUNT), null]);
    t.is((await ask(`${query("GET events TAKE 2")}&total=exact`)).count, String(COUNT));
    t.is((await ask("events?source=few")).count, "7");
    t.is((await ask("events?text=line+1")).count, "1114");

    t.deepEqual((await ask("events?pagesize=500&pagenum=20")).links, ["next", "prev"]);
    const last = await ask("events?pagesize=500&pagenum=21");
    t.is(last.body.length, 3);
    t.deepEqual([last.count, last.least, last.links], [null, "10000", ["prev"]]);
    const beyond = await ask("events?pagesize=500&pagenum=40");
    t.deepEqual([beyond.body, beyond.links], [[], ["prev"]]);

    t.is((await ask("events?total=all")).status, 400);
    t.is((await ask(`${query("GET events TAKE 2")}&total=1`)).status, 400);
  });
}
