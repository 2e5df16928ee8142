import { readFileSync } from "node:fs";

import { interleaved, median, time_ms } from "../frame.ts";
import type { Bench, Figures } from "../frame.ts";
import { batchesOf } from "../support/batches.ts";
import { createRandom } from "../support/events.ts";
import type { Answerer, Loaded } from "./contender.ts";
import { eventOf } from "./events.ts";
import type { Question, Row } from "./questions.ts";

/** Number of events to load; a hundredth of it is the lower end of growth. */
const { SCALE_EVENTS = "10000000" } = process.env;
/** Numbers of events per request, and per chunk that is generated and sent at a time. */
const BATCH = 1_000;
const CHUNK = 100_000;
const CHUNK_TIMEOUT_MS = 300_000;
/** Longest wait for all events after the last was accepted, or their time at this rate. */
const MIN_TIMEOUT_MS = 120_000;
const MIN_EVENTS_PER_MS = 2;

export const MB = 1_000_000;
export const ACCEPTED: Row = { name: "accepted", unit: "/s", goal: "240,000" };
export const FOUND: Row = { name: "until all are found", unit: "/s", goal: "150,000" };

/** Returns the number of events to load. @throws RangeError if it is too small for a hundredth */
export function countOf({ quick }: Bench): number {
  const count = quick ? 100_000 : Number(SCALE_EVENTS);
  if (!(count >= 100 * BATCH)) throw new RangeError(`SCALE_EVENTS is ${SCALE_EVENTS}, must be at least ${100 * BATCH}`);
  return count;
}

/** Posts all events in batches, generated in chunks, and waits until all are found. */
export async function load(
  { world }: Bench,
  loaded: Loaded,
  count: number,
  figures: Map<string, number>,
): Promise<void> {
  const { postPort: port, accepts: expect } = loaded;
  const generator = await world.generator();
  const random = createRandom(11);
  let sending_ms = 0;
  for (let start = 0; start < count; start += CHUNK) {
    const length = Math.min(CHUNK, count - start);
    const lines = Array.from({ length }, (_, i) => loaded.lineOf(eventOf(start + i, count, random)));
    const requests = batchesOf(lines, BATCH).map((batch) => loaded.requestOf(batch.join("\n")));
    const job = { host: "127.0.0.1", port, connections: 4, requests, perSecond: null, once: true };
    sending_ms += (await generator.run({ ...job, duration_ms: CHUNK_TIMEOUT_MS, expect })).took_ms;
  }
  const timeout_ms = Math.max(MIN_TIMEOUT_MS, count / MIN_EVENTS_PER_MS);
  const rest_ms = await time_ms(() => loaded.waitForEvents(count, timeout_ms));
  figures.set(ACCEPTED.name, count / (sending_ms / 1000));
  // The service catches up while events are generated; that time is excluded.
  figures.set(FOUND.name, count / ((sending_ms + rest_ms) / 1000));
}

/** Number of records in the first response, and the durations of the others in milliseconds. */
export type Timed = { readonly records: number; readonly figures: Figures };

/**
 * Asks all answerers the same queries of a kind in turn.
 * @param options.warm_ms duration of the warm-up of each
 */
export async function timeAll(
  { quick }: Bench,
  answerers: readonly Answerer[],
  question: Question,
  options: { count: number; warm_ms?: number },
): Promise<Timed[]> {
  const { count, warm_ms = 0 } = options;
  const found: number[] = [];
  const variants = [];
  for (const answerer of answerers) {
    const random = createRandom(count + question.name.length);
    const ask = () => answerer.ask(question.draw(random, count));
    const records = (await ask())();
    const { name, records: expected = records } = question;
    if (records !== expected)
      throw new Error(`${answerer.name} answers "${name}" with ${records} records, not ${expected}`);
    found.push(records);
    variants.push({ name: answerer.name, once: () => time_ms(ask) });
  }
  if (warm_ms > 0 && !quick) await interleaved(variants, { least: 4, most: Infinity, budget_ms: warm_ms });
  const figures = await interleaved(variants, quick ? { least: 3 } : { least: 7, most: 40, budget_ms: 5_000 });
  return figures.map((figures, i) => ({ records: found[i]!, figures }));
}

/**
 * Times a query.
 * @returns the first response's records, the median of the others in milliseconds
 */
export async function time(
  bench: Bench,
  answerer: Answerer,
  question: Question,
  count: number,
): Promise<readonly [records: number, took_ms: number]> {
  const [timed] = await timeAll(bench, [answerer], question, { count });
  return [timed!.records, median(timed!.figures.rounds)];
}

/** Returns the peak resident memory that Linux recorded, in bytes. */
export function highestResident(pid: number): number {
  const kilobytes = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes ?? NaN) * 1024;
}
