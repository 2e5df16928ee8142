import test from "ava";
import type { ExecutionContext } from "ava";
import * as fc from "fast-check";
import { randomBytes } from "node:crypto";
import { isDeepStrictEqual, inspect } from "node:util";

import type { LogKey } from "../../src/events/event.ts";
import type { EventId } from "../../src/events/id.ts";
import type { Visit } from "../../src/events/visit.ts";
import { EVERYTHING } from "../../src/query/plan.ts";
import type { UsersPlan } from "../../src/query/plan.ts";
import type { Store } from "../../src/store/store.ts";
import { fixedZone } from "../../src/query/zone.ts";
import { evaluateUsers, usersPlans, visits as someVisits } from "../reference/users.ts";
import { idAt, MORNING, newLog } from "./store-fixture.ts";
import type { StoreAdapter } from "./store-fixture.ts";
import { USUAL, day, usualGroups } from "../support/groups.ts";

const PLANS_A_ROUND = 60;

function visit(log: LogKey, fields: Partial<Visit> = {}): Visit {
  const { created = MORNING } = fields;
  return { id: idAt(created), log, created, user: "ann", email: "", page: "", ...fields };
}

function usersPlan(logs: LogKey | readonly LogKey[], fields: Partial<UsersPlan> = {}): UsersPlan {
  const all = typeof logs === "string" ? [logs] : logs;
  return { kind: "users", logs: all, where: EVERYTHING, sort: [], skip: 0, take: 100, columns: null, ...fields };
}

/** Writes visits, asserts that all succeed, and makes them visible. */
async function write(t: ExecutionContext, store: Store, visits: readonly Visit[]): Promise<void> {
  const outcomes = await store.writeVisits(visits);
  t.deepEqual(
    outcomes,
    visits.map(() => ({ kind: "done" as const })),
  );
  await store.refresh();
}

/** Tests of visits and of the users computed from them. */
export function usersContract(adapter: StoreAdapter): void {
  trackingContract(adapter);
  countingContract(adapter);
  askingContract(adapter);
  differentialContract(adapter);
}

function trackingContract({ name, open }: StoreAdapter): void {
  test(`${name}: a user has the last name, e-mail address and page given by any visit`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const [first, second, third] = [MORNING, MORNING + 1, MORNING + 60_000];
    await write(t, store, [
      visit(log, { created: second, user: "Straße", page: "/cart" }),
      visit(log, { created: first, user: "straße", email: "old@example.com", page: "/" }),
    ]);
    await write(t, store, [visit(log, { created: third, user: "STRAßE", email: "new@example.com" })]);
    t.deepEqual(await store.users(usersPlan(log)), {
      rows: [{ log, user: "STRAßE", email: "new@example.com", page: "/cart", created: first, seen: third, count: 3 }],
      total: 1,
    });
  });

  test(`${name}: an earlier visit written later does not override a later one`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const early = visit(log, { user: "ANN", email: "old@example.com", page: "/old" });
    await write(t, store, [visit(log, { created: MORNING + 5, user: "ann", email: "new@example.com" })]);
    await write(t, store, [early]);
    const { rows } = await store.users(usersPlan(log));
    t.like(rows[0], { user: "ann", email: "new@example.com", page: "/old", created: MORNING, seen: MORNING + 5 });
  });

  test(`${name}: names that look equal but do not fold to the same text are two users`, async (t) => {
    const store = await open(t);
    const log = newLog();
    await write(
      t,
      store,
      ["Straße", "STRASSE", "ann", " ann"].map((user) => visit(log, { user })),
    );
    const { rows } = await store.users(usersPlan(log));
    t.deepEqual(
      rows.map(({ user }) => user),
      [" ann", "ann", "STRASSE", "Straße"],
    );
  });

  test(`${name}: texts of any characters are returned unchanged`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const texts = ["\u0000\u0001", "'; drop table visits; --", '"\\{}[]$1 ? %s', "\u{1f600}\u{10ffff}\ufffd", " x ", "x".repeat(500)]; // prettier-ignore
    await write(
      t,
      store,
      texts.map((text) => visit(log, { user: text, email: text, page: text })),
    );
    const { rows } = await store.users(usersPlan(log));
    t.deepEqual(rows.map(({ user }) => user).toSorted(), texts.toSorted());
    t.true(rows.every(({ user, email, page }) => email === user && page === user));
  });

  test(`${name}: equal names in two logs are two users`, async (t) => {
    const store = await open(t);
    const logs = [newLog(), newLog()].toSorted() as [LogKey, LogKey];
    await write(t, store, [visit(logs[0]), visit(logs[1], { user: "Ann" }), visit(logs[1])]);
    const { rows, total } = await store.users(usersPlan(logs));
    t.deepEqual(
      rows.map(({ log, count }) => [log, count]),
      [
        [logs[0], 1],
        [logs[1], 2],
      ],
    );
    t.is(total, 2);
    t.is((await store.users(usersPlan(logs[1]))).total, 1);
    t.deepEqual(await store.users(usersPlan([])), { rows: [], total: 0 });
    t.deepEqual(await store.users(usersPlan(newLog())), { rows: [], total: 0 });
  });
}

function countingContract({ name, open }: StoreAdapter): void {
  test(`${name}: a visit counts once, however often it is delivered`, async (t) => {
    const store = await open(t);
    const log = newLog();
    t.deepEqual(await store.writeVisits([]), []);
    const visits = [0, 1, 2].map((i) => visit(log, { created: MORNING + i }));
    await write(t, store, [...visits, visits[0]!]);
    await write(t, store, [{ ...visits[2]!, user: "somebody else" }, visit(log, { created: MORNING + 3 }), ...visits]);
    const { rows } = await store.users(usersPlan(log));
    t.deepEqual(
      rows.map(({ user, count }) => [user, count]),
      [["ann", 4]],
    );
  });

  test(`${name}: concurrently written visits all count, once`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const shared = visit(log);
    const outcomes = await Promise.all([0, 1, 2, 3].map(() => store.writeVisits([visit(log), shared])));
    t.true(outcomes.flat().every(({ kind }) => kind === "done"));
    await store.refresh();
    t.is((await store.users(usersPlan(log))).rows[0]?.count, 5);
  });

  test(`${name}: visits do not count as events, nor events as visits`, async (t) => {
    const store = await open(t);
    const log = newLog();
    await write(t, store, [visit(log)]);
    const plan = { kind: "list", from: { kind: "events" }, logs: [log], where: EVERYTHING, sort: [], skip: 0, take: 1, columns: null } as const; // prettier-ignore
    t.is((await store.list(plan)).total, 0);
    t.is((await usualGroups(store, { ...plan, kind: "group", by: [day(fixedZone(0))], aggregates: USUAL, having: null, sort: { by: "key", direction: "asc" }, take: null })).length, 0); // prettier-ignore
  });
}

function askingContract({ name, open }: StoreAdapter): void {
  test(`${name}: pages return each user of 12,000 visits in three months once`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const visits = Array.from({ length: 12_000 }, (_, i) =>
      visit(log, {
        created: MORNING + (i % 3) * 31 * 86_400_000 + i,
        user: `user ${i % 6_000}`,
        page: `/${i}`,
      }),
    );
    await write(t, store, visits);
    const seen: string[] = [];
    for (let skip = 0; skip < 7_500; skip += 1_500) {
      const { rows, total } = await store.users(usersPlan(log, { skip, take: 1_500 }));
      t.is(total, 6_000);
      t.true(rows.every(({ count }) => count === 2));
      seen.push(...rows.map(({ user }) => user));
    }
    t.deepEqual(seen, Array.from({ length: 6_000 }, (_, i) => `user ${i}`).toSorted());
    const sort = [{ field: "seen", direction: "desc" }] as const;
    const { rows } = await store.users(usersPlan(log, { sort, skip: 5_999, take: 1 }));
    t.deepEqual(rows, evaluateUsers(usersPlan(log, { sort, skip: 5_999, take: 1 }), visits).rows);
  });

  test(`${name}: an expression on a name knows the letters of the newest Unicode version`, async (t) => {
    const store = await open(t);
    const log = newLog();
    await write(t, store, [visit(log, { user: "\u1c89" }), visit(log, { user: "1" })]);
    const find = async (pattern: string): Promise<string[]> => {
      const { rows } = await store.users(usersPlan(log, { where: { kind: "matches", field: "user", pattern } }));
      return rows.map(({ user }) => user);
    };
    t.deepEqual([await find("\\pL"), await find("\u1c8a"), await find("^\\d$")], [["\u1c89"], ["\u1c89"], ["1"]]);
  });

  test(`${name}: a condition on a name combined with one on a count applies both`, async (t) => {
    const store = await open(t);
    const log = newLog();
    await write(t, store, [visit(log), visit(log, { user: "ANN" }), visit(log, { user: "bob" })]);
    const count = { kind: "number", field: "count", op: ">", value: 1 } as const;
    const find = async (user: string): Promise<number> => {
      const where = { kind: "and", conditions: [{ kind: "in", field: "user", values: [user] }, count] } as const;
      return (await store.users(usersPlan(log, { where }))).total;
    };
    t.deepEqual([await find("ann"), await find("bob"), await find("")], [1, 0, 0]);
  });
}

/**
 * Compares the store's answers to random questions over random visits with those of the plain
 * evaluator.
 */
function differentialContract({ name, open, differentialRounds }: StoreAdapter): void {
  const rounds = Math.ceil(differentialRounds / 3);
  for (let round = 1; round <= rounds; round++) {
    test(`${name}: random queries about users are answered like the reference (${round} of ${rounds})`, async (t) => {
      const store = await open(t);
      const seed = randomBytes(4).readInt32BE();
      t.log(`visits of fast-check's seed ${seed}`);
      const logs = [newLog(), newLog()];
      const [sample = []] = fc.sample(someVisits(logs, { minLength: 20 }), { numRuns: 1, seed });
      // A process id that no other test uses.
      const process = randomBytes(4).toString("hex");
      const visits = sample.map((each) => ({ ...each, id: (each.id.slice(0, 16) + process) as EventId }));
      await write(t, store, visits);
      const property = fc.asyncProperty(usersPlans(logs), async (plan) => {
        const [actual, expected] = [await store.users(plan), evaluateUsers(plan, visits)];
        if (isDeepStrictEqual({ ...actual, rows: [...actual.rows] }, { ...expected, rows: [...expected.rows] })) return;
        throw new Error(`${show(plan)}\nstore: ${show(actual)}\nevaluator: ${show(expected)}`);
      });
      await t.notThrowsAsync(fc.assert(property, { numRuns: PLANS_A_ROUND, seed }));
    });
  }
}

function show(value: unknown): string {
  return inspect(value, { depth: 9, maxArrayLength: 50 });
}
