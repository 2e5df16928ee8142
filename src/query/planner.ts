import type { LogKey } from "../events/event.ts";
import { fold, wellFormed } from "../events/text.ts";
import type { LoggiaError } from "../errors.ts";
import { planCondition, planOccurs, unknownField } from "./conditions.ts";
import type { Context } from "./conditions.ts";
import { didYouMean, oneOf, queryFault } from "./fault.ts";
import { EVENTS, GROUP_FIELDS, SORT_FIELDS, USERS, canonical } from "./fields.ts";
import { parseQuery } from "./parser.ts";
import { AGGREGATE_FIELDS, EVENT_FIELDS, EVERYTHING, USER_FIELDS, deepFreeze, freezePlan } from "./plan.ts";
import type {
  AggregateField,
  Condition,
  EventField,
  Grouping,
  GroupPlan,
  ListPlan,
  UserField,
  UsersPlan,
} from "./plan.ts";
import type { GroupQuestion, Question } from "./question.ts";
import type { Name, Query, Sort } from "./syntax.ts";
import type { Zone } from "./zone.ts";

/** How many records a query without TAKE returns. */
const DEFAULT_TAKE = 100;

export type QueryContext = {
  readonly logs: readonly LogKey[];
  /** What NOW and TODAY mean: milliseconds since the Unix epoch. */
  readonly now_ms: number;
  /** The analyst's clock. */
  readonly zone: Zone;
};

/**
 * The plan that a query in LQL means.
 *
 * @throws LoggiaError `bad_query`, with line, column and what was expected there
 */
export function planQuery(text: string, context: QueryContext): Question {
  const source = wellFormed(text);
  const query = parseQuery(source);
  if (query.table.name === "users") return freezePlan(planUsers(source, query, context));
  if (query.clauses.groupBy === null) return freezePlan(planList(source, query, context));
  return deepFreeze(planGroup(source, query, query.clauses.groupBy, context));
}

function planList(text: string, query: Query, context: QueryContext): ListPlan {
  const { sort, skip, take, columns } = query.clauses;
  return {
    kind: "list",
    from: { kind: "events" },
    logs: [...context.logs],
    where: planEventConditions(text, query, context),
    sort:
      sort === null
        ? []
        : [{ field: oneOfEventFields(text, sort.key, SORT_FIELDS, "sort by"), direction: sort.direction }],
    skip: skip?.value ?? 0,
    take: take?.value ?? DEFAULT_TAKE,
    columns: columns === null ? null : eventColumns(text, columns),
  };
}

function planGroup(text: string, query: Query, groupBy: Name, context: QueryContext): GroupQuestion {
  const { sort, skip, take, columns } = query.clauses;
  const shown =
    columns === null
      ? AGGREGATE_FIELDS
      : inOrder(
          AGGREGATE_FIELDS,
          columns.map((name) => aggregateColumn(text, name)),
        );
  const aggregates = ["count", "avg", "sum", "min", "max"] as const;
  const indexOf = (field: (typeof aggregates)[number]): number => aggregates.indexOf(field);
  const by = sort === null ? "key" : aggregateColumn(text, sort.key);
  const plan: GroupPlan = {
    kind: "group",
    from: { kind: "events" },
    logs: [...context.logs],
    where: planEventConditions(text, query, context),
    by: [planGrouping(text, groupBy, context.zone)],
    aggregates: aggregates.map((kind) => (kind === "count" ? { kind, where: null } : { kind, of: "value" })),
    having: null,
    sort: { by: by === "key" ? by : indexOf(by), direction: sort?.direction ?? "asc" },
    skip: skip?.value ?? 0,
    take: take?.value ?? null,
  };
  return {
    kind: "groups",
    plan,
    columns: shown.map((name) => ({
      name,
      shows: name === "key" ? { kind: "key" } : { kind: "aggregate", of: indexOf(name) },
    })),
    fill: null,
    compare: null,
    now_ms: context.now_ms,
  };
}

function planUsers(text: string, query: Query, context: QueryContext): UsersPlan {
  const { where, occurs, sort, skip, take, columns, groupBy } = query.clauses;
  if (query.class !== null) {
    const what = "users have no class: classes are given to events alone";
    throw queryFault(text, query.class.span, what, `Write GET users, or GET events.${query.class.text}.`);
  }
  if (groupBy !== null) throw queryFault(text, groupBy.span, "users cannot be grouped", "Only events can.");
  const conditionContext: Context<UserField> = { text, table: USERS, ...context };
  const key = sort === null ? "created" : userField(text, sort.key);
  return {
    kind: "users",
    logs: [...context.logs],
    where: all([
      ...(where === null ? [] : [planCondition(conditionContext, where)]),
      ...(occurs === null ? [] : [planOccurs(conditionContext, occurs, "created")]),
    ]),
    sort: userSort(key, sort),
    skip: skip?.value ?? 0,
    take: take?.value ?? DEFAULT_TAKE,
    columns:
      columns === null
        ? null
        : inOrder(
            USER_FIELDS,
            columns.map((name) => userField(text, name)),
          ),
  };
}

/** Ties are broken by the user, of whom there is one of each name. */
function userSort(key: UserField, sort: Sort | null): UsersPlan["sort"] {
  const direction = sort?.direction ?? "asc";
  return key === "user"
    ? [{ field: key, direction }]
    : [
        { field: key, direction },
        { field: "user", direction },
      ];
}

function planEventConditions(text: string, query: Query, context: QueryContext): Condition {
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

function planGrouping(text: string, name: Name, zone: Zone): Grouping {
  const key = canonical(name.text);
  if (key === "day") return { kind: "period", unit: "days", count: 1, zone };
  if (key === "hour") return { kind: "period", unit: "hours", count: 1, zone };
  if (key === "created") {
    throw queryFault(text, name.span, "created cannot be grouped by as it is", "Group it by DAY or by HOUR.");
  }
  return { kind: "field", field: oneOfEventFields(text, name, GROUP_FIELDS, "group by", ["DAY", "HOUR"]) };
}

function oneOfEventFields<Field extends EventField>(
  text: string,
  name: Name,
  allowed: readonly Field[],
  purpose: string,
  further: readonly string[] = [],
): Field {
  const key = canonical(name.text) === "filter" ? "class" : canonical(name.text);
  const field = allowed.find((candidate) => candidate === key);
  if (field !== undefined) return field;
  const hint = `Possible are ${oneOf([...further, ...allowed])}.`;
  if (EVENT_FIELDS.some((candidate) => candidate === key)) {
    throw queryFault(text, name.span, `events cannot be asked to ${purpose} ${key}`, hint);
  }
  if (isAggregate(key)) throw withoutGroups(text, name);
  throw queryFault(
    text,
    name.span,
    `events have no field "${name.text}" to ${purpose}`,
    didYouMean(name.text, [...further, ...allowed]) ?? hint,
  );
}

function eventColumns(text: string, names: readonly Name[]): EventField[] {
  const fields = names.map((name) => {
    const key = canonical(name.text);
    const field = EVENT_FIELDS.find((candidate) => candidate === key);
    if (field !== undefined) return field;
    throw isAggregate(key) ? withoutGroups(text, name) : unknownField(text, "events", name, EVENT_FIELDS);
  });
  return inOrder(EVENT_FIELDS, fields);
}

function withoutGroups(text: string, name: Name): LoggiaError {
  const what = `${name.text.toUpperCase()} is a column of groups, and this query has none`;
  return queryFault(text, name.span, what, "Add GROUPBY, or use a field of an event.");
}

function aggregateColumn(text: string, name: Name): AggregateField {
  const key = canonical(name.text);
  const column = AGGREGATE_FIELDS.find((candidate) => candidate === key);
  if (column !== undefined) return column;
  const columns = oneOf(AGGREGATE_FIELDS.map((field) => field.toUpperCase()));
  if (EVENTS.fields.has(key)) {
    const what = `${key} is a field of single events, and a grouped query has ${columns}`;
    throw queryFault(text, name.span, what, "What is grouped by stands in KEY.");
  }
  const what = `expected ${columns}, found "${name.text}"`;
  throw queryFault(
    text,
    name.span,
    what,
    didYouMean(
      name.text,
      AGGREGATE_FIELDS.map((field) => field.toUpperCase()),
    ),
  );
}

function isAggregate(key: string): boolean {
  return AGGREGATE_FIELDS.some((field) => field === key);
}

function userField(text: string, name: Name): UserField {
  const field = USER_FIELDS.find((candidate) => candidate === name.text.toLowerCase());
  if (field === undefined) throw unknownField(text, "users", name, USER_FIELDS);
  return field;
}

/** Each once, in the order in which they are shown. */
function inOrder<Field extends string>(order: readonly Field[], chosen: readonly Field[]): Field[] {
  return order.filter((field) => chosen.includes(field));
}
