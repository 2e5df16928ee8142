import { once } from "node:events";
import { Worker } from "node:worker_threads";
import test from "ava";
import type { ExecutionContext } from "ava";

import { environmentOf, KEY, LOG, startService } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { longestHold_ms } from "../support/turns.ts";
import { until } from "../support/until.ts";
import type { Sending } from "./sender.ts";
import { gzipped, rawStreams, worstBytes, worstJson } from "./shapes.ts";

/** Twice that of decoders alone: it includes collecting the garbage of the whole service. */
const LIMIT_MS = 50;
/** Attempts for a request, because collecting garbage may lengthen any of them. */
const ATTEMPTS = 10;
const SIZE_BYTES = 300_000;
/** Each request takes seconds, so only every so many of the bodies that decoders are tested with. */
const EVERY = 61;

type Scene = { readonly service: Service; readonly send: (sending: Sending) => Promise<string> };

/** A service with a listener of each protocol, and a thread that sends to it. */
async function scene(t: ExecutionContext): Promise<Scene> {
  const sockets = (...transports: string[]) => transports.map((one) => `${one}://127.0.0.1:0/${LOG}`).join(",");
  const service = await startService({
    ...environmentOf("embedded", temporaryFolder(t)),
    LOGGIA_LINES: sockets("tcp", "udp"),
    LOGGIA_GELF: sockets("tcp", "udp"),
    LOGGIA_SYSLOG: sockets("tcp", "udp"),
    LOGGIA_FORWARD: sockets("tcp"),
  });
  t.teardown(() => service.close());
  const worker = new Worker(new URL("sender.ts", import.meta.url));
  t.teardown(() => worker.terminate());
  const send = async (sending: Sending): Promise<string> => {
    worker.postMessage(sending, []);
    const [status] = (await once(worker, "message")) as [string];
    return status;
  };
  return { service, send };
}

/** Returns the longest hold of the thread while a request is answered and its events are stored. */
async function holdOf(
  { service, send }: Scene,
  sending: Sending,
): Promise<{ readonly hold_ms: number; readonly status: string }> {
  let best: { hold_ms: number; status: string } | null = null;
  for (let attempt = 0; attempt < ATTEMPTS && (best === null || best.hold_ms > LIMIT_MS); attempt++) {
    const { longest_ms, answer } = await longestHold_ms(async () => {
      const status = await send(sending);
      await settled(service);
      return status;
    });
    if (best === null || longest_ms < best.hold_ms) best = { hold_ms: longest_ms, status: answer };
  }
  return best!;
}

/** Resolves once the pipeline has stored everything. */
async function settled({ ports }: Service): Promise<void> {
  await until(async () => (await ports.bus.lag("events", "pipeline")).every(({ end, next }) => end === next) || null, {
    what: "all events to be stored",
  });
}

test("no request to the posting listener holds the thread", async (t) => {
  t.timeout(600_000);
  const made = await scene(t);
  const port = Number(new URL(made.service.postUrl).port);
  let n = 0;
  const isChosen = (): boolean => n++ % EVERY === 0;
  for (const requests of [worstBytes(SIZE_BYTES, isChosen), worstJson(SIZE_BYTES, isChosen)]) {
    for (const request of requests) {
      for (const given of [request, gzipped(request)]) {
        const { hold_ms, status } = await holdOf(made, { to: "http", port, key: KEY, request: given });
        t.regex(status, /^HTTP\/1\.1 [24]\d\d /, given.name);
        t.true(hold_ms <= LIMIT_MS, `${given.name}: ${hold_ms} ms`);
      }
    }
  }
});

test("no bytes sent to a listener hold the thread", async (t) => {
  t.timeout(600_000);
  const made = await scene(t);
  let n = 0;
  for (const { protocol, transport, port } of made.service.listeners) {
    for (const { name, bytes } of rawStreams(SIZE_BYTES)) {
      if (name.startsWith("forwarded") !== (protocol === "forward") || n++ % 4 > 0) continue;
      const { hold_ms } = await holdOf(made, { to: transport, port, bytes });
      t.true(hold_ms <= LIMIT_MS, `${protocol} ${transport}, ${name}: ${hold_ms} ms`);
    }
  }
});
