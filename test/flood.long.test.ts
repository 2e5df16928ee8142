import test from "ava";
import { setTimeout as sleep } from "node:timers/promises";

import { KINDS } from "./support/engine-kinds.ts";
import { get, LOG, post, serviceOf, settled } from "./support/service.ts";
import type { Service } from "./support/service.ts";

const FLOOD = 30_000;
const CONCURRENCY = 64;
const MOST_ATTEMPTS = 30;

/**
 * Returns whether the bus of a cluster did not confirm a post in time. Embedded engines get more
 * time than they need, so that each of their posts is made once.
 */
function isLate(kind: "embedded" | "cluster", { status, body }: Awaited<ReturnType<typeof post>>): boolean {
  const { code } = (body as { error?: { code?: string } }).error ?? {};
  return kind === "cluster" && status === 503 && code === "bus_unavailable";
}

/** Returns the `value` of every event, page by page to the end. */
async function allValues(service: Service): Promise<number[]> {
  const values: number[] = [];
  for (let page = 1; ; page++) {
    const { body } = await get(service, `/1/logs/${LOG}/events?pagesize=500&pagenum=${page}`);
    const rows = body as { value: number }[];
    if (rows.length === 0) return values;
    values.push(...rows.map((row) => row.value));
  }
}

for (const kind of KINDS) {
  test(`${kind}: ${FLOOD} events posted at concurrency ${CONCURRENCY} are all found, each once`, async (t) => {
    t.timeout(900_000);
    const service = await serviceOf(t, kind);
    /** Posts that the bus did not confirm in time, by their attempts: each may be stored. */
    const attempts = new Map<number, number>();
    let next = 0;
    const producer = async (): Promise<void> => {
      while (next < FLOOD) {
        const value = next++;
        const fields = { text: `event ${value}`, value: String(value), source: `source ${value % 10}` };
        let answer = await post(service, fields);
        for (let attempt = 2; attempt <= MOST_ATTEMPTS && isLate(kind, answer); attempt++) {
          attempts.set(value, attempt);
          await sleep(500);
          answer = await post(service, fields);
        }
        if (answer.status !== 201)
          throw new Error(`post ${value} was answered ${answer.status} ${JSON.stringify(answer.body)}`);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, producer));
    await settled(service);
    const values = (await allValues(service)).toSorted((a, b) => a - b);
    const copies = new Map<number, number>();
    for (const value of values) copies.set(value, (copies.get(value) ?? 0) + 1);
    t.deepEqual(
      [...copies.keys()],
      Array.from({ length: FLOOD }, (_, value) => value),
    );
    const excess = [...copies].filter(([value, count]) => count > (attempts.get(value) ?? 1));
    t.deepEqual(excess, [], "no post is stored more often than it was attempted");
    const { body } = await get(
      service,
      `/1/logs/${LOG}/query?query=${encodeURIComponent("GET events GROUPBY source COLUMNS(KEY, COUNT)")}`,
    );
    t.deepEqual(
      body,
      Array.from({ length: 10 }, (_, i) => ({
        key: `source ${i}`,
        count: String(values.filter((value) => value % 10 === i).length),
      })),
    );
  });
}
