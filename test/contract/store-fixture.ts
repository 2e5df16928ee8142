import type { ExecutionContext } from "ava";
import { randomBytes } from "node:crypto";

import { textPattern } from "../../src/events/pattern.ts";
import { hashText } from "../../src/events/hash.ts";
import type { EventRow, LogKey, StoredEvent, UserId } from "../../src/events/event.ts";
import type { EventId } from "../../src/events/id.ts";
import type { GroupPlan, ListPlan } from "../../src/query/plan.ts";
import { EVERYTHING } from "../../src/query/plan.ts";
import type { Page, Store } from "../../src/store/store.ts";
import { fixedZone } from "../../src/query/zone.ts";
import { ABSENT_FIELDS } from "../../src/events/absent-fields.ts";
import { uniqueName } from "../support/temporary.ts";
import { writeEvents } from "../support/write-events.ts";
import { USUAL, day } from "../support/groups.ts";

/**
 * Opens a store under test. Tests may share an engine, so each uses logs and users of its own.
 * @param listedAttributes most attributes that it lists of a log
 */
export type OpenStore = (t: ExecutionContext, listedAttributes?: number) => Promise<Store>;

/** An adapter of the store port and how the suite runs it. */
export type StoreAdapter = {
  readonly name: string;
  readonly open: OpenStore;
  /** Whether the store keeps bus positions with its rows. */
  readonly keepsPositions: boolean;
  /** Number of random sets of events for the differential test. */
  readonly differentialRounds: number;
  /** Removes what the tests left in a shared engine. */
  readonly cleanUp?: () => Promise<void>;
};

export function newLog(): LogKey {
  return uniqueName("log") as LogKey;
}

export function newUser(): UserId {
  return randomBytes(8).toString("hex") as UserId;
}

/** 2024-05-04T10:00:00Z */
export const MORNING = Date.UTC(2024, 4, 4, 10);

const PROCESS = randomBytes(4).toString("hex");
let counter = 0;

/**
 * Returns an id of an event accepted at `ms`, larger than all ids it returned for the same
 * millisecond.
 */
export function idAt(ms: number): EventId {
  counter += 1;
  const second = Math.floor(ms / 1000)
    .toString(16)
    .padStart(8, "0");
  return `${second}${(ms % 1000).toString(16).padStart(3, "0")}${counter.toString(16).padStart(5, "0")}${PROCESS}` as EventId;
}

/** Returns an event with the required fields, and `fields`. */
export function event(log: LogKey, fields: Partial<StoredEvent> = {}): StoredEvent {
  const { created = MORNING, text = "Something happened" } = fields;
  return {
    id: idAt(created),
    log,
    created,
    text,
    ...ABSENT_FIELDS,
    pattern: textPattern(text),
    class: null,
    ...fields,
  };
}

/** Writes events, asserts that all succeed, and makes them visible. */
export async function write(t: ExecutionContext, store: Store, events: readonly StoredEvent[]): Promise<void> {
  const outcomes = await writeEvents(store, events);
  t.deepEqual(
    outcomes.filter(({ kind }) => kind !== "done"),
    [],
  );
  t.is(outcomes.length, events.length);
  await store.refresh();
}

/** Returns a page without the annotations that a store may have read along with it. */
export async function pageOf(store: Store, plan: ListPlan): Promise<Omit<Page, "annotations">> {
  const { rows, total } = await store.list(plan);
  return { rows, total };
}

/** Returns the event as lists show it. */
export function row(stored: StoredEvent): EventRow {
  return { ...stored, hash: hashText(stored.text), data: stored.data !== null };
}

export function listPlan(logs: LogKey | readonly LogKey[], fields: Partial<ListPlan> = {}): ListPlan {
  return {
    kind: "list",
    from: { kind: "events" },
    logs: typeof logs === "string" ? [logs] : logs,
    where: EVERYTHING,
    sort: [],
    skip: 0,
    take: 100,
    columns: null,
    ...fields,
  };
}

export function groupPlan(logs: LogKey | readonly LogKey[], fields: Partial<GroupPlan> = {}): GroupPlan {
  return {
    kind: "group",
    from: { kind: "events" },
    logs: typeof logs === "string" ? [logs] : logs,
    where: EVERYTHING,
    by: [day(fixedZone(0))],
    aggregates: USUAL,
    having: null,
    sort: { by: "key", direction: "asc" },
    skip: 0,
    take: null,
    ...fields,
  };
}

/** Returns the texts of a list's page, in order. */
export async function texts(store: Store, plan: ListPlan): Promise<string[]> {
  const page = await store.list(plan);
  return page.rows.map(({ text }) => text);
}

/** Deletes all alerts of a user, as the API does. */
export async function deleteAlerts(store: Store, user: UserId): Promise<void> {
  const outcomes = await store.writeDeletions(await store.deletionsOfAlerts(user));
  const left = outcomes.find(({ kind }) => kind !== "done");
  if (left !== undefined) throw new Error(`not all alerts were deleted: ${JSON.stringify(left)}`);
  await store.refresh();
}
