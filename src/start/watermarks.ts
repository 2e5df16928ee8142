import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";

import type { Document, Documents, Version } from "../catalog/documents/documents.ts";
import type { Engines } from "../engines/engines.ts";
import { createSteadyClock } from "../events/clock.ts";
import type { SteadyClock } from "../events/clock.ts";
import { acceptedAt } from "../events/id.ts";
import type { WriteCoalescer } from "../ingest/append/write-coalescer.ts";

/**
 * Storage of watermarks, with a document for each posting process of a cluster. A watermark is a
 * time: all ids that the process assigned before it are on the bus, or their posts were rejected.
 * With watermarks, readers need not wait for the timeout of appends.
 *
 * Documents are numbered, and a process takes the first free number. So reading them in sequence
 * finds all of them, and reads by id see earlier writes without a refresh.
 */
export type WatermarkDocuments = Pick<Documents, "create" | "replace" | "remove" | "read">;

/** Interval at which a posting process publishes its watermark. */
const PUBLISH_INTERVAL_MS = 200;
/** Age after which a watermark is taken to be that of a killed process. */
const EXPIRY_MS = 5 * 60_000;

export type PostingWatermark = {
  /** Readers may have passed this time, so the process must only assign later ids. */
  readonly floor_ms: number;
  /** Starts publishing the values of `settledBefore`. */
  follow(settledBefore: () => number): void;
  /** Removes the watermark. The process must assign no further ids. */
  close(): Promise<void>;
};

/**
 * Registers a posting process, which must assign no ids before. Readers that have seen its watermark
 * wait for it, and readers that have not are not beyond `floor_ms`.
 *
 * @param options.now the clock of ids
 * @throws LoggiaError `store_unavailable`
 */
export async function registerPosting(
  documents: WatermarkDocuments,
  { now, log }: { readonly now: () => number; readonly log: Logger },
): Promise<PostingWatermark> {
  const stop = new AbortController();
  const own = new OwnWatermark(documents);
  await own.publish(now());
  const floor_ms = Math.max(0, ...(await readAll(documents)).map(watermarkOf));

  async function run(settledBefore: () => number): Promise<void> {
    while (!stop.signal.aborted) {
      await sleep(PUBLISH_INTERVAL_MS, undefined, { signal: stop.signal }).catch(() => {});
      await own.publish(settledBefore()).catch((error: unknown) => {
        log.debug({ err: error }, "the watermark of this process could not be published");
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
  /** Starts publishing the progress of the write coalescer to readers. */
  follow(coalescer: Pick<WriteCoalescer, "firstUnsettled">): void;
};

/**
 * Registers a posting process of a cluster. With embedded engines it does nothing.
 * @param options.from earliest time of ids
 */
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
  const watermark = await registerPosting(documents, { now, log });
  closing.defer(() => watermark.close());
  const ids = createSteadyClock({ now: clock.now, from: Math.max(from, watermark.floor_ms + 1) });
  return {
    now: ids,
    follow: (coalescer) =>
      watermark.follow(() => {
        const first = coalescer.firstUnsettled();
        return first === null ? ids() : acceptedAt(first);
      }),
  };
}

/** The watermark of this process. */
class OwnWatermark {
  readonly #documents: WatermarkDocuments;
  #slot: { readonly id: string; readonly version: Version } | null = null;

  constructor(documents: WatermarkDocuments) {
    this.#documents = documents;
  }

  async publish(before_ms: number): Promise<void> {
    if (this.#slot === null) {
      while (this.#slot === null) await this.#takeSlot(before_ms);
      return;
    }
    const { id, version } = this.#slot;
    const written = await this.#documents.replace(id, { before_ms }, version);
    // On a conflict, another process took the slot after it expired, or the index was lost.
    this.#slot = written.kind === "done" ? { id, version: written.version } : null;
  }

  /** Takes the first free slot, unless another process takes it first. */
  async #takeSlot(before_ms: number): Promise<void> {
    const all = await readAll(this.#documents);
    const number = all.findIndex((each) => before_ms - watermarkOf(each) >= EXPIRY_MS);
    const expired = all[number];
    const id = String(number === -1 ? all.length : number);
    const written =
      expired === undefined || expired.body === null
        ? await this.#documents.create(id, { before_ms })
        : await this.#documents.replace(id, { before_ms }, expired.version);
    if (written.kind === "done") this.#slot = { id, version: written.version };
  }

  async remove(): Promise<void> {
    if (this.#slot !== null) await this.#documents.remove(this.#slot.id, this.#slot.version);
  }
}

/** Number of documents to request at once, beyond those found last time. */
const READ_AHEAD = 1;

/** Reads all documents in the order of their numbers, including removed ones, which are free. */
async function readAll(documents: Pick<Documents, "read">, expected = 0): Promise<Document[]> {
  const found: Document[] = [];
  for (let wanted = expected + READ_AHEAD; ; wanted += READ_AHEAD) {
    const numbers = Array.from({ length: wanted - found.length }, (_, i) => found.length + i);
    const read = await Promise.all(numbers.map((number) => documents.read(String(number))));
    const end = read.indexOf(null);
    found.push(...read.slice(0, end === -1 ? undefined : end).filter((each) => each !== null));
    if (end !== -1) return found;
  }
}

/** Returns the watermark of a document; 0 if it was removed. */
function watermarkOf({ body }: Document): number {
  return (body?.["before_ms"] ?? 0) as number;
}

/**
 * Returns a function that reads the lowest watermark of the live processes; null if there is none.
 * It sees every watermark published before the call.
 */
export function watermarkReader(documents: Pick<Documents, "read">): (now_ms: number) => Promise<number | null> {
  let expected = 0;
  return async (now_ms) => {
    const all = await readAll(documents, expected);
    expected = all.length;
    const lowest_ms = Math.min(...all.map(watermarkOf).filter((before_ms) => now_ms - before_ms < EXPIRY_MS));
    return Number.isFinite(lowest_ms) ? lowest_ms : null;
  };
}
