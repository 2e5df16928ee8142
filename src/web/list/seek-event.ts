import { ApiFault } from "../api/client.ts";
import { momentOf } from "../api/types.ts";
import type { EventRecord } from "../api/types.ts";
import type { App } from "../app.ts";
import { eventsOf, within } from "../ask/groups.ts";
import { askRun } from "../state/ask-run.ts";
import type { Run } from "../state/search.ts";
import { listQuestion } from "./question.ts";

/** Where an event is that a list has not read yet: no more there, not in its range, or how far down. */
export type Sought = "gone" | "outside" | "near" | "far";

/** Rows that are read one page after the other to reach an event. */
const NEAR = 10_000;

/** Finds out where in the list of a run an event may stand, in two requests. @throws ApiFault */
export async function seekEvent({ client }: App, run: Run, id: string): Promise<Sought> {
  const created = await momentOfEvent(client, run, id);
  if (created === null) return "gone";
  const { from, to } = run.moments;
  if (created < from || created >= to) return "outside";
  const { order, ownSort } = listQuestion(run.query, run.moments, run.order);
  const ask = eventsOf(run.query);
  // The moment says nothing of the place in a list that is sorted by something else.
  if (ask === null || ownSort !== null) return "near";
  const before = order === "desc" ? { from: created, to } : { from, to: created + 1 };
  const query = within(ask, [["columns", "COLUMNS(COUNT)"]], before, run.zone);
  const { body } = await askRun<{ readonly count: string }>(client, run, query);
  return Number(body[0]?.count ?? 0) > NEAR ? "far" : "near";
}

async function momentOfEvent(client: App["client"], { log, signal }: Run, id: string): Promise<number | null> {
  try {
    const { body } = await client.ask<EventRecord>(`/1/logs/${log}/events/${encodeURIComponent(id)}`, { signal });
    return momentOf(body.created);
  } catch (fault) {
    if (fault instanceof ApiFault && fault.code === "event_not_found") return null;
    throw fault;
  }
}
