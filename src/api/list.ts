import type { LogKey } from "../events/event.ts";
import type { Reply } from "../http/route.ts";
import { planFilters } from "../query/filters.ts";
import type { Condition, ListPlan, RecordSource } from "../query/plan.ts";
import type { ApiCall, Context } from "./context.ts";
import type { EndpointAnswer } from "./endpoint.ts";
import { showsAttributes } from "./event-view.ts";
import { classHints, withHints } from "./hints.ts";
import { EVENT_BYTES } from "./response-sizes.ts";
import { EventList } from "./schemas/event-answers.ts";
import { readTotal } from "./total.ts";
import { writeEvents } from "./written-events.ts";

/** The response of a list, as it is documented. */
export const PAGE_ANSWER: EndpointAnswer = {
  what: "A page of events",
  schema: EventList,
  headers: ["X-Total-Count", "X-Total-At-Least", "Link", "X-Loggia-Hint"],
};

/** Answers a list call: one page of records, with links to its neighbours. */
export async function listRecords(
  context: Context,
  call: ApiCall,
  { from, logs }: { from: RecordSource; logs: readonly LogKey[] },
): Promise<Reply> {
  const plan = endAtReadWatermark(context, call, planFilters(call.query, { from, logs }));
  const { reply, total } = await runList(context, call, plan);
  return withPages(reply, call, plan, total);
}

/**
 * Ends a list with `sinceid` at the read watermark. A poller continues after the last event it saw,
 * and would miss events that become visible before it later.
 */
export function endAtReadWatermark({ readWatermark }: Context, { query }: ApiCall, plan: ListPlan): ListPlan {
  if (readWatermark === null || (query.get("sinceid") ?? "") === "") return plan;
  const later: Condition = { kind: "accepted-after", id: readWatermark.current() };
  return { ...plan, where: { kind: "and", conditions: [plan.where, { kind: "not", condition: later }] } };
}

/** Runs a list plan and returns its page. */
export async function runList(
  context: Context,
  call: ApiCall,
  plan: ListPlan,
): Promise<{ reply: Reply; total: number }> {
  const { memory, query } = call;
  const shape = { columns: plan.columns, attributes: showsAttributes(query, plan.columns) };
  const { countUpTo, headers } = readTotal(query, plan);
  await memory.take(plan.take * EVENT_BYTES);
  const hinting = context.attributes.hints(plan, memory);
  const page = await context.store.list(plan, { countUpTo });
  const { rows, total, annotations = await context.store.annotations(rows.map(({ id }) => id)) } = page;
  const body = await writeEvents(call, { rows, annotations, shape });
  const reply = { status: 200, body, headers: headers(total) };
  const hints = [...(await hinting), ...(total > 0 ? [] : await classHints(context, plan))];
  return { reply: withHints(reply, hints), total };
}

/** Adds the `Link` header to a page. */
export function withPages(
  reply: Reply,
  call: ApiCall,
  page: { readonly skip: number; readonly take: number },
  total: number,
): Reply {
  const link = linkPages(call, page, total);
  return link === "" ? reply : { ...reply, headers: { ...reply.headers, Link: link } };
}

/** Longest query repeated in `Link`: clients reject response headers above some 16 KB. */
const LINKED_QUERY_LENGTH = 4000;

/**
 * Returns the `Link` header to the neighbouring pages, relative to the requested path: a prefix
 * added by a proxy is unknown.
 */
function linkPages({ path, query }: ApiCall, { skip, take }: Pick<ListPlan, "skip" | "take">, total: number): string {
  if (query.toString().length > LINKED_QUERY_LENGTH) return "";
  const page = skip / take + 1;
  const last = Math.max(1, Math.ceil(total / take));
  const links: string[] = [];
  const link = (number: number, relation: string) => {
    const parameters = new URLSearchParams(query);
    parameters.set("pagenum", String(number));
    links.push(`<${path}?${parameters.toString()}>; rel="${relation}"`);
  };
  if (page < last) link(page + 1, "next");
  if (page > 1) link(Math.min(page - 1, last), "prev");
  return links.join(", ");
}
