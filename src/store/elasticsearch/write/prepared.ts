import type { StoredEvent } from "../../../events/event.ts";
import type { EventId } from "../../../events/id.ts";
import type { PreparedEvents } from "../../store.ts";
import type { ColumnsOfLogs } from "./columns.ts";
import { encodeDocument, NO_COLUMNS } from "../documents/document.ts";
import { BulkOperations } from "../client/bulk-encoding.ts";
import type { EncodedOperation } from "../client/bulk-encoding.ts";
import { createOperation } from "../client/bulk.ts";
import type { Scheduler } from "../../../scheduling/scheduler.ts";

/**
 * Number of events per step, and length of their texts and data; between steps the process may serve
 * other work.
 */
const STEP_EVENTS = 64;
const STEP_LENGTH = 32_768;

/** Events as operations of a bulk request. */
export class ElasticsearchEvents implements PreparedEvents {
  readonly #ids: EventId[] = [];
  readonly #indexOf: (id: EventId) => string | Promise<string>;
  readonly #columns: ColumnsOfLogs;
  readonly #scheduler: Scheduler;
  #parts: BulkOperations[] = [];

  /** @param indexOf returns the index in which an event is created */
  constructor(indexOf: (id: EventId) => string | Promise<string>, columns: ColumnsOfLogs, scheduler: Scheduler) {
    this.#indexOf = indexOf;
    this.#columns = columns;
    this.#scheduler = scheduler;
  }

  get length(): number {
    return this.#ids.length;
  }

  ids(): EventId[] {
    return [...this.#ids];
  }

  async add(events: readonly StoredEvent[]): Promise<void> {
    for (const some of stepsOf(events)) {
      await this.#scheduler.yieldToRequests();
      const operations: EncodedOperation[] = [];
      for (const event of some) {
        const index = this.#indexOf(event.id);
        const name = typeof index === "string" ? index : await index;
        const hasColumns = event.attributes === null ? NO_COLUMNS : await this.#columns.of(event.log, name);
        operations.push(createOperation(name, event.id, encodeDocument(event, hasColumns)));
      }
      this.#parts.push(BulkOperations.of(operations));
      this.#ids.push(...some.map(({ id }) => id));
    }
  }

  /** Operations of all events, in order. */
  get operations(): BulkOperations {
    if (this.#parts.length !== 1) this.#parts = [BulkOperations.concat(this.#parts)];
    return this.#parts[0]!;
  }

  async pick(places: readonly number[]): Promise<ElasticsearchEvents> {
    const picked = new ElasticsearchEvents(this.#indexOf, this.#columns, this.#scheduler);
    picked.#parts = [this.operations.pick(places)];
    picked.#ids.push(...places.map((place) => this.#ids[place]!));
    return picked;
  }
}

function* stepsOf(events: readonly StoredEvent[]): Generator<readonly StoredEvent[]> {
  let start = 0;
  let length = 0;
  for (const [i, { text, data }] of events.entries()) {
    length += text.length + (data?.length ?? 0);
    if (i + 1 < events.length && i + 1 - start < STEP_EVENTS && length < STEP_LENGTH) continue;
    yield events.slice(start, i + 1);
    start = i + 1;
    length = 0;
  }
}

/** Returns the operations of events. @throws TypeError if another store prepared them */
export function bulkOperations(events: PreparedEvents): BulkOperations {
  if (!(events instanceof ElasticsearchEvents)) throw new TypeError("these events were prepared by another store");
  return events.operations;
}
