import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { LogKey } from "../../src/events/event.ts";
import { encodeRecord } from "../../src/events/record.ts";
import { environmentOf, get, LOG, post, startService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { mutate } from "./random.ts";
import type { Random } from "./random.ts";
import { Fault } from "./target.ts";

const LINES = [
  '{"id":"6b01546226800000168a1671","created":1795249250616,"text":"hello","tags":["a"],"value":1,"geo":{"lat":1,"lon":2}}',
  '{"id":"6b01546226800000168a1672","created":1795249250616,"text":"hello","user":"carla","data":"x"}',
  '{"id":"6b01546226800000168a1674","created":1795249250616,"text":"a 1","attributes":{"10":1,"a":["x",true],"b.c":"5"}}',
  '{"visit":"6b01546226800000168a1673","created":1795249250616,"user":"carla","email":"c@example.org","page":"/"}',
];

const BATCH = 200;

/**
 * Writes records to the topic itself, bypassing the posting address. Each must be stored or become
 * a dead letter, and the pipeline must continue.
 */
export async function fuzzTopic(kind: "embedded" | "cluster", random: Random, deadline_ms: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "loggia-fuzz-"));
  const clear = (): void => rmSync(folder, { recursive: true, force: true });
  process.once("exit", clear);
  const service = await startService(environmentOf(kind, folder));
  let dead: unknown = null;
  service.done.catch((error: unknown) => (dead = error));
  let tries = 0;
  try {
    while (performance.now() < deadline_ms) {
      const records = Array.from({ length: BATCH }, () => {
        const whole = encodeRecord(
          LOG as LogKey,
          Array.from({ length: 1 + random.below(3) }, () => random.oneOf(LINES)),
        );
        const value = random.percent(10) ? random.bytes(random.below(500)) : mutate(random, whole);
        return { key: random.percent(80) ? LOG : random.bytes(8).toString("hex"), value };
      });
      await service.ports.bus.append("events", records, { deadline_ms: 20_000 });
      tries += records.length;
      const { body } = await post(service, { text: "behind them" });
      const path = `/1/logs/${LOG}/events`;
      await until(async () => (await get(service, `${path}/${body.id}`)).status === 200, {
        what: `the event behind ${tries} hostile records`,
        timeout_ms: 60_000,
      });
      for (const fmt of ["json", "xml", "jsonp&callback=f"]) {
        const list = await fetch(
          `${service.apiUrl}${path}?apikey=key-of-the-first-log&order=desc&pagesize=500&attributes=true&fmt=${fmt}`,
        );
        if (list.status !== 200)
          throw new Fault(`after hostile records a list in ${fmt} is ${list.status}: ${await list.text()}`);
        await list.text();
      }
      if (dead !== null)
        throw new Fault(`after hostile records the pipeline has died: ${String(dead)}`, { cause: dead });
    }
    return tries;
  } finally {
    await service.close();
    process.off("exit", clear);
    clear();
  }
}
