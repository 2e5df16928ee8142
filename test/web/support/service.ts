import { parseLogKey } from "../../../src/events/event.ts";
import type { StoredEvent } from "../../../src/events/event.ts";
import type { EventId } from "../../../src/events/id.ts";
import { planQuery } from "../../../src/query/planner.ts";
import { UTC } from "../../../src/query/zone.ts";
import type { ReadPage } from "../../../src/web/parts/rows/paged-rows.ts";
import type { ListedEvent } from "../../../src/web/parts/rows/row.ts";
import { evaluateList } from "../../reference/evaluate.ts";

const LOG = parseLogKey("shop")!;

/** Answers pages of a log with the reference semantics of queries. */
export class ReferenceService {
  readonly queries: string[] = [];
  events: ListedEvent[];
  /** Errors for the next requests. */
  faults: Error[] = [];

  constructor(events: readonly ListedEvent[]) {
    this.events = [...events];
  }

  readonly read: ReadPage = async (query) => {
    this.queries.push(query);
    const fault = this.faults.shift();
    if (fault !== undefined) throw fault;
    const plan = planQuery(query, { logs: [LOG], now_ms: 0, zone: UTC });
    if (plan.kind !== "list") throw new Error("This is no list");
    const { rows } = evaluateList(plan, this.events.map(asStored));
    await Promise.resolve();
    return rows.map(({ id }) => this.events.find((event) => event.id === id)!);
  };
}

function asStored(event: ListedEvent): StoredEvent {
  return {
    ...event,
    id: event.id as EventId,
    log: LOG,
    pattern: "",
    data: null,
    attributes: null,
  };
}
