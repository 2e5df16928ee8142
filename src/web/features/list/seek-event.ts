import { ApiFault } from "../../parts/api/client.ts";
import { parseMoment } from "../../parts/api/types.ts";
import type { EventRecord } from "../../parts/api/types.ts";
import type { App } from "../../state/app.ts";
import { eventsQuery, queryWithin } from "../../parts/query/groups.ts";
import { sendQuery } from "../../state/send-query.ts";
import type { Run } from "../../state/search.ts";
import { listQuestion } from "../../parts/rows/question.ts";

/** Where an unread event is: deleted, outside the range, or near or far in the list. */
export type SeekResult = "gone" | "outside" | "near" | "far";

/** Most rows read page by page to reach an event. */
const NEAR = 10_000;

/** Locates an event in the list of a run with two requests. @throws ApiFault */
export async function seekEvent({ client }: App, run: Run, id: string): Promise<SeekResult> {
  const created = await momentOfEvent(client, run, id);
  if (created === null) return "gone";
  const { from, to } = run.moments;
  if (created < from || created >= to) return "outside";
  const { order, ownSort } = listQuestion(run.query, run.moments, run.order);
  const parsed = eventsQuery(run.query);
  // In a list sorted otherwise, the time does not determine the position.
  if (parsed === null || ownSort !== null) return "near";
  const before = order === "desc" ? { from: created, to } : { from, to: created + 1 };
  const query = queryWithin(parsed, [["columns", "COLUMNS(COUNT)"]], before, run.zone);
  const { body } = await sendQuery<{ readonly count: string }>(client, run, query);
  return Number(body[0]?.count ?? 0) > NEAR ? "far" : "near";
}

async function momentOfEvent(client: App["client"], { log, signal }: Run, id: string): Promise<number | null> {
  try {
    const { body } = await client.request<EventRecord>(`/1/logs/${log}/events/${encodeURIComponent(id)}`, { signal });
    return parseMoment(body.created);
  } catch (fault) {
    if (fault instanceof ApiFault && fault.code === "event_not_found") return null;
    throw fault;
  }
}
