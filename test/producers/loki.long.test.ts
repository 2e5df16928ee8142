import test from "ava";
import { once } from "node:events";
import { pino } from "pino";
import { pinoLoki } from "pino-loki";

import { eventsOf } from "../ingest/posting.ts";
import { KINDS } from "../support/engine-kinds.ts";
import { KEY, serviceOf } from "../support/service.ts";

const COUNT = 1_000;

for (const kind of KINDS) {
  test(`${kind}: pino-loki posts`, async (t) => {
    const service = await serviceOf(t, kind);
    const stream = pinoLoki({
      host: service.postUrl,
      basicAuth: { username: "any", password: KEY },
      labels: { app: "shop" },
      structuredMetaKey: "meta",
      batching: { interval: 1, maxBufferSize: 10_000 },
      silenceErrors: false,
    });
    const logger = pino({ level: "trace" }, stream);
    for (let i = 0; i < COUNT; i++) {
      logger.error({ n: i, req: { id: `r${i}`, ok: true }, meta: { traceID: `t${i}` } }, `order ${i} é`);
    }
    stream.end();
    await once(stream, "close");
    const events = new Map((await eventsOf(service, COUNT)).map((event) => [event.text, event]));
    t.is(events.size, COUNT);
    for (let i = 0; i < COUNT; i++) {
      t.like(events.get(`order ${i} é`), {
        source: "shop",
        tags: ["error"],
        attributes: {
          n: i,
          level: 50,
          "label.level": "error",
          "req.id": `r${i}`,
          "req.ok": true,
          traceID: `t${i}`,
          app: "shop",
        },
      });
    }
  });
}
