import type { EventRow } from "../events/event.ts";
import { planFilters } from "../query/filters.ts";
import { afterEvent } from "../query/keyset.ts";
import { badParameter } from "../query/parameters.ts";
import type { Condition } from "../query/plan.ts";
import { eventIdParameter } from "./context.ts";
import type { Context } from "./context.ts";
import { defineRoute } from "./define-route.ts";
import { showsAttributes } from "./event-view.ts";
import { eventNotFound } from "./events.ts";
import { hintsBeforeResults, withHints } from "./hints.ts";
import { EVENT_BYTES } from "./response-sizes.ts";
import { EventList } from "./schemas/event-answers.ts";
import { ContextQuery } from "./schemas/inputs.ts";
import { writeEvents } from "./written-events.ts";

const DEFAULT_NEIGHBOURS = 20;
const MAX_NEIGHBOURS = 250;

/** An event with its neighbours by (`created`, `id`), optionally with list filters. */
export const EVENT_CONTEXT_ROUTE = defineRoute({
  method: "GET",
  path: "/1/logs/:log/events/:id/context",
  who: "log reader",
  id: "readEventContext",
  tag: "events",
  summary: "List an event with its neighbours in time, among all events or those that match filters",
  query: ContextQuery,
  answers: { 200: { what: "The events, including the given one", schema: EventList } },
  errors: ["event_not_found", "unsupported"],
  async handle(context, call) {
    const { store } = context;
    const { key } = call.access;
    const id = eventIdParameter(call);
    const shape = { columns: null, attributes: showsAttributes(call.query) };
    const before = readCount("before", call.query.get("before"));
    const after = readCount("after", call.query.get("after"));
    const { where } = planFilters(call.query, { from: { kind: "events" }, logs: [key] });
    const event = id === null ? null : await store.find({ kind: "events" }, key, id);
    if (event === null) throw eventNotFound(call);
    await call.memory.take((before + 1 + after) * EVENT_BYTES);
    const hints = await hintsBeforeResults(context, { logs: [key], where }, call.memory);
    const earlier = await neighbours(context, event, { where, direction: "desc", take: before });
    const later = await neighbours(context, event, { where, direction: "asc", take: after });
    const rows = [...earlier.toReversed(), event, ...later];
    const annotations = await store.annotations(rows.map((row) => row.id));
    const body = await writeEvents(call, { rows, annotations, shape });
    return withHints({ status: 200, body }, hints);
  },
});

type Side = { readonly where: Condition; readonly direction: "asc" | "desc"; readonly take: number };

/** Returns the events next to an event, nearest first. */
async function neighbours(
  { store }: Pick<Context, "store">,
  event: EventRow,
  { where, direction, take }: Side,
): Promise<readonly EventRow[]> {
  const sort = direction === "asc" ? [] : [{ field: "created", direction } as const];
  return await store.rows({
    kind: "list",
    from: { kind: "events" },
    logs: [event.log],
    where: { kind: "and", conditions: [where, afterEvent(event, sort)] },
    sort,
    skip: 0,
    take,
    columns: null,
  });
}

function readCount(name: "before" | "after", value: string | null): number {
  if (value === null || value === "") return DEFAULT_NEIGHBOURS;
  const count = /^\d{1,3}$/.test(value) ? Number(value) : NaN;
  if (count <= MAX_NEIGHBOURS) return count;
  throw badParameter(name, value, `a whole number from 0 to ${MAX_NEIGHBOURS}`);
}
