import { mapKeywords } from "../../../events/map-keywords.ts";
import type { AttributeField, Condition, GroupPlan } from "../../../query/plan.ts";
import { isAttribute } from "../../../query/plan.ts";
import type { FieldWithValues, ListedField } from "../../listed-fields.ts";
import { MAX_LISTED_VALUES } from "../../store.ts";
import type { FieldsQuery } from "../../store.ts";
import { plainText } from "../database/attributes.ts";
import { Binder } from "./binder.ts";
import { filter } from "./compile.ts";
import { compileAttributeColumns, attributeEntriesSql, namedEntriesSql } from "./attribute.ts";
import { groupsSql } from "./group.ts";
import { compileGroupKey } from "./key.ts";
import type { CompiledKey } from "./key.ts";
import { groupsByTags } from "./tags.ts";
import type { Statement } from "../database/run-statement.ts";
import type { QuerySchema } from "../memory/query-schema.ts";

const IS_THERE: Record<ListedField, string> = {
  ...mapKeywords((name) => `"${name}" <> ''`),
  created: "true",
  // A pattern is derived from the text and shorter.
  text: "pattern <> ''",
  tags: "tags <> ''",
  class: "class <> ''",
  data: "data <> ''",
  geo: "lat is not null or ip is not null",
  value: "value is not null",
  pattern: "pattern <> ''",
};

const IS_BOOLEAN = (text: string): string => `${text} in ('true', 'false')`;

function planOf({ log, from, to }: FieldsQuery): GroupPlan {
  const conditions: Condition[] = [];
  if (from !== null) conditions.push({ kind: "number", field: "created", op: ">=", value: from });
  if (to !== null) conditions.push({ kind: "number", field: "created", op: "<", value: to });
  return {
    kind: "group",
    from: { kind: "events" },
    logs: [log],
    where: { kind: "and", conditions },
    by: [],
    aggregates: [{ kind: "count", where: null }],
    having: null,
    sort: { by: "key", direction: "asc" },
    skip: 0,
    take: null,
  };
}

/**
 * Compiles one row: how many events have each field; then for each attribute how many of its values
 * in columns are numbers, booleans and texts.
 */
export function compileCounts(
  question: FieldsQuery,
  fields: readonly ListedField[],
  attributes: readonly AttributeField[],
  schema: QuerySchema,
): Statement {
  const bind = new Binder(schema, [question.log]);
  const counts = fields.map((field) => `count(*) filter (where ${IS_THERE[field]})`);
  for (const attribute of attributes) {
    const { number, text } = compileAttributeColumns(attribute, bind);
    const booleans = text === null ? "0" : `count(*) filter (where ${IS_BOOLEAN(text)})`;
    counts.push(number === null ? "0" : `count(${number})`, booleans, text === null ? "0" : `count(${text})`);
  }
  return bind.statement(
    `select ${[...counts, "count(*)"].join(", ")} from events where ${filter(planOf(question), bind)}`,
  );
}

/** Returns SQL for the text of a number in JavaScript; DuckDB uses exponents for other ranges. */
function numberText(number: string): string {
  const digits = `replace(split_part(abs(${number})::varchar, 'e', 1), '.', '')`;
  const exponent = `abs(split_part(${number}::varchar, 'e', 2)::integer)`;
  const sign = `if(${number} < 0, '-', '')`;
  return `case when ${number} = 0 or abs(${number}) >= 0.0001 and abs(${number}) < 1e15 then ${plainText(number)}
    when abs(${number}) >= 1e21 then ${number}::varchar
    when abs(${number}) >= 1e16 then ${sign} || rpad(${digits}, ${exponent} + 1, '0')
    when abs(${number}) >= 1e15 then ${number}::bigint::varchar
    when abs(${number}) >= 1e-6 then ${sign} || '0.' || repeat('0', ${exponent} - 1) || ${digits}
    else replace(${number}::varchar, 'e-0', 'e-') end`;
}

/**
 * Selects, from the values outside of columns, what `shown` makes of them, once for each event.
 * @param entries a list of the values of an event
 * @param shown a struct made of `one`, a value
 */
function others(question: FieldsQuery, { entries, shown }: { entries: string; shown: string }, bind: Binder): string {
  const prefix = question.prefix.slice(1);
  // No value contains this text, as quotes in values are escaped.
  const start = bind.text(`{"n":${JSON.stringify(prefix).slice(0, -1)}`);
  const hasPrefix = `lambda one: starts_with(one.n, ${bind.text(prefix)})`;
  const list = `list_transform(${prefix === "" ? entries : `list_filter(${entries}, ${hasPrefix})`}, lambda one: ${shown})`;
  // Only the values of an array repeat a name.
  return `select unnest(if(contains(attributes, '['), list_distinct(${list}), ${list}), max_depth := 2)
    from events where ${filter(planOf(question), bind)} and others is not null and contains(others, ${start})`;
}

const NAMES = { entries: namedEntriesSql("others"), shown: "{'name': one.n}" };

/** The temporary tables of {@link compileListed} and {@link compileListedValues}. */
const LISTED = "listed_attributes";
const LISTED_VALUES = "listed_values";
export const DROP_LISTED: readonly string[] = [LISTED, LISTED_VALUES].map((table) => `drop table temp.${table}`);

export type ListedQuestion = {
  readonly question: FieldsQuery;
  /** Attributes with values in columns; all of them are selected. */
  readonly inColumns: readonly AttributeField[];
  /** Most other attributes selected. */
  readonly most: number;
};

/**
 * Makes a temporary table of the attributes with values outside of columns, the most frequent ones:
 * their names, the number of events with such values, and how many attributes have no values in
 * columns. The process never sees the others.
 */
export function compileListed({ question, inColumns, most }: ListedQuestion, schema: QuerySchema): Statement {
  const bind = new Binder(schema, [question.log]);
  const hasColumn = isAmong(inColumns, bind);
  return bind.statement(
    `create or replace temporary table ${LISTED} as
     with counted as materialized (
       select name, count(*) as events from (${others(question, NAMES, bind)}) group by name)
     select name, events, ${hasColumn} as has_column,
       (select count(*) filter (where not ${hasColumn}) from counted) as names
     from counted order by has_column desc, events desc, name
     limit ${bind.integer(most + inColumns.length)}`,
  );
}

function isAmong(attributes: readonly AttributeField[], bind: Binder): string {
  if (attributes.length === 0) return "false";
  return `(name in (${attributes.map((name) => bind.text(name.slice(1))).join(", ")}))`;
}

/** Makes a temporary table of the values of {@link LISTED}, and their kinds, with their counts. */
export function compileListedValues(question: FieldsQuery, schema: QuerySchema): Statement {
  const bind = new Binder(schema, [question.log]);
  const text = question.values === 0 ? "''" : `coalesce(one.t, ${plainText("one.d")})`;
  const shown = `{'name': one.n, 'text': ${text}, 'is_number': one.d is not null,
    'is_boolean': one.d is null and ${IS_BOOLEAN("one.t")}}`;
  return bind.statement(
    `create or replace temporary table ${LISTED_VALUES} as
     select name, text, is_number, is_boolean, count(*) as "count"
     from (${others(question, { entries: attributeEntriesSql("others"), shown }, bind)})
     where name in (select name from ${LISTED}) group by all`,
  );
}

/** Selects the attributes of {@link LISTED}: name, number of events, kinds, number of names. */
export const SELECT_LISTED = {
  sql: `select name, any_value(events), bool_or(is_number), bool_or(is_boolean), bool_or(not is_number and not is_boolean),
      any_value(names)
    from ${LISTED} join ${LISTED_VALUES} using (name) group by name`,
  values: [],
  types: [],
} as const satisfies Statement;

/**
 * Selects the most frequent values of the attributes of {@link LISTED} without columns, from the
 * most frequent attribute on.
 * @param length most characters in all values
 */
export function compileTopListed({ values }: FieldsQuery, length: number): Statement {
  const bind = new Binder();
  const order = 'events desc, name, "count" desc, text';
  return bind.statement(
    `select name, text, "count" from (
       select *, sum(length(text)) over (order by ${order} rows unbounded preceding) as size from (
         select name, text, events, "count"
         from ${LISTED} join ${LISTED_VALUES} using (name) where not has_column
         qualify row_number() over (partition by name order by "count" desc, text) <= ${bind.integer(values)}))
     where size <= ${bind.integer(length)} order by ${order} limit ${bind.integer(MAX_LISTED_VALUES)}`,
  );
}

/** Selects the names of a log's attributes with values outside of columns, the most frequent ones. */
export function compileOtherNames(question: FieldsQuery, most: number, schema: QuerySchema): Statement {
  const bind = new Binder(schema, [question.log]);
  return bind.statement(
    `select name from (${others(question, NAMES, bind)}) group by name
     order by count(*) desc, name limit ${bind.integer(most)}`,
  );
}

/**
 * Selects the most frequent values of one field or attribute: rows of its key and the count.
 * Numbers are converted to texts, which break ties, only if they may be among these values.
 */
export function compileTop(
  question: FieldsQuery,
  field: FieldWithValues | AttributeField,
  schema: QuerySchema,
): { readonly statement: Statement; readonly key: CompiledKey } {
  const bind = new Binder(schema, [question.log]);
  const plan = planOf(question);
  const key = compileGroupKey({ kind: "field", field }, 0, plan.where, bind);
  const isPresent =
    isAttribute(field) || field === "value"
      ? `(${key.shown.map((column) => `${column} is not null`).join(" or ")})`
      : "k0 <> ''";
  const groups = field === "tags" ? groupsByTags(plan, bind) : groupsSql(plan, [key], bind);
  const values = `select ${key.shown.join(", ")}, a0 from (${groups}) where ${isPresent}`;
  const most = bind.integer(question.values);
  const first = (text: string): string => `order by a0 desc, ${text} limit ${most}`;
  const text = isAttribute(field) ? textOfKey(key) : field === "value" ? numberText("k0") : "k0";
  const hasNumbers = field === "value" || (isAttribute(field) && compileAttributeColumns(field, bind).number !== null);
  const sql = !hasNumbers
    ? `${values} ${first(text)}`
    : `with counted as materialized (${values}) from counted
         where a0 >= (select min(a0) from (select a0 from counted order by a0 desc limit ${most})) ${first(text)}`;
  return { key, statement: bind.statement(sql) };
}

/** Returns the text of an attribute's key. */
function textOfKey({ shown }: CompiledKey): string {
  const parts = shown.map((column) => (column.startsWith("d") ? plainText(column) : column));
  return parts.length === 1 ? parts[0]! : `coalesce(${parts.join(", ")})`;
}
