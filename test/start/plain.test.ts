import { subscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import { DuckDBConnection } from "@duckdb/node-api";
import test from "ava";
import type { ExecutionContext } from "ava";

import { LineScanner } from "../../src/events/line-scanner.ts";
import { TRICKS } from "../../src/settings/plain.ts";
import type { Trick } from "../../src/settings/plain.ts";
import { BlockIndex } from "../../src/store/duckdb/blocks/block-index.ts";
import { ListTimesCache } from "../../src/store/duckdb/memory/list-times-cache.ts";
import { TimeSums } from "../../src/store/duckdb/memory/time-sums.ts";
import { Nulls } from "../../src/store/duckdb/write/vectors/columns.ts";
import { environmentOf, get, LOG, post, postOnce, settled, startService } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";

/** What happened in this process since the last {@link forget}. */
const seen = { calls: new Set<string>(), sql: [] as string[], forms: 0 };

function forget(): void {
  Object.assign(seen, { calls: new Set(), sql: [], forms: 0 });
}

/** Notes calls of a method, or reads of a property. */
function watch(of: { readonly name: string; readonly prototype: object }, member: string): void {
  const { prototype } = of;
  const before = Object.getOwnPropertyDescriptor(prototype, member)!;
  const key = before.get === undefined ? "value" : "get";
  const original = before[key] as (this: unknown, ...values: unknown[]) => unknown;
  function noted(this: unknown, ...values: unknown[]): unknown {
    seen.calls.add(of.name);
    if (of === DuckDBConnection) seen.sql.push(String(values[0]));
    return original.apply(this, values);
  }
  Object.defineProperty(prototype, member, { ...before, [key]: noted });
}

watch(LineScanner, "next");
watch(BlockIndex, "add");
watch(TimeSums, "get");
watch(ListTimesCache, "writeVersion");
watch(Nulls, "write");
for (const member of ["run", "runAndReadAll", "prepare"]) watch(DuckDBConnection, member);
subscribe("http.server.request.start", (message) => {
  const { request } = message as { readonly request: IncomingMessage };
  if (request.headers["content-type"]?.startsWith("application/x-www-form-urlencoded") === true) seen.forms += 1;
});

/** Whether a service that stored and listed events used a trick. */
const WAS_USED: Readonly<Record<Trick, () => boolean>> = {
  "fast-path": () => seen.forms === 0,
  "line-scanner": () => seen.calls.has("LineScanner"),
  blocks: () => seen.calls.has("BlockIndex"),
  sums: () => seen.calls.has("TimeSums"),
  "list-cache": () => seen.calls.has("ListTimesCache"),
  "list-pages": () => seen.sql.some((sql) => sql.includes("count(*) over ()")),
  "column-statistics": () => seen.sql.some((sql) => sql.startsWith("select exists(from events where")),
  "attribute-columns": () => seen.sql.some((sql) => sql.startsWith("alter table events add column")),
  vectors: () => seen.calls.has("Nulls"),
};

/** Stores events in all ways, and returns what is read of them. */
async function storeAndRead(service: Service): Promise<unknown> {
  const events = Array.from({ length: 40 }, (_, i) => ({
    text: `event ${i} of a batch`,
    created: "2026-03-04T05:06:07Z",
    value: i,
    user: i % 3 === 0 ? "Ärne" : null,
    attributes: { number: i, "a.name": `value ${i % 4}` },
  }));
  await postOnce(service, events);
  await post(service, { text: "one event", created: "2026-03-05T00:00:00Z", tags: "a b" });
  await settled(service);
  const answers = await Promise.all(
    [
      `/1/logs/${LOG}/events?text=batch&pagesize=20&order=desc`,
      `/1/logs/${LOG}/query?query=${encodeURIComponent("GET events WHERE @number = 7")}`,
      `/1/logs/${LOG}/query?query=${encodeURIComponent("GET events GROUPBY DAY COLUMNS(KEY, COUNT, SUM(value))")}`,
    ].map((path) => get(service, path)),
  );
  return answers.map(({ status, headers, body }) => ({
    status,
    total: headers.get("x-total-count"),
    body: JSON.parse(JSON.stringify(body, (key, value: unknown) => (key === "id" ? undefined : value))) as unknown,
  }));
}

/** Runs a service without some tricks. @returns what is read, and the tricks that it did not use */
async function run(t: ExecutionContext, plain: string) {
  const environment = environmentOf("embedded", temporaryFolder(t));
  forget();
  const service = await startService({ ...environment, LOGGIA_PLAIN: plain });
  t.teardown(() => service.close());
  const answers = await storeAndRead(service);
  return { answers, unused: TRICKS.filter((trick) => !WAS_USED[trick]()) };
}

test.serial(
  "a service uses every trick, unless its name is left out by LOGGIA_PLAIN, and answers the same",
  async (t) => {
    t.timeout(120_000);
    const { answers, unused } = await run(t, "");
    t.deepEqual(unused, []);
    t.deepEqual(
      (answers as { status: number }[]).map(({ status }) => status),
      [200, 200, 200],
    );
    for (const trick of TRICKS) t.deepEqual(await run(t, trick), { answers, unused: [trick] }, trick);
    t.deepEqual(await run(t, TRICKS.join(",")), { answers, unused: [...TRICKS] });
  },
);
