import test, { type ExecutionContext } from "ava";
import fc from "fast-check";

import type { JournalRecord } from "../../../../src/bus/bus.ts";
import type { EventId } from "../../../../src/events/id.ts";
import { encodeKeyRecord, type KeyHash, type KeyRecord } from "../../../../src/ingest/idempotency/key-record.ts";
import { SEGMENT_OFFSETS, type Summary } from "../../../../src/ingest/idempotency/keys/key-segment.ts";
import { decodeSummary, encodeSummary } from "../../../../src/ingest/idempotency/keys/key-summary.ts";
import { KeyTable } from "../../../../src/ingest/idempotency/keys/key-table.ts";

const HOUR_MS = 3_600_000;
const KEYS = 6;
/** Keys that share the bits by which they are sorted, and those by which they are placed. */
const hashOf = (key: number): KeyHash => ({ high: key >> 1, low: key & 1 });

/** A step of a random journal. `place` chooses an earlier claim, of any key. */
type Step = {
  readonly kind: "claim" | "replace" | "done" | "void";
  readonly key: number;
  readonly place: number;
  readonly passed_min: number;
};

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom("claim", "claim", "replace", "done", "void"),
  key: fc.nat(KEYS - 1),
  place: fc.nat(30),
  passed_min: fc.oneof({ weight: 4, arbitrary: fc.nat(5) }, { weight: 1, arbitrary: fc.nat(200) }),
});

const claimOf = (hash: KeyHash, replaces: number | null, number: number): KeyRecord => ({
  kind: "claim",
  hash,
  replaces,
  reservation: {
    first: number.toString(16).padStart(24, "0") as EventId,
    created: 0,
    count: 1,
    read_ms: 0,
    trusted_ms: 0,
    hash: "",
  },
});

function journalOf(steps: readonly Step[]): { readonly record: KeyRecord; readonly journal: JournalRecord }[] {
  let appended = 490_000 * HOUR_MS;
  return steps.map(({ kind, key, place, passed_min }, offset) => {
    appended += passed_min * 60_000;
    const record: KeyRecord =
      kind === "claim" || kind === "replace"
        ? claimOf(hashOf(key), kind === "claim" ? null : place, offset)
        : { kind, offsets: [place] };
    return { record, journal: { offset, appended, value: encodeKeyRecord(record) } };
  });
}

/** The rule in plain code, without segments: the offset that stands for each key, and outcomes. */
class Model {
  readonly standing = new Map<string, { readonly offset: number; readonly hour: number }>();
  readonly outcomes = new Map<number, { kind: "done" | "void" | "open"; readonly hour: number }>();

  apply({ record, journal: { offset, appended } }: ReturnType<typeof journalOf>[number]): number | null {
    const hour = Math.floor(appended / HOUR_MS);
    for (const [key, claim] of this.standing) if (hour - claim.hour >= 25) this.standing.delete(key);
    for (const [place, claim] of this.outcomes) if (hour - claim.hour >= 25) this.outcomes.delete(place);
    if (record.kind !== "claim") {
      for (const place of record.offsets) {
        const outcome = this.outcomes.get(place);
        if (outcome?.kind !== "open") continue;
        outcome.kind = record.kind;
        if (record.kind === "void")
          for (const [key, claim] of this.standing) if (claim.offset === place) this.standing.delete(key);
      }
      return null;
    }
    const key = JSON.stringify(record.hash);
    const standing = this.standing.get(key);
    if (standing !== undefined && standing.offset !== record.replaces) return standing.offset;
    if (standing !== undefined) this.outcomes.get(standing.offset)!.kind = "void";
    this.standing.set(key, { offset, hour });
    this.outcomes.set(offset, { kind: "open", hour });
    return offset;
  }
}

function compare(t: ExecutionContext, table: KeyTable, model: Model): void {
  for (let key = 0; key < KEYS; key++) {
    const expected = model.standing.get(JSON.stringify(hashOf(key)))?.offset ?? null;
    t.is(table.standing(hashOf(key)), expected);
    if (expected !== null) t.is(table.outcome(expected), model.outcomes.get(expected)!.kind);
  }
}

test("the first claim of a key stands until it is void, replaced or a day old, as in plain code", (t) => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const [table, model] = [new KeyTable(), new Model()];
      for (const each of journalOf(steps)) {
        t.is(table.apply(each.journal)?.standing ?? null, model.apply(each));
        compare(t, table, model);
      }
    }),
  );
});

test("a process that starts from summaries agrees with one that has read everything", (t) => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), fc.nat(), fc.nat(), (steps, chosen, missing) => {
      const journal = journalOf(steps).map((each) => each.journal);
      const summaries: Summary[] = [];
      const old = new KeyTable({ onSealed: (summary) => summaries.push(decodeSummary(encodeSummary(summary))!) });
      const cut = journal.length === 0 ? 0 : chosen % journal.length;
      for (const record of journal.slice(0, cut)) old.apply(record);
      const starting = new KeyTable();
      let next = 0;
      for (const [i, summary] of summaries.entries()) {
        // The journal itself stands for a summary that nobody has written.
        if (i === missing % (summaries.length + 1)) continue;
        const { base, end } = summary.segment.parts;
        for (const record of journal.slice(next, base)) starting.apply(record);
        starting.load(summary);
        next = end;
      }
      for (const record of journal.slice(next, cut)) starting.apply(record);
      for (const record of journal.slice(cut)) {
        t.is(starting.apply(record)?.standing, old.apply(record)?.standing);
        for (let key = 0; key < KEYS; key++) {
          const standing = old.standing(hashOf(key));
          t.is(starting.standing(hashOf(key)), standing);
          if (standing !== null) t.is(starting.outcome(standing), old.outcome(standing));
        }
      }
    }),
  );
});

/** A hash for each number, spread as hashes are. */
const spread = (number: number): KeyHash => ({
  high: Math.imul(number + 1, 0x9e3779b1) >>> 0,
  low: Math.imul(number + 7, 0x85ebca6b) >>> 0,
});

test("keys are found in full segments, each in 10 bytes, and the oldest are forgotten and counted", (t) => {
  const most_bytes = 3 * (10 * SEGMENT_OFFSETS + SEGMENT_OFFSETS / 4);
  const summaries: Summary[] = [];
  const table = new KeyTable({ most_bytes, onSealed: (summary) => summaries.push(summary) });
  const claims = 4 * SEGMENT_OFFSETS + 1_000;
  for (let offset = 0; offset < claims; offset++) {
    const value = encodeKeyRecord(claimOf(spread(offset), null, offset));
    t.is(table.apply({ offset, appended: 0, value })?.standing, offset);
  }
  t.is(summaries.length, 4);
  t.is(table.forgotten, SEGMENT_OFFSETS);
  t.is(table.keys, 3 * SEGMENT_OFFSETS + 1_000);
  t.true(table.size_bytes <= most_bytes + 1.3 * 1024 * 1024);
  for (let number = 0; number < claims; number += 997)
    t.is(table.standing(spread(number)), number < SEGMENT_OFFSETS ? null : number);
  t.true(encodeSummary(summaries[0]!).length < 1_000_000, "a summary fits a record");
});
