import { setTimeout as sleep } from "node:timers/promises";

import { LoggiaError } from "../../errors.ts";
import type { PostClock } from "../../events/clock.ts";
import type { LogKey } from "../../events/event.ts";
import { type EventId, idsFrom } from "../../events/id.ts";
import type { FieldLimits } from "../../events/limits.ts";
import { createTurns } from "../../http/turns.ts";
import { noteRequest } from "../../pace.ts";
import { momentsBy } from "../../post/created.ts";
import type { Gatherer, Line } from "../../post/gatherer.ts";
import { lineOf } from "./line.ts";
import type { Outcome, ReadEvent, Reading } from "./protocol.ts";

export type StoreOptions = {
  readonly gatherer: Pick<Gatherer, "submitLines">;
  readonly limits: FieldLimits;
  readonly clock: PostClock;
  /** Tags of the request. */
  readonly tags: readonly string[];
};

/** What was stored, and of how many events something was cut. */
export type Stored = Outcome & { readonly cut: number };

/** What one append takes at the most: a request beyond it is stored in several. */
const CHUNK_EVENTS = 10_000;
const CHUNK_BYTES = 12 * 1024 * 1024;
/** Bodies up to this size fit one append whatever they hold. */
const ONE_APPEND_BYTES = 1024 * 1024;
/** So many events, or so much time, before others have their turn. */
const STEP_EVENTS = 100;
const STEP_MS = 1;
/** How long the rest of a request tries again while others leave it no room. */
const REST_MS = 20_000;
const PAUSE_MS = 50;

const inTurn = createTurns();

/**
 * Stores the events of a body. Resolves once all of them are durable.
 *
 * A body of several appends is read twice: first to see that all of it can be read. So what cannot
 * be read, or is not taken for want of room, leaves nothing of it in the log.
 *
 * @param begin begins to read the body
 * @throws LoggiaError `bad_body`, `overloaded`, `bus_unavailable`
 */
export async function storeEvents(
  log: LogKey,
  size_bytes: number,
  begin: () => Reading,
  options: StoreOptions,
): Promise<{ readonly reading: Reading; readonly stored: Stored }> {
  if (size_bytes > ONE_APPEND_BYTES) await inTurn(() => readThrough(begin()));
  const reading = begin();
  const chunks = new Chunks(reading.items, options);
  const firsts: { readonly first: EventId; readonly count: number }[] = [];
  let append: Promise<void> = Promise.resolve();
  while (!chunks.isDone) {
    const lines = size_bytes > ONE_APPEND_BYTES ? await inTurn(() => chunks.next()) : await chunks.next();
    await append;
    if (lines.length === 0) continue;
    append = appendLines(log, lines, firsts, options.gatherer);
    // Awaited in the next round; until then its failure is nobody's to handle.
    append.catch(() => {});
  }
  await append;
  const { accepted, rejected, fault, cut } = chunks;
  return { reading, stored: { accepted, rejected, fault, cut, ids: () => idsOf(firsts) } };
}

async function readThrough({ items }: Reading): Promise<void> {
  const pause = createPauses();
  for (const _ of items) if (pause.isDue()) await pause.take();
}

/** Reads events, an append's worth at a time. */
class Chunks {
  accepted = 0;
  rejected = 0;
  fault: string | null = null;
  cut = 0;
  isDone = false;
  readonly #events: Iterator<ReadEvent>;
  readonly #options: StoreOptions;

  constructor(items: Iterable<ReadEvent>, options: StoreOptions) {
    this.#events = items[Symbol.iterator]();
    this.#options = options;
  }

  async next(): Promise<readonly Line[]> {
    const { limits, tags, clock } = this.#options;
    const lineOptions = { limits, tags, read_ms: momentsBy(clock).read_ms };
    const pause = createPauses();
    const lines: Line[] = [];
    let size_bytes = 0;
    while (lines.length < CHUNK_EVENTS && size_bytes < CHUNK_BYTES) {
      if (pause.isDue()) await pause.take();
      const { done, value } = this.#events.next();
      if (done === true) {
        this.isDone = true;
        break;
      }
      if ("fault" in value) {
        this.rejected += 1;
        this.fault ??= value.fault;
        continue;
      }
      const { line, cut } = lineOf(value, lineOptions);
      if (cut) this.cut += 1;
      lines.push(line);
      size_bytes += line.fields.length;
    }
    this.accepted += lines.length;
    return lines;
  }
}

async function appendLines(
  log: LogKey,
  lines: readonly Line[],
  firsts: { first: EventId; count: number }[],
  gatherer: StoreOptions["gatherer"],
): Promise<void> {
  const start_ms = performance.now();
  for (;;) {
    try {
      firsts.push({ first: await gatherer.submitLines(log, lines), count: lines.length });
      return;
    } catch (error) {
      // The first append decides whether there is room for a request; its rest waits for room.
      const isFull = error instanceof LoggiaError && error.code === "overloaded";
      if (!isFull || firsts.length === 0 || performance.now() - start_ms > REST_MS) throw error;
      await sleep(PAUSE_MS);
    }
  }
}

function* idsOf(firsts: readonly { readonly first: EventId; readonly count: number }[]): Generator<EventId> {
  for (const { first, count } of firsts) {
    const nthId = idsFrom(first);
    for (let n = 0; n < count; n++) yield nthId(n);
  }
}

/** Pauses of long work, in which posts pass. */
function createPauses(): { isDue(): boolean; take(): Promise<void> } {
  let steps = 0;
  let began_ms = performance.now();
  return {
    isDue: () => ++steps % STEP_EVENTS === 0 && performance.now() - began_ms > STEP_MS,
    async take() {
      noteRequest();
      await new Promise(setImmediate);
      began_ms = performance.now();
    },
  };
}
