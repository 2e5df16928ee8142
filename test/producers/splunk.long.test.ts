import test from "ava";
import splunk from "splunk-logging";

import { eventsOf } from "../ingest/posting.ts";
import { KINDS } from "../support/engine-kinds.ts";
import { KEY, serviceOf } from "../support/service.ts";

const COUNT = 1_000;

for (const kind of KINDS) {
  test(`${kind}: splunk-logging posts`, async (t) => {
    const service = await serviceOf(t, kind);
    const logger = new splunk.Logger({ token: KEY, url: service.postUrl, maxBatchCount: 0 });
    const time_s = 1_700_000_000;
    for (let i = 0; i < COUNT; i++) {
      logger.send({
        message: `order ${i} é }{`,
        severity: "warn",
        metadata: { time: time_s + i / 1000, host: "box", source: "shop", sourcetype: "app", index: "main" },
      });
    }
    await new Promise<void>((resolve, reject) => {
      logger.flush((error, _response, body) => {
        if (error !== null && error !== undefined) return reject(error);
        t.like(body, { code: 0 });
        resolve();
      });
    });
    const events = new Map((await eventsOf(service, COUNT)).map((event) => [event.text, event]));
    t.is(events.size, COUNT);
    for (let i = 0; i < COUNT; i++) {
      const event = events.get(`order ${i} é }{`)!;
      t.like(event, {
        source: "shop",
        tags: ["warn"],
        attributes: { host: "box", source: "shop", sourcetype: "app", index: "main", severity: "warn" },
      });
      t.true(event.created.includes(String(time_s * 1000 + i)), event.created);
    }
  });
}
