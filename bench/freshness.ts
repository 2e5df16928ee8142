import { quantile } from "./frame.ts";
import type { Benchmark } from "./frame.ts";
import { ask, holds } from "./support/client.ts";
import { LOG, postRequest } from "./support/events.ts";
import type { Job } from "./support/load.ts";
import { API_KEY, clearPlace, startService } from "./support/places.ts";
import type { Kind } from "./support/places.ts";

const POSTS_PER_SECOND = 500;
const P99_MS: Record<Kind, number> = { embedded: 200, cluster: 1_300 };
const STAMP = "0".repeat(13);
/** Between two looks at the list. */
const PAUSE_MS = 10;
const PAGE = 500;

export const benchmark: Benchmark = {
  name: "freshness",
  about: `from post until seen in a list, at ${POSTS_PER_SECOND} posts a second, the whole service in one process | -`,
  async run({ world, report, quick }) {
    const generator = await world.generator();
    const duration_ms = quick ? 2_000 : 10_000;
    for (const kind of world.kinds) {
      const place = await world.place(kind);
      try {
        await using service = await startService(place);
        // The first event of a month makes its index, which takes a moment of its own.
        const { answered } = await generator.run({ ...jobOf(service.postPort, 1), connections: 1 });
        await holds(service.apiPort, answered);
        const reader = createReader(service.apiPort, await newestId(service.apiPort));
        const p50: number[] = [];
        const p99: number[] = [];
        for (let round = 0; round < (quick ? 1 : 4); round++) {
          const posting = generator.run(jobOf(service.postPort, duration_ms)).then(({ answered }) => answered);
          const [delays_ms] = await Promise.all([reader(posting), posting]);
          // The first round warms up.
          if (round === 0 && !quick) continue;
          p50.push(quantile(delays_ms, 0.5));
          p99.push(quantile(delays_ms, 0.99));
        }
        report.figure({ name: `median until seen, ${kind}`, unit: "ms", ours: { name: "", rounds: p50 } });
        const target = { kind: "at most", value: P99_MS[kind] } as const;
        report.figure({ name: `p99 until seen, ${kind}`, unit: "ms", ours: { name: "", rounds: p99 }, target });
      } finally {
        await clearPlace(place);
      }
    }
  },
};

async function newestId(port: number): Promise<string> {
  const { body } = await ask(port, "/events", { order: "desc", pagesize: "1" });
  return (JSON.parse(body) as { id: string }[])[0]!.id;
}

function jobOf(port: number, duration_ms: number): Job {
  const form = new URLSearchParams({ apikey: API_KEY, text: `sent at ${STAMP}`, tags: "fresh", value: "1" });
  const requests = [postRequest(`/1/logs/${LOG}/events`, form.toString())];
  return {
    host: "127.0.0.1",
    port,
    connections: 16,
    requests,
    stamp: STAMP,
    perSecond: POSTS_PER_SECOND,
    duration_ms,
    expect: 201,
  };
}

/** Follows the log as a poller does, by the last id that it saw, and answers how long after its sending it saw each event. */
function createReader(port: number, last: string): (posted: Promise<number>) => Promise<number[]> {
  let after = last;
  return async (posted) => {
    const delays_ms: number[] = [];
    let expected = Infinity;
    void posted.then(
      (count) => (expected = count),
      () => (expected = 0),
    );
    while (delays_ms.length < expected) {
      const { body } = await ask(port, "/events", { pagesize: String(PAGE), sinceid: after });
      const now_ms = Date.now();
      const events = JSON.parse(body) as { id: string; text: string }[];
      for (const { text } of events) delays_ms.push(now_ms - Number(text.slice(-STAMP.length)));
      for (const { id } of events) if (id > after) after = id;
      if (events.length < PAGE) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    await posted;
    if (delays_ms.length > expected) throw new Error(`Of ${expected} events ${delays_ms.length} were seen`);
    return delays_ms;
  };
}
