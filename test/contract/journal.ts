import test, { type ExecutionContext } from "ava";

import { type Journal, JournalCut, type JournalRecord } from "../../src/bus/bus.ts";

/** Opens one journal, as several processes do. */
export type JournalStorage = (t: ExecutionContext) => Promise<() => Promise<Journal>>;

const ANY_SIZE = { maxBytes: 1024 * 1024 } as const;
const texts = (records: readonly JournalRecord[]): string[] => records.map(({ value }) => value.toString());

/** Follows a journal until it has read this many records. */
async function follow(journal: Journal, count: number, from = 0): Promise<JournalRecord[]> {
  const found: JournalRecord[] = [];
  while (found.length < count) {
    const next = found.length === 0 ? from : found.at(-1)!.offset + 1;
    found.push(...(await journal.read({ from: next, wait_ms: 500, ...ANY_SIZE })));
  }
  return found;
}

/** Tests of the journals of the bus port. */
export function journalContract(name: string, storage: JournalStorage): void {
  test(`${name}: all processes read the records of a journal in one order, each once`, async (t) => {
    const open = await storage(t);
    const journals = [await open(), await open(), await open()];
    const reading = journals.map((journal) => follow(journal, 300));
    await Promise.all(
      journals.map(async (journal, writer) => {
        for (let n = 0; n < 50; n++)
          await journal.append([Buffer.from(`${writer} ${n} a`), Buffer.from(`${writer} ${n} b`)]);
      }),
    );
    const [one, ...others] = await Promise.all(reading);
    t.is(new Set(texts(one!)).size, 300);
    for (const other of others) t.deepEqual(texts(other), texts(one!));
    for (const writer of [0, 1, 2]) {
      const own = texts(one!).filter((text) => text.startsWith(`${writer} `));
      t.deepEqual(own, Array.from({ length: 50 }, (_, n) => [`${writer} ${n} a`, `${writer} ${n} b`]).flat());
    }
  });

  test(`${name}: a journal is read from any offset, without waiting at its end`, async (t) => {
    const open = await storage(t);
    const journal = await open();
    t.deepEqual(await journal.bounds(), { first: 0, end: 0 });
    t.deepEqual(await journal.read({ from: 0, ...ANY_SIZE }), []);
    const before_ms = Date.now() - 60_000;
    for (let n = 0; n < 4; n++) await journal.append([Buffer.from(`${2 * n}`), Buffer.from(`${2 * n + 1}`)]);
    t.deepEqual(await journal.bounds(), { first: 0, end: 8 });
    for (const from of [0, 3, 7]) {
      const records = await follow(journal, 8 - from, from);
      t.deepEqual(
        texts(records),
        Array.from({ length: 8 - from }, (_, n) => `${from + n}`),
      );
      t.deepEqual(
        records.map(({ offset }) => offset),
        Array.from({ length: 8 - from }, (_, n) => from + n),
      );
      t.true(records.every(({ appended }) => Math.abs(appended - Date.now()) < 600_000));
    }
    t.is((await journal.read({ from: 5, maxBytes: 1 }))[0]?.offset, 5);
    t.deepEqual(await journal.read({ from: 8, ...ANY_SIZE }), []);
    t.is(await journal.offsetAt(before_ms), 0);
    t.is(await journal.offsetAt(Date.now() + 3_600_000), 8);
  });

  test(`${name}: a read from beyond the end of a journal fails`, async (t) => {
    const open = await storage(t);
    const journal = await open();
    await journal.append([Buffer.from("one")]);
    await t.throwsAsync(journal.read({ from: 5, ...ANY_SIZE }), { instanceOf: JournalCut });
    t.deepEqual(texts(await journal.read({ from: 0, ...ANY_SIZE })), ["one"]);
  });
}
