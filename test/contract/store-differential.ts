import test from "ava";
import * as fc from "fast-check";
import { randomBytes } from "node:crypto";
import { inspect, isDeepStrictEqual } from "node:util";

import type { EventRow, LogKey, StoredEvent, UserId } from "../../src/events/event.ts";
import type { EventId } from "../../src/events/id.ts";
import { afterEvent, supportsKeyset } from "../../src/query/keyset.ts";
import type { Condition, RecordSource } from "../../src/query/plan.ts";
import type { Store } from "../../src/store/store.ts";
import { listPlans, storedEvents } from "../reference/arbitrary.ts";
import { groupPlans } from "../reference/arbitrary-groups.ts";
import { evaluateList } from "../reference/evaluate.ts";
import { evaluateGroup, groupsAgree } from "../reference/groups.ts";
import type { Mark } from "../reference/evaluate.ts";
import { newLog, newUser, write } from "./store-fixture.ts";
import type { StoreAdapter } from "./store-fixture.ts";
import { writeAlerts } from "../support/write-events.ts";

const PLANS_A_ROUND = 40;
const PART = 10;

/** Number of plans per store and time limit in seconds. `make fuzz` sets both far higher. */
const { DIFFERENTIAL_PLANS, DIFFERENTIAL_SECONDS = "600" } = process.env;
const FUZZED_PLANS_A_ROUND = 500;

/**
 * Compares the store's answers to random plans over random events with those of the plain
 * evaluator.
 */
export function differentialContract({ name, open, differentialRounds }: StoreAdapter): void {
  const rounds = DIFFERENTIAL_PLANS ? Number(DIFFERENTIAL_PLANS) / FUZZED_PLANS_A_ROUND : differentialRounds;
  const numRuns = DIFFERENTIAL_PLANS ? FUZZED_PLANS_A_ROUND : PLANS_A_ROUND;
  for (let round = 1; round <= rounds; round++) {
    test(`${name}: random queries are answered like the reference (${round} of ${rounds})`, async (t) => {
      // All rounds share the time limit, which starts with the process.
      const interruptAfterTimeLimit = Number(DIFFERENTIAL_SECONDS) * 1000 - performance.now();
      if (interruptAfterTimeLimit <= 0) {
        t.log("no time is left for this one");
        return t.pass();
      }
      const store = await open(t);
      const seed = randomBytes(4).readInt32BE();
      t.log(`events of fast-check's seed ${seed}`);
      const logs = [newLog(), newLog()];
      const events = sampleEvents(logs, seed);
      // Written in parts, because a store may lay out later events by what it has seen so far.
      for (let start = 0; start < events.length; start += PART)
        await write(t, store, events.slice(start, start + PART));
      const user = newUser();
      const marks = await mark(store, user, events);
      const sources = fc.constantFrom<RecordSource>(
        { kind: "events" },
        { kind: "events" },
        { kind: "bookmarks", user },
        { kind: "alerts", user },
      );
      let asked = 0;
      const property = fc.asyncProperty(listPlans(logs), groupPlans(logs), sources, async (list, group, from) => {
        asked += 1;
        await Promise.all([
          agreesOnList(store, { ...list, from }, events, marks),
          agreesOnWalk(store, { ...list, from }, events, marks),
          agreesOnGroups(store, { ...group, from }, events, marks),
        ]);
      });
      await t.notThrowsAsync(
        fc.assert(property, { numRuns, interruptAfterTimeLimit, seed, includeErrorInReport: true }),
      );
      t.log(`${asked} questions of ${numRuns}`);
    });
  }
}

/**
 * Returns events with unique ids: the generator prefers small numbers, so random ids would collide.
 */
function sampleEvents(logs: readonly LogKey[], seed: number): StoredEvent[] {
  const [sample = []] = fc.sample(storedEvents(logs, { minLength: 20 }), { numRuns: 1, seed });
  const process = randomBytes(4).toString("hex");
  const renamed = new Map<EventId, StoredEvent>();
  for (const event of sample) {
    const id = (event.id.slice(0, 16) + process) as EventId;
    renamed.set(id, { ...event, id });
  }
  return [...renamed.values()];
}

/** Bookmarks every third event and writes an alert for every fourth. */
async function mark(store: Store, user: UserId, events: readonly StoredEvent[]): Promise<Mark[]> {
  const bookmarked = events.filter((_, i) => i % 3 === 0);
  const alerted = events.filter((_, i) => i % 4 === 0);
  for (const { log, id } of bookmarked) await store.addBookmark(user, log, id);
  await writeAlerts(
    store,
    alerted.map((event) => ({ user, event })),
  );
  await store.refresh();
  return [
    ...bookmarked.map(({ id }) => ({ kind: "bookmarks" as const, user, id })),
    ...alerted.map(({ id }) => ({ kind: "alerts" as const, user, id })),
  ];
}

async function agreesOnList(store: Store, ...args: Parameters<typeof evaluateList>): Promise<void> {
  const { annotations, ...actual } = await store.list(args[0]);
  const expected = evaluateList(...args);
  if (!isDeepStrictEqual({ ...actual, rows: [...actual.rows] }, { ...expected, rows: [...expected.rows] })) {
    throw disagreement(args[0], actual, expected);
  }
  if (annotations === undefined) return;
  const known = await store.annotations(actual.rows.map(({ id }) => id));
  for (const { id } of actual.rows) {
    if (!isDeepStrictEqual(annotations.get(id), known.get(id)))
      throw disagreement(args[0], annotations.get(id), known.get(id));
  }
}

/**
 * Asserts that walking page by page, each page after the last event of the one before, gives the
 * whole list.
 */
async function agreesOnWalk(store: Store, ...[plan, events, marks]: Parameters<typeof evaluateList>): Promise<void> {
  const { sort } = plan;
  if (!supportsKeyset(sort)) return;
  const whole = { ...plan, skip: 0, take: WALKED };
  const expected = evaluateList(whole, events, marks).rows;
  const walked: EventRow[] = [];
  while (walked.length < WALKED) {
    const last = walked.at(-1);
    const where: Condition =
      last === undefined ? plan.where : { kind: "and", conditions: [plan.where, afterEvent(last, sort)] };
    const take = Math.min(WALKED_PAGE, WALKED - walked.length);
    const rows = await store.rows({ ...whole, where, take });
    walked.push(...rows);
    if (rows.length < take) break;
  }
  if (!isDeepStrictEqual(walked, [...expected])) throw disagreement(plan, walked, expected);
}

const WALKED = 12;
const WALKED_PAGE = 5;

async function agreesOnGroups(store: Store, ...args: Parameters<typeof evaluateGroup>): Promise<void> {
  const [plan, events, marks] = args;
  // A store may count values in another way once it knows how many there are.
  const times = plan.aggregates.some(({ kind }) => kind === "distinct") ? 2 : 1;
  for (let asked = 0; asked < times; asked++) {
    const actual = await store.group(plan);
    if (!groupsAgree(plan, actual, events, marks)) throw disagreement(plan, actual, evaluateGroup(...args));
  }
}

function disagreement(plan: unknown, actual: unknown, expected: unknown): Error {
  return new Error(
    `The store disagrees with the evaluator\n${show(plan)}\nstore: ${show(actual)}\nevaluator: ${show(expected)}`,
  );
}

function show(value: unknown): string {
  return inspect(value, { depth: 9, maxArrayLength: 50 });
}
