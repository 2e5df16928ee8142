import test from "ava";
import { setTimeout as sleep } from "node:timers/promises";

import {
  environmentOf,
  get,
  KINDS,
  LOG,
  post,
  postOnce,
  serviceOf,
  settled,
  startService,
  type Service,
} from "./support/service.ts";
import { temporaryFolder } from "./support/temporary.ts";
import { until } from "./support/until.ts";

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

  test(`${kind}: events posted before a restart are there after it`, async (t) => {
    const environment = environmentOf(kind, temporaryFolder(t));
    const first = await startService(environment);
    t.truthy(first.first?.admin);
    const { id } = await postOnce(first, { text: "before" });
    await first.close();
    const second = await startService(environment);
    t.teardown(() => second.close());
    t.is(second.first, null);
    const found = await until(async () => ((await get(second, `/1/logs/${LOG}/events`)).body as { id: string }[])[0], {
      what: "the event of the first life",
    });
    t.deepEqual({ id: found.id }, { id });
    const after = await postOnce(second, { text: "after" });
    t.true((after.id ?? "") > found.id);
  });
}

test("a port in use stops startup with one line and leaves nothing open", async (t) => {
  const service = await serviceOf(t, "embedded");
  const folder = temporaryFolder(t);
  const environment = { ...environmentOf("embedded", folder), LOGGIA_POST: `127.0.0.1:${service.post?.port}` };
  const error = await t.throwsAsync(() => startService(environment), { name: "StartError" });
  t.regex(
    error?.message ?? "",
    /^posting can't listen on 127\.0\.0\.1:\d+: another process listens there; LOGGIA_POST sets another address$/,
  );
  const again = await startService({ ...environment, LOGGIA_POST: "127.0.0.1:0" });
  await again.close();
});

test("a folder of a running service is refused in one line", async (t) => {
  const environment = environmentOf("embedded", temporaryFolder(t));
  const service = await startService(environment);
  t.teardown(() => service.close());
  const error = await t.throwsAsync(() => startService(environment), { name: "StartError" });
  t.false(error?.message.includes("\n"));
  t.regex(error?.message ?? "", /bus\.sqlite/);
});

test("unreachable engines stop startup with one line that names them", async (t) => {
  const nowhere = {
    ...environmentOf("embedded", temporaryFolder(t)),
    KAFKA_BROKERS: "127.0.0.1:1",
    ELASTICSEARCH_URL: "http://127.0.0.1:1",
  };
  const error = await t.throwsAsync(() => startService(nowhere), { name: "StartError" });
  t.false(error?.message.includes("\n"));
  t.regex(error?.message ?? "", /127\.0\.0\.1:1/);
});
