import type { LogKey } from "../events/event.ts";
import { fold, wellFormed } from "../events/text.ts";
import { planCondition, planOccurs } from "./conditions.ts";
import type { Context } from "./conditions.ts";
import { eventColumns, sortField } from "./event-fields.ts";
import { QueryFault, queryFault } from "./fault.ts";
import { unknownField } from "./field-faults.ts";
import { EVENTS, USERS } from "./fields.ts";
import { asksForGroups } from "./grouped.ts";
import { withForeignSyntaxHint } from "./foreign-syntax-hints.ts";
import { parseQuery } from "./parser.ts";
import type { ParserOptions } from "./parser.ts";
import { EVERYTHING, USER_FIELDS, deepFreeze, freezePlan } from "./plan.ts";
import type { Aggregate, Condition, Grouping, HavingCondition, ListPlan, UserField, UsersPlan } from "./plan.ts";
import { Terms, filledKey, isMisaligned, planColumns, planGroupings, planHaving } from "./plan-groups.ts";
import { finalHaving, spanOfKey } from "./plan-groups.ts";
import type { AfterStore, PlannedGroups, PlannedQuery } from "./planned-query.ts";
import { noExpressions } from "./regex/regex.ts";
import { conditionTimeRange } from "./time-range.ts";
import type { Name, Query, Sort, Term } from "./syntax.ts";
import type { Zone } from "./zone.ts";

/** Records returned by a query without TAKE. */
const DEFAULT_TAKE = 100;

export type QueryContext = {
  readonly logs: readonly LogKey[];
  /** Value of NOW, and basis of TODAY, in milliseconds since the Unix epoch. */
  readonly now_ms: number;
  /** Time zone of the analyst. */
  readonly zone: Zone;
  /** Whether the whole result is requested, not a page. TAKE is then unlimited, also by default. */
  readonly whole?: boolean;
};

type PlanContext = QueryContext & Pick<Context<never>, "expressions">;

/** Largest and default TAKE of a query for the whole result. */
export const WHOLE = 1_000_000_000;

/**
 * Plans a query in LQL.
 *
 * @throws LoggiaError `bad_query`, with line, column and what was expected there
 */
export function planQuery(text: string, asked: QueryContext): PlannedQuery {
  const context = { ...asked, expressions: noExpressions() };
  const source = wellFormed(text);
  const query = parsed(source, context.whole === true ? { takeLimit: WHOLE } : {});
  if (query.table.name === "users") return freezePlan(planUsers(source, query, context));
  if (asksForGroups(query.clauses)) return deepFreeze(planGroups(source, query, context));
  return freezePlan(planList(source, query, context));
}

/** Parses a query. If that fails, the fault gets hints about words of other query languages. */
function parsed(text: string, options: ParserOptions): Query {
  try {
    return parseQuery(text, options);
  } catch (error) {
    throw error instanceof QueryFault ? withForeignSyntaxHint(text, error) : error;
  }
}

function planList(text: string, query: Query, context: PlanContext): ListPlan {
  const { sort, skip, take, columns } = query.clauses;
  return {
    kind: "list",
    from: { kind: "events" },
    logs: [...context.logs],
    where: planEventConditions(text, query, context),
    sort: sort === null ? [] : [{ field: sortField(text, sort.key), direction: sort.direction }],
    skip: skip?.value ?? 0,
    take: take?.value ?? (context.whole === true ? WHOLE : DEFAULT_TAKE),
    columns: columns === null ? null : eventColumns(text, columns),
  };
}

function planGroups(text: string, query: Query, context: PlanContext): PlannedGroups {
  const { sort, skip, take, columns, groupBy, having, compare, fill } = query.clauses;
  const conditionContext = { text, table: EVENTS, ...context };
  const by = planGroupings(conditionContext, groupBy ?? []);
  const terms = new Terms(conditionContext, query.clauses);
  const shown = planColumns(text, terms, columns);
  const sorted = sort === null ? "key" : terms.indexOf(sort.key);
  const condition = having === null ? null : planHaving(conditionContext, terms, having);
  const finalIndexOf = (index: "key" | number): "key" | number => (index === "key" ? index : terms.finalIndex(index));
  const order: AfterStore = {
    having: condition === null ? null : finalHaving(terms, condition),
    sort: { by: finalIndexOf(sorted), direction: sort?.direction ?? "asc" },
    skip: skip?.value ?? 0,
    take: take?.value ?? null,
  };
  const filled = fill === null ? null : filledKey(text, by, fill.span);
  const misaligned = compare === null ? -1 : by.findIndex((grouping) => isMisaligned(grouping, compare.step));
  if (compare !== null && misaligned !== -1) {
    throw queryFault(text, compare.span, "these periods cannot be aligned with months", "Use WEEKS(n) or DAYS(n).");
  }
  const where = planEventConditions(text, query, context);
  if (terms.rates.length > 0) checkLength(text, query, by, where);
  // The store knows neither rates nor filled groups, so it cannot filter or sort by them.
  const { rates } = terms;
  // A query without keys has one group, even if it shows only KEY.
  const aggregates = by.length + terms.aggregates.length === 0 ? [COUNT] : terms.aggregates;
  const isAfter = filled !== null || usesRates(order, aggregates.length);
  const ofStore = isAfter ? UNTOUCHED : order;
  return {
    kind: "groups",
    plan: { kind: "group", from: { kind: "events" }, logs: [...context.logs], where, by, aggregates, ...ofStore },
    rates,
    fill: filled,
    after: isAfter ? order : null,
    compare: compare?.step ?? null,
    columns: shown.map(({ name, shows }) => ({ name, shows: finalIndexOf(shows) })),
    now_ms: context.now_ms,
    zone: context.zone,
  };
}

const COUNT: Aggregate = { kind: "count", where: null };
const UNTOUCHED: AfterStore = { having: null, sort: { by: "key", direction: "asc" }, skip: 0, take: null };

function usesRates({ having, sort }: AfterStore, firstRate: number): boolean {
  const uses = (condition: HavingCondition): boolean => {
    if (condition.kind === "not") return uses(condition.condition);
    if (condition.kind === "and" || condition.kind === "or") return condition.conditions.some(uses);
    return condition.aggregate >= firstRate;
  };
  return (sort.by !== "key" && sort.by >= firstRate) || (having !== null && uses(having));
}

/** Checks that rates have a length of time: that of a group, or a range with a start. */
function checkLength(text: string, query: Query, by: readonly Grouping[], where: Condition): void {
  if (by.some(({ kind }) => kind === "period") || conditionTimeRange(where).from_ms > -Infinity) return;
  const { columns, sort } = query.clauses;
  const terms = [...(columns ?? []).map(({ of }) => of), ...(sort === null ? [] : [sort.key])];
  const rate = terms.find((term) => term.kind === "rate");
  const span = rate?.written.span ?? query.table.span;
  throw queryFault(text, span, "RATE needs a length of time", "Add OCCURS, or group by DAY, HOUR or the like.");
}

function planUsers(text: string, query: Query, context: PlanContext): UsersPlan {
  const { where, occurs, sort, skip, take, columns, groupBy, having, compare, fill } = query.clauses;
  if (query.class !== null) {
    const what = "users have no class: only events have classes";
    throw queryFault(text, query.class.span, what, `Write GET users, or GET events.${query.class.text}.`);
  }
  const grouping = groupBy === null ? (compare ?? fill) : { span: spanOfKey(groupBy[0]!) };
  if (grouping !== null) throw queryFault(text, grouping.span, "users cannot be grouped", "Only events can.");
  if (having !== null) throw queryFault(text, query.table.span, "users cannot be grouped", "Write WHERE, not HAVING.");
  const conditionContext: Context<UserField> = { text, table: USERS, ...context };
  const key = sort === null ? "created" : userField(text, plainTerm(text, sort.key));
  return {
    kind: "users",
    logs: [...context.logs],
    where: all([
      ...(where === null ? [] : [planCondition(conditionContext, where)]),
      ...(occurs === null ? [] : [planOccurs(conditionContext, occurs, "created")]),
    ]),
    sort: userSort(key, sort),
    skip: skip?.value ?? 0,
    take: take?.value ?? (context.whole === true ? WHOLE : DEFAULT_TAKE),
    columns:
      columns === null
        ? null
        : inOrder(
            USER_FIELDS,
            columns.map(({ of, as }) => userField(text, plainTerm(text, of, as))),
          ),
  };
}

/** Returns the order of users. Ties are broken by the user, whose name is unique. */
function userSort(key: UserField, sort: Sort | null): UsersPlan["sort"] {
  const direction = sort?.direction ?? "asc";
  return key === "user"
    ? [{ field: key, direction }]
    : [
        { field: key, direction },
        { field: "user", direction },
      ];
}

function planEventConditions(text: string, query: Query, context: PlanContext): Condition {
  const { where, occurs } = query.clauses;
  const conditionContext = { text, table: EVENTS, ...context };
  const conditions: Condition[] = [];
  if (query.class !== null) conditions.push({ kind: "text", field: "class", op: "=", value: fold(query.class.text) });
  if (where !== null) conditions.push(planCondition(conditionContext, where));
  if (occurs !== null) conditions.push(planOccurs(conditionContext, occurs, "created"));
  return all(conditions);
}

function all<Field extends string>(conditions: readonly Condition<Field>[]): Condition<Field> {
  return conditions.length === 0 ? EVERYTHING : conditions.length === 1 ? conditions[0]! : { kind: "and", conditions };
}

/** Returns the name that a term is; others are rejected, as users have no aggregates. */
function plainTerm(text: string, term: Term, as: Name | null = null): Name {
  if (term.kind === "name" && as === null) return term.name;
  const span = term.kind === "name" ? as!.span : term.function.span;
  throw queryFault(text, span, "users cannot be grouped", "Only events can.");
}

function userField(text: string, name: Name): UserField {
  const field = USER_FIELDS.find((candidate) => candidate === name.text.toLowerCase());
  if (field === undefined) throw unknownField(text, "users", name, USER_FIELDS);
  return field;
}

/** Returns the distinct chosen fields in the given order. */
function inOrder<Field extends string>(order: readonly Field[], chosen: readonly Field[]): Field[] {
  return order.filter((field) => chosen.includes(field));
}
