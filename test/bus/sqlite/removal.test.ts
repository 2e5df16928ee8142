import test, { type ExecutionContext } from "ava";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import type { Bus } from "../../../src/bus/bus.ts";
import { openSqliteBus } from "../../../src/bus/sqlite/sqlite.ts";
import { packValue } from "../../../src/bus/sqlite/values.ts";
import { behind, collect, record } from "../../contract/bus.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { until } from "../../support/until.ts";

const log = pino({ level: "silent" });

function busFile(t: ExecutionContext): string {
  return join(temporaryFolder(t), "bus.sqlite");
}

async function collectAll(bus: Bus, group: string, records: number): Promise<void> {
  const collected = await collect(bus, { group });
  await until(() => collected.records.length === records, { what: `${records} records for group ${group}` });
  await collected.subscription.close();
}

/**
 * Returns the number in the oldest record: offsets begin at 1, numbers at 0, and an unknown group
 * reads from the oldest record.
 */
async function oldest(bus: Bus): Promise<number> {
  const [lag] = await bus.lag("events", "unknown");
  return (lag?.next ?? 0) - 1;
}

test("old alerts are removed whether or not they were read", async (t) => {
  const file = busFile(t);
  const texts = Array.from({ length: 30 }, (_, i) => `${i}`);
  await using bus = await openSqliteBus({ file, log, keep_ms: 0 });
  const stuck = await bus.subscribe({ topic: "alerts", group: "g", maxRecords: 5, maxBytes: 1e6 }, async (batch) => {
    if (batch.records[0]?.value.toString() === "0") await batch.ack();
  });
  await bus.append(
    "alerts",
    texts.map((text) => record("k", text)),
  );
  const left = async (): Promise<number> => {
    const seen: string[] = [];
    const group = `reader-${performance.now()}`;
    const reader = await bus.subscribe({ topic: "alerts", group, maxRecords: 50, maxBytes: 1e6 }, async (batch) => {
      seen.push(...batch.records.map(({ value }) => value.toString()));
    });
    await until(() => seen.at(-1) === "29", { what: "the last alert" });
    await reader.close();
    return seen.length;
  };
  t.is(await until(async () => (await left()) === 1 && (await left()), { what: "all but the last to go" }), 1);
  await stuck.close();
});

test("removed records cannot be read from the file or its write-ahead log", async (t) => {
  const file = busFile(t);
  const has = (bytes: string | Buffer) =>
    ["", "-wal"].some((ending) => existsSync(file + ending) && readFileSync(file + ending).includes(bytes));
  const [first, last] = [`first ${"text ".repeat(4_000)}`, "the last one"];
  // The long one is stored compressed.
  const kept = Buffer.from(packValue(Buffer.from(first)));
  {
    await using bus = await openSqliteBus({ file, log });
    await bus.append("events", [record("k", first), record("k", "a small secret"), record("k", last)]);
    await collectAll(bus, "g", 3);
    // The bus's thread may be moving them from the log to the file.
    await until(() => has("a small secret") && has(kept), { what: "the texts in the file or its log" });
  }
  await using bus = await openSqliteBus({ file, log, keep_ms: 0 });
  await until(() => !has("a small secret") && !has(kept) && !has("text text"), { what: "the texts to be gone" });
  t.is((await bus.last("events"))[0]?.value.toString(), last);
  await until(() => has(last), { what: "the last text in the file or its log" });
});

test("records that every group has acknowledged are removed after the retention, except the last one", async (t) => {
  const file = busFile(t);
  {
    // Kept for a day, so records that only the fast group has read stay for the slow one.
    await using bus = await openSqliteBus({ file, log });
    await bus.append(
      "events",
      Array.from({ length: 2500 }, (_, i) => record("k", `${i}`)),
    );
    await bus.append("dead-letters", [record("k", "a"), record("k", "b")]);
    await collectAll(bus, "fast", 2500);
    const slow = await bus.subscribe(
      { topic: "events", group: "slow", maxRecords: 1000, maxBytes: 1e6 },
      async (batch) => {
        if (batch.records[0]?.value.toString() === "0") await batch.ack();
      },
    );
    await until(async () => (await behind(bus, "slow")) === 1500, { what: "the slow group's first batch" });
    await slow.close();
    await bus.append("events", [record("k", "2500")]);
  }
  {
    await using bus = await openSqliteBus({ file, log, keep_ms: 0 });
    await until(async () => (await oldest(bus)) === 1000, { what: "removal of what both have acknowledged" });
    t.is((await bus.last("dead-letters"))[0]?.value.toString(), "b");
  }
  {
    await using bus = await openSqliteBus({ file, log });
    // Kept for a day, so nothing more is removed.
    await bus.append("events", [record("k", "2501")]);
    t.is((await bus.last("events"))[0]?.value.toString(), "2501");
    t.is(await oldest(bus), 1000);
    await collectAll(bus, "slow", 1502);
    await collectAll(bus, "fast", 2);
  }
  await using bus = await openSqliteBus({ file, log, keep_ms: 0 });
  await until(async () => (await oldest(bus)) === 2501, { what: "removal of all but the last" });
  t.is((await bus.last("events"))[0]?.value.toString(), "2501");
});
