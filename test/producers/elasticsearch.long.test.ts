import { Client } from "@elastic/elasticsearch";
import test from "ava";
import { once } from "node:events";
import type { Transform } from "node:stream";
import { pino } from "pino";
import pinoElasticsearch from "pino-elasticsearch";

import { eventsOf } from "../ingest/posting.ts";
import { KINDS } from "../support/engine-kinds.ts";
import { KEY, serviceOf } from "../support/service.ts";

const COUNT = 1_000;
/** The module's types lack the call signature of its export. */
const openStream = pinoElasticsearch as unknown as (options: object) => Transform;

for (const kind of KINDS) {
  for (const operation of ["index", "create"] as const) {
    test(`${kind}: the bulk helper of @elastic/elasticsearch posts by ${operation} without duplicates`, async (t) => {
      const service = await serviceOf(t, kind);
      await using client = new ClosingClient({
        node: service.postUrl,
        auth: { apiKey: { id: "any", api_key: KEY } },
        compression: true,
      });
      const documents = Array.from({ length: COUNT }, (_, i) => ({
        "@timestamp": new Date(Date.now() - i).toISOString(),
        message: `order ${i}`,
        log: { level: i % 2 === 0 ? "warn" : "error" },
        service: { name: "shop" },
        user: { name: `user-${i % 7}` },
        trace: { id: `t${i}` },
        n: i,
        half: i + 0.5,
        ok: true,
        list: ["a", "b"],
      }));
      const post = () =>
        client.helpers.bulk({
          datasource: documents,
          flushBytes: 20_000,
          onDocument: ({ n }) => ({ [operation]: { _index: "orders", _id: `id-${n}` } }) as never,
          refreshOnCompletion: true,
        });
      t.like(await post(), { total: COUNT, successful: COUNT, failed: 0 });
      const again = await post();
      t.is(again.total, COUNT);
      const events = new Map((await eventsOf(service, COUNT)).map((event) => [event.text, event]));
      t.is(events.size, COUNT);
      for (const { n } of documents) {
        t.like(events.get(`order ${n}`), {
          source: "shop",
          user: `user-${n % 7}`,
          tags: [n % 2 === 0 ? "warn" : "error"],
          attributes: {
            n,
            half: n + 0.5,
            ok: true,
            list: ["a", "b"],
            "trace.id": `t${n}`,
            _index: "orders",
            _id: `id-${n}`,
          },
        });
      }
    });
  }
}

class ClosingClient extends Client {
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

for (const kind of KINDS) {
  test(`${kind}: pino-elasticsearch posts`, async (t) => {
    const service = await serviceOf(t, kind);
    const stream = openStream({
      node: service.postUrl,
      auth: { apiKey: KEY },
      index: "app",
      esVersion: 8,
      flushBytes: 5_000,
    });
    const dropped: unknown[] = [];
    stream.on("insertError", (error: unknown) => dropped.push(error));
    const logger = pino({ level: "trace", base: { service: "shop", pid: 7 } }, stream);
    for (let i = 0; i < COUNT; i++) logger.warn({ n: i, req: { id: `r${i}`, ok: true } }, `order ${i}`);
    const inserted = once(stream, "insert");
    stream.end();
    await inserted;
    t.deepEqual(dropped, []);
    const events = new Map((await eventsOf(service, COUNT)).map((event) => [event.text, event]));
    t.is(events.size, COUNT);
    for (let i = 0; i < COUNT; i++) {
      t.like(events.get(`order ${i}`), {
        source: "shop",
        tags: ["warn"],
        attributes: { n: i, "req.id": `r${i}`, "req.ok": true, pid: 7, _index: "app" },
      });
    }
  });
}
