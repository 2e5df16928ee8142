import * as fc from "fast-check";
import { RE2JS } from "re2js";

import type { LogKey } from "../../src/events/event.ts";
import type { EventId } from "../../src/events/id.ts";
import type { Visit } from "../../src/events/visit.ts";
import { EVERYTHING, USER_FIELDS } from "../../src/query/plan.ts";
import type { ComparisonOp, UserCondition, UserField, UsersPlan } from "../../src/query/plan.ts";
import { compileExpression } from "../../src/query/regex/tree.ts";
import type { TrackedUser, UsersPage } from "../../src/store/store.ts";
import { anyText, moments } from "./arbitrary.ts";
import { compareCodePoints, fold } from "./evaluate.ts";

/**
 * The meaning of plans for tracked users in plain code, and random plans: the reference that both
 * stores are compared with.
 */
export function evaluateUsers(plan: UsersPlan, visits: readonly Visit[]): UsersPage {
  const found = summarise(visits.filter(({ log }) => plan.logs.includes(log))).filter((user) =>
    holds(plan.where, user),
  );
  found.sort((a, b) => compareUsers(plan.sort, a, b));
  return { rows: found.slice(plan.skip, plan.skip + plan.take), total: found.length };
}

function summarise(visits: readonly Visit[]): TrackedUser[] {
  const byId = visits.toSorted((a, b) => compareCodePoints(a.id, b.id));
  return Map.groupBy(byId, ({ log, user }) => JSON.stringify([log, fold(user)]))
    .values()
    .map((group) => ({
      log: group.at(-1)!.log,
      user: group.at(-1)!.user,
      email: group.findLast(({ email }) => email !== "")?.email ?? "",
      page: group.findLast(({ page }) => page !== "")?.page ?? "",
      created: Math.min(...group.map(({ created }) => created)),
      seen: Math.max(...group.map(({ created }) => created)),
      count: group.length,
    }))
    .toArray();
}

function holds(condition: UserCondition, user: TrackedUser): boolean {
  switch (condition.kind) {
    case "and":
      return condition.conditions.every((part) => holds(part, user));
    case "or":
      return condition.conditions.some((part) => holds(part, user));
    case "not":
      return !holds(condition.condition, user);
    case "text":
      return equalsText(String(user[condition.field]), condition.op, condition.value);
    case "in":
      return condition.values.some((value) => equalsText(String(user[condition.field]), "=", value));
    case "number":
      return compares(condition.op, Number(user[condition.field]) - condition.value);
    case "contains":
      return found(RE2JS.quote(condition.value), String(user[condition.field as UserField]));
    case "matches":
      return found(condition.pattern, String(user[condition.field as UserField]));
    case "absent":
      return user[condition.field as UserField] === "";
    case "geo-within":
    case "geo-near":
    case "accepted-after":
      throw new TypeError("users have no id");
  }
  throw condition satisfies never;
}

function equalsText(text: string, op: ComparisonOp, value: string): boolean {
  if (op === "=" && value === "") return text === "";
  return text !== "" && compares(op, compareCodePoints(fold(text), value));
}

function found(pattern: string, text: string): boolean {
  return text !== "" && compileExpression(pattern).test(text);
}

function compares(op: ComparisonOp, difference: number): boolean {
  if (difference === 0) return op === "=" || op === "<=" || op === ">=";
  return difference < 0 ? op === "<" || op === "<=" : op === ">" || op === ">=";
}

function compareUsers(sort: UsersPlan["sort"], a: TrackedUser, b: TrackedUser): number {
  const direction = sort.at(-1)?.direction ?? "asc";
  for (const key of [...sort, { field: "user", direction } as const, { field: "log", direction } as const]) {
    const [x, y] = [a[key.field], b[key.field]];
    const difference =
      typeof x === "number" && typeof y === "number" ? x - y : compareCodePoints(fold(String(x)), fold(String(y)));
    if (difference !== 0) return key.direction === "asc" ? difference : -difference;
  }
  return 0;
}

const USERS = [
  "ann",
  "ANN",
  "Ann",
  "bob",
  "Bob@Example.com",
  "Å",
  "Å",
  "straße",
  "STRASSE",
  "ς",
  "Σ",
  "ſam",
  "Sam",
  "İ",
];
const EMAILS = ["", "", "ann@example.com", "ANN@EXAMPLE.COM", "bob@example.com", "é@x"];
const PAGES = ["", "", "/cart", "/Cart?item=50%", "Übersicht", "\u{10400}", "a.b*c"];
const PATTERNS = ["ann", "^b", "@example\\.com$", "\\pL", "(?-i)A", "s", "x*", "[^a-z]"];

/** Visits of few users in these logs, with distinct ids that agree with `created`. */
export function visits(logs: readonly LogKey[], constraints: { minLength?: number } = {}): fc.Arbitrary<Visit[]> {
  const visit = fc
    .record({
      log: fc.constantFrom(...logs),
      created: moments,
      counter: fc.nat({ max: 0xfffff }),
      user: fc.oneof(
        { weight: 6, arbitrary: fc.constantFrom(...USERS) },
        anyText({ minLength: 1 }).map((text) => (text.trim() === "" ? "blank" : text)),
      ),
      email: fc.constantFrom(...EMAILS),
      page: fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...PAGES) }, anyText()),
    })
    .map(({ counter, ...rest }) => Object.assign(rest, { id: visitId(rest.created, counter) }));
  return fc.uniqueArray(visit, { maxLength: 60, ...constraints, selector: ({ id }) => id });
}

function visitId(created: number, counter: number): EventId {
  const second = Math.floor(created / 1000).toString(16);
  const rest = (created % 1000).toString(16).padStart(3, "0") + counter.toString(16).padStart(5, "0");
  return (second.padStart(8, "0") + rest + "00000000") as EventId;
}

const textFields = fc.constantFrom("user" as const, "email" as const, "page" as const);
const numberFields = fc.constantFrom("created" as const, "seen" as const, "count" as const);
const words = fc.constantFrom(...USERS, ...EMAILS, ...PAGES);
const op = fc.constantFrom<ComparisonOp>("=", "=", "<", "<=", ">", ">=");

/** Conditions on tracked users, at most `depth` deep. */
export function userConditions(depth = 3): fc.Arbitrary<UserCondition> {
  const leaf = fc.oneof<fc.Arbitrary<UserCondition>[]>(
    fc.record({ kind: fc.constant("text" as const), field: textFields, op, value: words.map(fold) }),
    fc.record({ kind: fc.constant("in" as const), field: textFields, values: fc.array(words.map(fold), { minLength: 1, maxLength: 3 }) }), // prettier-ignore
    numberFields.chain((field) =>
      fc.record({
        kind: fc.constant("number" as const),
        field: fc.constant(field),
        op,
        value: field === "count" ? fc.constantFrom(0, 1, 2, 2.5, 3, 1e18) : moments,
      }),
    ),
    fc.record({ kind: fc.constant("contains" as const), field: textFields, value: words.filter((word) => word !== "") }), // prettier-ignore
    fc.record({ kind: fc.constant("matches" as const), field: textFields, pattern: fc.constantFrom(...PATTERNS) }),
    fc.record({ kind: fc.constant("absent" as const), field: fc.constantFrom(...USER_FIELDS) }),
  );
  if (depth === 0) return leaf;
  const inner = userConditions(depth - 1);
  const several = fc.array(inner, { maxLength: 3 });
  return fc.oneof(
    { weight: 4, arbitrary: leaf },
    several.map((conditions) => ({ kind: "and" as const, conditions })),
    several.map((conditions) => ({ kind: "or" as const, conditions })),
    inner.map((condition) => ({ kind: "not" as const, condition })),
  );
}

/** Plans for the users of these logs. */
export function usersPlans(logs: readonly LogKey[]): fc.Arbitrary<UsersPlan> {
  const key = fc.record({
    field: fc.constantFrom(...USER_FIELDS),
    direction: fc.constantFrom("asc" as const, "desc" as const),
  });
  return fc.record({
    kind: fc.constant("users" as const),
    logs: fc.subarray([...logs]),
    where: fc.oneof(fc.constant(EVERYTHING), { weight: 5, arbitrary: userConditions() }),
    sort: fc.uniqueArray(key, { maxLength: 2, selector: ({ field }) => field }),
    skip: fc.constantFrom(0, 0, 1, 3, 1000),
    take: fc.constantFrom(1, 2, 5, 100, 500),
    columns: fc.constant(null),
  });
}
