import { DAY_MS } from "../../../query/calendar.ts";
import type { EventRecord } from "../../parts/api/types.ts";
import { parseMoment } from "../../parts/api/types.ts";
import type { App } from "../../state/app.ts";
import { eventsQuery, queryWithin } from "../../parts/query/groups.ts";
import { BEGINNING, hasOwnRange } from "../../parts/query/range.ts";
import { sendQuery } from "../../state/send-query.ts";
import type { Run } from "../../state/search.ts";
import { nearValue, textConditions } from "./near-value.ts";
import type { TextCondition } from "./near-value.ts";

/** An existing value similar to a requested one that no event has. */
export type NearValue = { readonly condition: TextCondition; readonly value: string };

type Asked = Pick<Run, "log" | "query" | "moments" | "zone">;
type Field = { readonly name: string; readonly values: readonly { readonly value: string }[] };

/** Least range searched for values, in milliseconds. */
const LOOK_BACK_MS = 30 * DAY_MS;
const MOST_VALUES = 100;
/** Most conditions checked; with more, typing errors are unlikely. */
const MOST_CONDITIONS = 3;

/** Returns the value that a condition probably meant; null if none is similar. @throws ApiFault */
export async function readNear({ client, classes }: App, run: Asked, signal: AbortSignal): Promise<NearValue | null> {
  const parsed = eventsQuery(run.query);
  const conditions = parsed === null ? [] : textConditions(parsed).slice(0, MOST_CONDITIONS);
  const { from, to } = run.moments;
  const valuesOf = async (field: string): Promise<readonly string[]> => {
    if (field === "class") return (classes.byLog.peek().get(run.log) ?? []).map(({ key }) => key);
    const created = `${Math.min(from, to - LOOK_BACK_MS)}:${to}`;
    const query = { prefix: field, values: MOST_VALUES, created };
    const { body } = await client.request<readonly Field[]>(`/1/logs/${run.log}/fields`, { query, signal });
    return body.find(({ name }) => name === field)?.values.map(({ value }) => value) ?? [];
  };
  for (const condition of conditions) {
    const value = nearValue(condition.value, await valuesOf(condition.field));
    if (value !== null) return { condition, value };
  }
  return null;
}

/** Returns the newest event's time in any range; null if there is none. @throws ApiFault */
export async function readNewest({ client }: App, run: Asked, signal: AbortSignal): Promise<number | null> {
  const parsed = eventsQuery(run.query);
  if (parsed === null || hasOwnRange(parsed)) return null;
  const newest = [
    ["sort", "SORT created DESC"],
    ["take", "TAKE 1"],
  ] as const;
  const query = queryWithin(parsed, newest, { from: BEGINNING, to: Date.now() }, run.zone);
  const { body } = await sendQuery<EventRecord>(client, { ...run, signal }, query);
  return body[0] === undefined ? null : parseMoment(body[0].created);
}
