import test from "ava";
import { join } from "node:path";

import { AUTHORIZATION, environmentOf, postOnce, settled, startService } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const BATCHES = 20_000;
/** Long readers start again after this many posts. */
const ROUND = 2_000;
const AT_ONCE = 64;
/** SQLite checkpoints at 1,000 pages of 4 KB; a commit of the bus may hold 8 MB beyond that. */
const SQLITE_LIMIT_BYTES = 16_000_000;
/** DuckDB checkpoints at 64 MB. The limit is that of releases that did at 128 MB. */
const DUCKDB_LIMIT_BYTES = 144_000_000;

async function walsOf({ apiUrl }: Service): Promise<Map<string, number>> {
  const text = await (await fetch(`${apiUrl}/metrics`)).text();
  const sizes = [...text.matchAll(/^loggia_wal_bytes\{file="([^"]+)"\} (\S+)$/gm)];
  return new Map(sizes.map(([, file = "", size]) => [file, Number(size)]));
}

async function manage(service: Service, path: string, body: object): Promise<number> {
  const headers = { Authorization: AUTHORIZATION, "Content-Type": "application/json" };
  const url = `${service.apiUrl}/manage/1/${path}`;
  return (await fetch(url, { method: "POST", headers, body: JSON.stringify(body) })).status;
}

test("no write-ahead log exceeds its limit under tens of thousands of keyed batches, a replay and backups", async (t) => {
  t.timeout(1_200_000);
  const folder = temporaryFolder(t);
  const service = await startService(environmentOf("embedded", join(folder, "data")));
  t.teardown(() => service.close());
  const largest = new Map<string, number>();
  let posted = 0;
  let copies = 0;
  // On a slow machine the first backup may last almost until the end.
  const isDone = () => posted >= BATCHES && copies > 1;

  async function produce(): Promise<void> {
    while (!isDone()) {
      const number = (posted += 1);
      await postOnce(service, [{ text: `${number}` }]);
    }
  }

  async function look(): Promise<void> {
    for (let round = 1; !isDone(); round += 1) {
      for (const [file, size] of await walsOf(service)) largest.set(file, Math.max(size, largest.get(file) ?? 0));
      // Long readers. 409: the previous one is still running.
      await manage(service, "replay", { from: "start", into: "old" });
      if ((await manage(service, "backup", { to: join(folder, `copy-${copies}`) })) === 202) copies += 1;
      for await (const _ of service.ports.bus.read({ topic: "events", maxRecords: 500, maxBytes: 1_000_000 }));
      const isNext = () => posted >= round * ROUND || isDone();
      await until(isNext, { what: "more batches", timeout_ms: 600_000 });
    }
    for (const [file, size] of await walsOf(service)) largest.set(file, Math.max(size, largest.get(file) ?? 0));
  }

  await Promise.all([look(), ...Array.from({ length: AT_ONCE }, produce)]);
  t.deepEqual([...largest.keys()].toSorted(), [
    "batches.sqlite",
    "bus.sqlite",
    "catalog.sqlite",
    "events.duckdb",
    "notifications.sqlite",
    "reclassifications.sqlite",
  ]);
  t.true(largest.get("batches.sqlite")! > 0);
  for (const [file, size] of largest) {
    t.true(size <= (file.endsWith(".duckdb") ? DUCKDB_LIMIT_BYTES : SQLITE_LIMIT_BYTES), `${file}: ${size} bytes`);
  }
  await settled(service);
});
