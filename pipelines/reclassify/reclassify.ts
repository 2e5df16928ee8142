import { setTimeout as sleep } from "node:timers/promises";

import { createSerialQueue } from "../../src/scheduling/serial-queue.ts";
import { isUnderWay, storedReclassification } from "../../src/operations/reclassification.ts";
import type {
  OrderCursor,
  OrderDocuments,
  OrderVersion,
  StoredReclassification,
} from "../../src/operations/reclassification.ts";
import { Claim, ClaimLost, CLAIM_TIMEOUT_MS } from "./claim.ts";
import { reclassifyLog } from "./job.ts";
import type { ReclassificationOptions } from "./job.ts";

export type Reclassifier = {
  /** Returns the number of orders that this process is carrying out. */
  running(): number;
  /** Ends running jobs between two steps and waits for them. They resume elsewhere or later. */
  close(): Promise<void>;
};

export type StartOptions = ReclassificationOptions & {
  readonly documents: OrderDocuments;
  /** How often to look for new orders. */
  readonly poll_ms?: number;
  /** Time without heartbeats until an order is taken over; 0 if no other process can hold it. */
  readonly takeOver_ms?: number | undefined;
  /** Monotonic clock by which orders are taken over, in milliseconds. */
  readonly elapsed?: () => number;
};

const POLL_MS = 1_000;
/** Maximum number of concurrent jobs of a process. They take turns piece by piece. */
const MAX_JOBS = 8;

/** An unfinished order, and when this process first saw its version, by its monotonic clock. */
type Seen = { readonly record: StoredReclassification; readonly version: OrderVersion; readonly seen_ms: number };

/** Carries out orders to reclassify, beside the pipeline, each by one process at a time. */
export function startReclassifying(options: StartOptions): Reclassifier {
  const { documents, log, poll_ms = POLL_MS, takeOver_ms = CLAIM_TIMEOUT_MS } = options;
  const { elapsed = () => performance.now() } = options;
  const closing = new AbortController();
  const { signal } = closing;
  const inTurn = createSerialQueue();
  const seen = new Map<string, Seen>();
  const running = new Map<string, Promise<void>>();
  let cursor: OrderCursor | null = null;

  async function poll(): Promise<void> {
    const changes = await documents.changes(cursor);
    for (const { id, version, body } of changes.documents) {
      const record = storedReclassification(body);
      if (record === null || !isUnderWay(record)) seen.delete(id);
      else if (seen.get(id)?.version !== version) seen.set(id, { record, version, seen_ms: elapsed() });
    }
    ({ cursor } = changes);
    for (const [id, found] of seen) {
      if (running.size >= MAX_JOBS) return;
      const isFree = found.record.holder === null || elapsed() - found.seen_ms >= takeOver_ms;
      if (isFree && !running.has(id)) await claim(id, found);
    }
  }

  async function claim(id: string, found: Seen): Promise<void> {
    // Taken or not, the change feed brings the order's next version.
    seen.delete(id);
    const claimed = await Claim.take(documents, found);
    if (claimed === null) return;
    const { holder } = found.record;
    if (holder !== null) log.warn({ job: found.record }, "reclassification: resuming an interrupted order");
    running.set(
      id,
      carryOut(claimed).finally(() => running.delete(id)),
    );
  }

  async function carryOut(claimed: Claim): Promise<void> {
    try {
      await reclassifyLog({ ...options, claim: claimed, inTurn, signal });
    } catch (error) {
      if (error instanceof ClaimLost)
        log.warn({ job: claimed.record }, "reclassification: another process took over the order");
      else if (!signal.aborted)
        log.error(
          { err: error, job: claimed.record },
          "reclassification: an error ended the job, the order is released",
        );
      await claimed.release();
    } finally {
      claimed.stop();
    }
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      await poll().catch((error: unknown) => log.debug({ err: error }, "reclassification: cannot read orders"));
      await sleep(poll_ms, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  const polling = run();
  return {
    running: () => running.size,
    close: async () => {
      closing.abort(new Error("the service is stopping"));
      await polling;
      await Promise.all(running.values());
    },
  };
}
