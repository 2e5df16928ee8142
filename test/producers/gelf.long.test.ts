import test from "ava";
import gelf from "gelf-pro";
import type { Adapter, Logger, Settings } from "gelf-pro";

import { listeningService, metricOf, portOf } from "../ingest/listeners/sockets.ts";
import { eventsOf } from "../ingest/posting.ts";
import { KINDS } from "../support/engine-kinds.ts";
import { LOG } from "../support/service.ts";
import { until } from "../support/until.ts";

const COUNT = 1_000;
const AT_ONCE = 50;
const TIME_S = 1_763_632_800;

/** Returns a client with an adapter of its own. All others of the process share one, options included. */
function clientOf(settings: Partial<Settings>): Logger {
  const client = Object.create(gelf) as Logger & { adapter: Adapter; readonly config: Settings };
  client.setConfig(settings);
  client.adapter = Object.create(client.getAdapter()) as Adapter;
  client.adapter.setOptions(client.config.adapterOptions);
  return client;
}

for (const kind of KINDS) {
  for (const transport of ["udp", "tcp"] as const) {
    test(`${kind}: gelf-pro posts by ${transport.toUpperCase()}`, async (t) => {
      const service = await listeningService(t, { LOGGIA_GELF: `${transport}://127.0.0.1:0/${LOG}` }, kind);
      const client = clientOf({
        adapterName: transport,
        adapterOptions: {
          host: "127.0.0.1",
          port: portOf(service, transport),
          ...(transport === "tcp" && { family: 4, timeout: 60_000 }),
        },
        fields: { service: "shop" },
      });
      for (let from = 0; from < COUNT; from += AT_ONCE) {
        await Promise.all(
          Array.from({ length: AT_ONCE }, (_, i) => {
            const n = from + i;
            const extra = {
              n,
              half: n + 0.5,
              nested: { id: `x${n}` },
              timestamp: TIME_S + n / 1000,
              full_message: `order ${n} é, all of it`,
            };
            return new Promise<void>((resolve, reject) => {
              client.message(`order ${n} é`, 4, extra, (error) => (error instanceof Error ? reject(error) : resolve()));
            });
          }),
        );
        if (transport === "tcp") continue;
        // The system's buffer for a socket does not hold all of them.
        const stored = async () => (await metricOf(service, "events_total", "gelf_udp")) >= from + AT_ONCE;
        await until(stored, { what: `${from + AT_ONCE} messages to be stored` });
      }
      const events = new Map((await eventsOf(service, COUNT)).map((event) => [event.text, event]));
      t.is(events.size, COUNT);
      for (let n = 0; n < COUNT; n++) {
        const event = events.get(`order ${n} é`)!;
        t.like(event, { source: "shop", tags: ["warn"], data: true });
        t.like(event.attributes, { n, half: n + 0.5, nested_id: `x${n}`, service: "shop" });
        t.true(event.created.includes(String(TIME_S * 1000 + n)), event.created);
      }
    });
  }
}
