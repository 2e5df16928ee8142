import type { BusRecord, Position } from "../src/bus/bus.ts";
import type { Deletion } from "../src/events/deletion.ts";
import type { StoredEvent } from "../src/events/event.ts";
import type { Visit } from "../src/events/visit.ts";
import type { RecordFailure } from "./deadletters/codec.ts";
import type { RetryPolicy } from "./retry.ts";
import type { Scheduler } from "../src/scheduling/scheduler.ts";

/**
 * An event that stages change in place. Copying it for each change would cause most of the garbage
 * of the stages.
 */
export type MutableEvent = { -readonly [Field in keyof StoredEvent]: StoredEvent[Field] };

/**
 * An event in the pipeline, with the record and line it was read from. Its pattern is "" before
 * `enrich`, and its class is null before `classify`.
 *
 * Invariant: nothing references an event after the writers have taken it, unless it is still to be
 * reported. The garbage collector copies and scans surviving objects repeatedly, at the cost of
 * concurrent posts.
 */
export type StageItem = { readonly record: BusRecord; readonly line: number; readonly event: MutableEvent };

/** A visit in the pipeline, with the record and line it was read from. */
export type VisitItem = { readonly record: BusRecord; readonly line: number; readonly visit: Visit };

/** A deletion in the pipeline, with the record and line it was read from. */
export type DeletionItem = { readonly record: BusRecord; readonly line: number; readonly deletion: Deletion };

/** State that the stages share while they write a part of a batch. */
export type WriteContext = {
  readonly retryPolicy: RetryPolicy;
  /**
   * Position to commit with the last rows of a batch; null if more of the batch follows, or if the
   * position is moved by a write of its own.
   */
  readonly position: Position | null;
  /**
   * Resolves when all earlier writes of the batch are durable, for events that are written in
   * order. Null if they need not be.
   */
  readonly turn: Promise<void> | null;
  /** Called by the stage that committed `position` together with the last rows. */
  positionCommitted(): void;
  /** Counts alerts that are durable. */
  alerted(count: number): void;
};

/** A stage that changes events. If `change` throws, only that event is refused. */
export type Transform = {
  readonly name: "enrich" | "classify";
  /** Returns a promise only if it has to wait; the next event of the stage waits for it too. */
  readonly change: (event: MutableEvent) => void | Promise<void>;
};

/**
 * A stage that writes something derived from events.
 *
 * Invariant: events that a stage refuses are durable dead letters before the next stage writes.
 */
export type Writer = {
  readonly name: "alert" | "notify" | "index";
  /** Starts a write batch. */
  begin(): PendingWrite;
};

/**
 * The writes of a stage for a write batch: collected from its events chunk by chunk, while these
 * are in memory, and written when all chunks have been taken.
 */
export type PendingWrite = {
  /** Takes events. @returns those that cannot be written, and why; no stage writes them */
  take(items: readonly StageItem[]): Promise<readonly RecordFailure[]>;
  /**
   * Resolves once everything is durable except the failures returned, which are refused.
   * @param without lines refused by earlier stages, which are not written
   */
  write(work: WriteContext, without: Refused): Promise<readonly RecordFailure[]>;
};

/** Number of events per step; between steps the process may serve other work. */
export const TURN_ITEMS = 64;

/** Changes one event after the other. Returns the changed and the refused events. */
export async function transformEach(
  items: readonly StageItem[],
  change: Transform["change"],
  scheduler: Scheduler,
): Promise<{ readonly passed: readonly StageItem[]; readonly refused: readonly RecordFailure[] }> {
  const refused: RecordFailure[] = [];
  const failed = new Set<StageItem>();
  for (let i = 0; i < items.length; i++) {
    if (i % TURN_ITEMS === 0) await scheduler.yieldToRequests();
    const item = items[i]!;
    try {
      const changing = change(item.event);
      if (changing !== undefined) await changing;
    } catch (error) {
      failed.add(item);
      refused.push({ record: item.record, line: item.line, reason: String(error) });
    }
  }
  return { passed: failed.size === 0 ? items : items.filter((item) => !failed.has(item)), refused };
}

/** Refused lines of one write batch. */
export class Refused {
  readonly #lines = new Set<string>();

  get isEmpty(): boolean {
    return this.#lines.size === 0;
  }

  add(failures: readonly RecordFailure[]): void {
    for (const { record, line } of failures) this.#lines.add(nameOf(record, line));
  }

  has(record: BusRecord, line: number): boolean {
    return !this.isEmpty && this.#lines.has(nameOf(record, line));
  }
}

function nameOf(record: BusRecord, line: number): string {
  return `${record.position.offset} ${line}`;
}
