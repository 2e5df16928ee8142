import type { ClassFilter } from "../../catalog/catalog.ts";
import { checkClassFilter } from "../../catalog/checks.ts";
import { LoggiaError } from "../../errors.ts";
import type { LogKey } from "../../events/event.ts";
import { fold } from "../../events/text.ts";
import type { Reply } from "../../http/route.ts";
import type { Condition, ListPlan } from "../../query/plan.ts";
import { quotaOwnerOfCaller } from "../../auth/requests/authenticate.ts";
import type { ApiCall, Context } from "../context.ts";
import { eventAsJson } from "../event-view.ts";
import { EVENT_BYTES } from "../response-sizes.ts";
import { ClassPreview } from "../schemas/answers.ts";
import { PreviewedFilter } from "../schemas/inputs.ts";
import { managed } from "./managed.ts";
import { readMomentField } from "./moment-field.ts";

/** Most events shown. */
const SHOWN = 10;

/** Previews an unsaved class filter: the number of its events in a range, and the newest. */
export const CLASS_PREVIEW_ROUTE = managed({
  method: "POST",
  path: "/manage/1/logs/:log/classFilters/preview",
  who: "log admin",
  id: "previewClassFilter",
  summary: "Preview which events an unsaved class filter matches; for admins of the log",
  json: PreviewedFilter,
  answers: { 200: { what: "The number of events, and the newest of them", schema: ClassPreview } },
  async handle(context, call) {
    const { from, to, ...filter } = await call.input();
    const conditions = [...conditionsOf(filter), ...readRange(from, to)];
    const work = () => preview(context, call, call.access.log.key, { kind: "and", conditions });
    return await context.limiter.query(quotaOwnerOfCaller(context.catalog, call.caller), work, call.gone);
  },
});

async function preview({ store }: Context, { memory }: ApiCall, log: LogKey, where: Condition): Promise<Reply> {
  const plan: ListPlan = {
    kind: "list",
    from: { kind: "events" },
    logs: [log],
    where,
    sort: [{ field: "created", direction: "desc" }],
    skip: 0,
    take: SHOWN,
    columns: null,
  };
  await memory.take(SHOWN * EVENT_BYTES);
  const { rows, total, annotations = await store.annotations(rows.map(({ id }) => id)) } = await store.list(plan);
  const shape = { columns: null, attributes: false };
  const events = rows.map((row) => eventAsJson(row, annotations.get(row.id), shape));
  const payload = Buffer.from(`{"count":${total},"events":[${events.join(",")}]}`);
  return { status: 200, body: { contentType: "application/json; charset=utf-8", payload } };
}

type Conditions = Pick<ClassFilter, "tag" | "text" | "link" | "source">;

/**
 * Returns the conditions by which the pipeline would assign the class.
 * @throws LoggiaError `bad_parameter`, as for a saved filter
 */
function conditionsOf(given: Conditions): Condition[] {
  const { tag, text, link, source } = checkClassFilter({ ...UNNAMED, ...given });
  const conditions: Condition[] = [];
  if (tag !== "") conditions.push({ kind: "text", field: "tags", op: "=", value: fold(tag) });
  if (source !== "") conditions.push({ kind: "text", field: "source", op: "=", value: fold(source) });
  if (text !== "") conditions.push({ kind: "contains", field: "text", value: text });
  if (link !== "") conditions.push({ kind: "contains", field: "link", value: link });
  return conditions;
}

const UNNAMED: Omit<ClassFilter, keyof Conditions> = { key: "unnamed", display: "", color: "gray", weight: 0 };

type MomentInput = number | string | undefined;

function readRange(from: MomentInput, to: MomentInput): Condition[] {
  const from_ms = from === undefined ? -Infinity : readMomentField("from", from);
  const to_ms = to === undefined ? Infinity : readMomentField("to", to);
  if (from_ms > to_ms) throw new LoggiaError("bad_parameter", "The field from must not be later than to");
  const conditions: Condition[] = [];
  if (from_ms > -Infinity) conditions.push({ kind: "number", field: "created", op: ">=", value: from_ms });
  if (to_ms < Infinity) conditions.push({ kind: "number", field: "created", op: "<", value: to_ms });
  return conditions;
}
