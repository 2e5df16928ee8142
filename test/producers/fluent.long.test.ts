import fluent from "fluent-logger";
import test from "ava";

import { listeningService, metricOf, portOf } from "../ingest/listeners/sockets.ts";
import { eventsOf } from "../ingest/posting.ts";
import { KINDS } from "../support/engine-kinds.ts";
import { LOG } from "../support/service.ts";

const COUNT = 1_000;
const START_MS = 1_763_632_800_000;
const KEY = "shared-between-both";
/** The module's types lack both of these. */
type Sender = ReturnType<typeof fluent.createFluentSender> & {
  on(name: "error", listener: (error: unknown) => void): void;
};
const create = fluent.createFluentSender as (tag: string, options: object) => Sender;
const times = fluent.EventTime as unknown as { fromTimestamp(ms: number): number };

for (const kind of KINDS) {
  for (const [name, eventMode, sharedKey] of [
    ["messages", "Message", null],
    ["packed messages", "PackedForward", null],
    ["compressed messages", "CompressedPackedForward", null],
    ["packed messages with a shared key", "PackedForward", KEY],
  ] as const) {
    test(`${kind}: fluent-logger posts ${name}, and gets each acknowledged`, async (t) => {
      const parameters = sharedKey === null ? "" : `?shared_key=${sharedKey}`;
      const service = await listeningService(t, { LOGGIA_FORWARD: `tcp://127.0.0.1:0/${LOG}${parameters}` }, kind);
      const options = {
        host: "127.0.0.1",
        port: portOf(service),
        eventMode,
        requireAckResponse: true,
        flushInterval: 20,
        milliseconds: true,
        ...(sharedKey !== null && { security: { clientHostname: "client.local", sharedKey } }),
      };
      const sender = create("shop", options);
      const errors: unknown[] = [];
      sender.on("error", (error: unknown) => errors.push(error));
      await Promise.all(
        Array.from({ length: COUNT }, (_, n) => {
          const record = {
            message: `order ${n} é`,
            level: "error",
            n,
            half: n + 0.5,
            ok: n % 2 === 0,
            nested: { list: ["a", n] },
          };
          const time = times.fromTimestamp(START_MS + n);
          return new Promise<void>((resolve, reject) => {
            sender.emit("orders", record, time, (error) => (error ? reject(error) : resolve()));
          });
        }),
      );
      await new Promise<void>((resolve) => sender.end("end", { message: "end" }, () => resolve()));
      t.deepEqual(errors, []);
      t.true((await metricOf(service, "events_total", "forward")) >= COUNT, "before the client heard of them");
      const events = new Map((await eventsOf(service, COUNT + 1)).map((event) => [event.text, event]));
      t.is(events.size, COUNT + 1);
      for (let n = 0; n < COUNT; n++) {
        const event = events.get(`order ${n} é`)!;
        t.like(event, { source: "shop.orders", tags: ["error"] });
        t.like(event.attributes, { n, half: n + 0.5, ok: n % 2 === 0, tag: "shop.orders" });
        t.true(event.created.includes(String(START_MS + n)), event.created);
      }
    });
  }
}
