import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";

import type { Document, Documents, Version } from "../catalog/documents/documents.ts";
import type { Engines } from "../engines/engines.ts";
import { createSteadyClock } from "../events/clock.ts";
import type { SteadyClock } from "../events/clock.ts";
import { acceptedAt } from "../events/id.ts";
import type { WriteCoalescer } from "../ingest/write-coalescer.ts";

/**
 * The documents of watermarks, one for each posting process of a cluster. A watermark is a moment: all
 * ids that its process gave of earlier ones are on the bus, or their posts were refused. So readers
 * need not wait for as long as an append may take.
 *
 * Documents are numbered, and a process takes the first that is free: so all are found by reading one
 * after the other, and what was stated before is read without a refresh.
 */
export type WatermarkDocuments = Pick<Documents, "create" | "replace" | "remove" | "read">;

/** How often a posting process states its watermark. */
const STATE_EVERY_MS = 200;
/** A watermark so far behind is of a process that was killed. */
const LIFE_MS = 5 * 60_000;

export type PostingWatermark = {
  /** Readers may have passed this moment: the process may only give ids of later ones. */
  readonly floor_ms: number;
  /** States from now on what `settledBefore` returns. */
  follow(settledBefore: () => number): void;
  /** Removes the watermark. The process gives no ids any more. */
  close(): Promise<void>;
};

/**
 * Announces a posting process, which must not give ids before. Readers that know of it wait for it,
 * and those that did not know of it yet are not beyond `floor_ms`.
 *
 * @param options.now the clock of ids
 * @throws LoggiaError `store_unavailable`
 */
export async function announcePosting(
  documents: WatermarkDocuments,
  { now, log }: { readonly now: () => number; readonly log: Logger },
): Promise<PostingWatermark> {
  const stop = new AbortController();
  const own = new OwnWatermark(documents);
  await own.state(now());
  const floor_ms = Math.max(0, ...(await readAll(documents)).map(momentOf));

  async function run(settledBefore: () => number): Promise<void> {
    while (!stop.signal.aborted) {
      await sleep(STATE_EVERY_MS, undefined, { signal: stop.signal }).catch(() => {});
      await own.state(settledBefore()).catch((error: unknown) => {
        log.debug({ err: error }, "the watermark of this process could not be stated");
      });
    }
  }

  let running = Promise.resolve();
  return {
    floor_ms,
    follow: (settledBefore) => void (running = run(settledBefore)),
    async close() {
      stop.abort();
      await running;
      await own.remove().catch((error: unknown) => log.debug({ err: error }, "a watermark could not be removed"));
    },
  };
}

export type Posting = {
  /** The clock of ids. */
  readonly now: SteadyClock;
  /** Tells readers from now on how far the write coalescer has come. */
  follow(coalescer: Pick<WriteCoalescer, "firstUnsettled">): void;
};

/** Announces a posting process where there are several. @param options.from the first moment that ids may have */
export async function openPosting(
  {
    watermarks,
    clock,
    from,
    log,
  }: Pick<Engines, "watermarks" | "clock"> & { readonly from: number; readonly log: Logger },
  closing: AsyncDisposableStack,
): Promise<Posting> {
  const now = createSteadyClock({ now: clock.now, from });
  if (watermarks === null) return { now, follow: () => {} };
  const documents = closing.use(await watermarks());
  const watermark = await announcePosting(documents, { now, log });
  closing.defer(() => watermark.close());
  const ids = createSteadyClock({ now: clock.now, from: Math.max(from, watermark.floor_ms + 1) });
  return {
    now: ids,
    follow: ({ firstUnsettled }) =>
      watermark.follow(() => {
        const first = firstUnsettled();
        return first === null ? ids() : acceptedAt(first);
      }),
  };
}

class OwnWatermark {
  readonly #documents: WatermarkDocuments;
  #place: { readonly id: string; readonly version: Version } | null = null;

  constructor(documents: WatermarkDocuments) {
    this.#documents = documents;
  }

  async state(before_ms: number): Promise<void> {
    if (this.#place === null) {
      while (this.#place === null) await this.#take(before_ms);
      return;
    }
    const { id, version } = this.#place;
    const written = await this.#documents.replace(id, { before_ms }, version);
    // Another process took the place, as nothing was stated for long; or it was lost with its index.
    this.#place = written.kind === "done" ? { id, version: written.version } : null;
  }

  /** Takes the first place that is free, unless another process is faster. */
  async #take(before_ms: number): Promise<void> {
    const all = await readAll(this.#documents);
    const number = all.findIndex((each) => before_ms - momentOf(each) >= LIFE_MS);
    const dead = all[number];
    const id = String(number === -1 ? all.length : number);
    const written =
      dead === undefined || dead.body === null
        ? await this.#documents.create(id, { before_ms })
        : await this.#documents.replace(id, { before_ms }, dead.version);
    if (written.kind === "done") this.#place = { id, version: written.version };
  }

  async remove(): Promise<void> {
    if (this.#place !== null) await this.#documents.remove(this.#place.id, this.#place.version);
  }
}

/** Documents that are asked for at once, beyond those of the last answer. */
const MORE = 1;

/** All documents by their numbers; those that were removed are free. */
async function readAll(documents: Pick<Documents, "read">, expected = 0): Promise<Document[]> {
  const found: Document[] = [];
  for (let wanted = expected + MORE; ; wanted += MORE) {
    const numbers = Array.from({ length: wanted - found.length }, (_, i) => found.length + i);
    const read = await Promise.all(numbers.map((number) => documents.read(String(number))));
    const end = read.indexOf(null);
    found.push(...read.slice(0, end === -1 ? undefined : end).filter((each) => each !== null));
    if (end !== -1) return found;
  }
}

/** 0 where nobody states anything. */
function momentOf({ body }: Document): number {
  return (body?.["before_ms"] ?? 0) as number;
}

/**
 * Reads the lowest watermark of the processes that live; null where there is none. What was stated
 * before is heeded.
 */
export function watermarkReader(documents: Pick<Documents, "read">): (now_ms: number) => Promise<number | null> {
  let expected = 0;
  return async (now_ms) => {
    const all = await readAll(documents, expected);
    expected = all.length;
    const lowest_ms = Math.min(...all.map(momentOf).filter((before_ms) => now_ms - before_ms < LIFE_MS));
    return Number.isFinite(lowest_ms) ? lowest_ms : null;
  };
}
