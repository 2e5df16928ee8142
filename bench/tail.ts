import { request } from "node:http";
import type { IncomingMessage } from "node:http";

import { quantile } from "./frame.ts";
import type { Benchmark } from "./frame.ts";
import { jobOf, POSTS_PER_SECOND, STAMP } from "./freshness.ts";
import { waitForEvents } from "./support/client.ts";
import { API_KEY, LOG } from "./support/events.ts";
import { clearStorage, startService } from "./support/storage.ts";
import type { Kind } from "./support/storage.ts";

const P99_MS: Record<Kind, number> = { embedded: 300, cluster: 2_000 };
/** Longest wait for events after the last post. */
const TIMEOUT_MS = 60_000;

export const benchmark: Benchmark = {
  name: "tail",
  about: `delay from post to tail at ${POSTS_PER_SECOND} posts/s, all roles in one process | -`,
  async run({ world, report, quick }) {
    const generator = await world.generator();
    const { kind } = world;
    const storage = await world.storage();
    try {
      await using service = await startService(storage);
      // The first event of a month creates its index, which takes some time.
      const first = await generator.run({ ...jobOf(service.postPort, 1), connections: 1 });
      await waitForEvents(service.apiPort, first.answered);
      const delays: number[][] = [];
      for (let round = 0; round < (quick ? 1 : 4); round++) {
        using tail = await openTail(service.apiPort);
        const { answered } = await generator.run(jobOf(service.postPort, quick ? 2_000 : 10_000));
        await tail.has(answered);
        delays.push(tail.delays_ms);
      }
      // The first round is a warm-up.
      const measured = quick ? delays : delays.slice(1);
      const figure = (part: number) => ({
        unit: "ms" as const,
        ours: { name: "", rounds: measured.map((each) => quantile(each, part)) },
      });
      report.figure({ name: `median delay of a tail, ${kind}`, ...figure(0.5) });
      const target = { kind: "at most", value: P99_MS[kind] } as const;
      report.figure({ name: `p99 delay of a tail, ${kind}`, ...figure(0.99), target });
    } finally {
      await clearStorage(storage);
    }
  },
};

type Tail = Disposable & {
  /** Delay of each event read, from its sending. */
  readonly delays_ms: number[];
  /**
   * Resolves when `count` events were read.
   * @throws Error if there are more, or not enough in time
   */
  has(count: number): Promise<void>;
};

const SENT = new RegExp(`"text":"sent at (\\d{${STAMP.length}})"`);

/** Follows all new events of the log. */
async function openTail(port: number): Promise<Tail> {
  const path = `/1/logs/${LOG}/tail?apikey=${API_KEY}`;
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const asked = request({ host: "127.0.0.1", port, path, headers: { Accept: "text/event-stream" } }, resolve);
  asked.on("error", reject);
  asked.end();
  const response = await promise;
  if (response.statusCode !== 200) throw new Error(`the tail returned status ${response.statusCode}`);
  const delays_ms: number[] = [];
  const opened_ms = Date.now();
  let rest = "";
  let checkCount = (): void => {};
  response.setEncoding("utf8");
  response.on("error", () => {});
  response.on("data", (chunk: string) => {
    const now_ms = Date.now();
    const pieces = (rest + chunk).split("\n\n");
    rest = pieces.pop()!;
    for (const piece of pieces) {
      // Events of the previous round may still appear.
      const sent_ms = Number(SENT.exec(piece)?.[1]);
      if (sent_ms >= opened_ms) delays_ms.push(now_ms - sent_ms);
    }
    checkCount();
  });
  return {
    delays_ms,
    async has(count) {
      const { promise: read, resolve: found, reject: late } = Promise.withResolvers<void>();
      const timer = setTimeout(
        () => late(new Error(`the tail received ${delays_ms.length} of ${count} events`)),
        TIMEOUT_MS,
      );
      checkCount = () => delays_ms.length >= count && found();
      checkCount();
      await read.finally(() => clearTimeout(timer));
      if (delays_ms.length > count) throw new Error(`the tail received ${delays_ms.length} events of ${count} posted`);
    },
    [Symbol.dispose]: () => asked.destroy(),
  };
}
