import type { BusRecord, Position } from "../src/bus/bus.ts";
import type { Deletion } from "../src/events/deletion.ts";
import type { StoredEvent } from "../src/events/event.ts";
import type { Visit } from "../src/events/visit.ts";
import { yieldToRequests } from "../src/scheduling/cooperative.ts";
import type { Failure } from "./deadletters/codec.ts";
import type { RetryPolicy } from "./retry.ts";

/**
 * An event that stages change in its place. A copy for each change is most of what they would leave
 * to be collected.
 */
export type EventInWork = { -readonly [Field in keyof StoredEvent]: StoredEvent[Field] };

/**
 * An event on its way, with the place that it came from. Before `enrich` its pattern is "", before
 * `classify` its class is null.
 *
 * Invariant: nobody holds an event once the writers have taken it, but for who still has to tell of
 * it. What lives on is copied and looked at again and again by the collector of garbage, at the
 * cost of concurrent posts.
 */
export type Item = { readonly record: BusRecord; readonly line: number; readonly event: EventInWork };

/** A visit on its way, with the place that it came from. */
export type VisitItem = { readonly record: BusRecord; readonly line: number; readonly visit: Visit };

/** A deletion on its way, with the place that it came from. */
export type DeletionItem = { readonly record: BusRecord; readonly line: number; readonly deletion: Deletion };

/** What the stages share while they write one slice of a batch. */
export type Work = {
  readonly retryPolicy: RetryPolicy;
  /**
   * The position that goes along with the last rows of a batch; null where more of it follows, or
   * where it is moved by itself.
   */
  readonly position: Position | null;
  /**
   * Resolves when all slices before, of the same batch, are durable: for events that are written in
   * order. null where they need not be.
   */
  readonly turn: Promise<void> | null;
  /** Called by the stage that had `position` committed together with the last rows. */
  covered(): void;
  /** Counts alerts that are durable. */
  alerted(count: number): void;
};

/** A stage that changes events. One on which `change` throws is refused; the others are not concerned. */
export type Transform = {
  readonly name: "enrich" | "classify";
  /** A promise only where it can't be done at once. The next event of the stage waits for it. */
  readonly change: (event: EventInWork) => void | Promise<void>;
};

/**
 * A stage that writes something about events.
 *
 * Invariant: what it refuses is a durable dead letter before the next one writes.
 */
export type Writer = {
  readonly name: "alert" | "notify" | "index";
  /** For the events of one slice. */
  begin(): Writing;
};

/**
 * What is to be written of one slice: found out of its events a part at a time, while they are at
 * hand, and written when all were.
 */
export type Writing = {
  /** @returns what cannot be written, and why: then no stage writes anything of it. */
  take(items: readonly Item[]): Promise<readonly Failure[]>;
  /**
   * Resolves once all of it is durable, but for what is given back: that is refused.
   * @param without what stages before have refused, and is not to be written
   */
  write(work: Work, without: Refused): Promise<readonly Failure[]>;
};

/** Events of one step: between two of them, whatever else this process serves may have its turn. */
export const TURN_ITEMS = 64;

/** Changes an event after the other, and gives those that went and those that were refused. */
export async function changeEach(
  items: readonly Item[],
  change: Transform["change"],
): Promise<{ readonly passed: readonly Item[]; readonly refused: readonly Failure[] }> {
  const refused: Failure[] = [];
  const failed = new Set<Item>();
  for (let i = 0; i < items.length; i++) {
    if (i % TURN_ITEMS === 0) await yieldToRequests();
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

/** Lines of one slice that were refused. */
export class Refused {
  readonly #lines = new Set<string>();

  get isEmpty(): boolean {
    return this.#lines.size === 0;
  }

  add(failures: readonly Failure[]): void {
    for (const { record, line } of failures) this.#lines.add(nameOf(record, line));
  }

  has(record: BusRecord, line: number): boolean {
    return !this.isEmpty && this.#lines.has(nameOf(record, line));
  }
}

function nameOf(record: BusRecord, line: number): string {
  return `${record.position.offset} ${line}`;
}
