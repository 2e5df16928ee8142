import { quantile } from "./frame.ts";
import type { Benchmark } from "./frame.ts";
import { ask, waitForEvents } from "./support/client.ts";
import { API_KEY, LOG, postRequest } from "./support/events.ts";
import type { Job } from "./support/load.ts";
import { clearStorage, startService } from "./support/storage.ts";
import type { Kind } from "./support/storage.ts";

export const POSTS_PER_SECOND = 500;
const P99_MS: Record<Kind, number> = { embedded: 200, cluster: 1_300 };
/** Placeholder for the time of sending. */
export const STAMP = "0".repeat(13);
/** Pause between two reads of the list. */
const PAUSE_MS = 10;
const PAGE = 500;

export const benchmark: Benchmark = {
  name: "freshness",
  about: `delay from post to list at ${POSTS_PER_SECOND} posts/s, all roles in one process | -`,
  async run({ world, report, quick }) {
    const generator = await world.generator();
    const duration_ms = quick ? 2_000 : 10_000;
    const { kind } = world;
    const storage = await world.storage();
    try {
      await using service = await startService(storage);
      // The first event of a month creates its index, which takes some time.
      const { answered } = await generator.run({ ...jobOf(service.postPort, 1), connections: 1 });
      await waitForEvents(service.apiPort, answered);
      const last = await newestId(service.apiPort);
      const measure = async (reader: Reader, rounds: number): Promise<number[][]> => {
        const delays: number[][] = [];
        for (let round = 0; round < rounds; round++) {
          const posting = generator.run(jobOf(service.postPort, duration_ms)).then(({ answered }) => answered);
          delays.push((await Promise.all([reader(posting), posting]))[0]);
        }
        return delays;
      };
      const figures = (name: string, delays: readonly number[][], part: number) => ({
        name: `${name}, ${kind}`,
        unit: "ms" as const,
        ours: { name: "", rounds: delays.map((delays_ms) => quantile(delays_ms, part)) },
      });
      const listReader = createListReader(service.apiPort, last);
      if (!quick) await measure(listReader, 1);
      const listed = await measure(listReader, quick ? 1 : 3);
      report.figure(figures("median delay, newest events", listed, 0.5));
      const target = { kind: "at most", value: P99_MS[kind] } as const;
      report.figure({ ...figures("p99 delay, newest events", listed, 0.99), target });
      const polled = await measure(createPoller(service.apiPort, await newestId(service.apiPort)), 1);
      report.figure(figures("p99 delay, polling by sinceid", polled, 0.99));
    } finally {
      await clearStorage(storage);
    }
  },
};

async function newestId(port: number): Promise<string> {
  const { body } = await ask(port, "/events", { order: "desc", pagesize: "1" });
  return (JSON.parse(body) as { id: string }[])[0]!.id;
}

/** Posts at a fixed rate; each text contains the time of its sending. */
export function jobOf(port: number, duration_ms: number): Job {
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

/** Returns the delay from the sending of each event until it was seen, once all were seen. */
type Reader = (posted: Promise<number>) => Promise<number[]>;

/** Reads until all events are seen. `look` returns new events, and whether to go on at once. */
function createReader(poll: () => Promise<{ readonly fresh: readonly Seen[]; readonly more: boolean }>): Reader {
  return async (posted) => {
    const delays_ms: number[] = [];
    let expected = Infinity;
    void posted.then(
      (count) => (expected = count),
      () => (expected = 0),
    );
    while (delays_ms.length < expected) {
      const { fresh, more } = await poll();
      const now_ms = Date.now();
      for (const { text } of fresh) delays_ms.push(now_ms - Number(text.slice(-STAMP.length)));
      if (!more) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    await posted;
    if (delays_ms.length > expected) throw new Error(`${delays_ms.length} events were seen of ${expected} posted`);
    return delays_ms;
  };
}

type Seen = { readonly id: string; readonly text: string };

async function read(port: number, parameters: Record<string, string>): Promise<Seen[]> {
  const { body } = await ask(port, "/events", { pagesize: String(PAGE), ...parameters });
  return JSON.parse(body) as Seen[];
}

/**
 * Reads the newest events repeatedly, as an analyst with an open page does: page by page while
 * there is anything new, and one page further, since new events shift the others down.
 */
function createListReader(port: number, last: string): Reader {
  const seen = new Set<string>();
  let page = 1;
  let stale = 0;
  return createReader(async () => {
    const events = await read(port, { order: "desc", pagenum: String(page) });
    const fresh = events.filter(({ id }) => id > last && !seen.has(id));
    for (const { id } of fresh) seen.add(id);
    stale = fresh.length > 0 ? 0 : stale + 1;
    const more = page === 1 ? fresh.length > 0 : stale < 2;
    page = more ? page + 1 : 1;
    return { fresh, more };
  });
}

/** Follows the log by the last id seen. */
function createPoller(port: number, last: string): Reader {
  let after = last;
  return createReader(async () => {
    const fresh = await read(port, { sinceid: after });
    for (const { id } of fresh) if (id > after) after = id;
    return { fresh, more: fresh.length === PAGE };
  });
}
