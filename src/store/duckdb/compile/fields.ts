import type { AttributeField, Condition, GroupPlan } from "../../../query/plan.ts";
import { isAttribute } from "../../../query/plan.ts";
import type { FieldsQuery, LISTED_FIELDS } from "../../store.ts";
import { plainText } from "../attributes.ts";
import { Binder } from "./binder.ts";
import type { Statement } from "./binder.ts";
import { filter } from "./compile.ts";
import { columnsOf, entriesOf } from "./attribute.ts";
import { groupsOf } from "./group.ts";
import { keyOf } from "./key.ts";
import type { Key } from "./key.ts";
import { groupsByTags } from "./tags.ts";
import type { QuerySchema } from "../column-statistics.ts";

export type ListedField = (typeof LISTED_FIELDS)[number];
type FieldWithValues = Exclude<ListedField, "created" | "text" | "data" | "geo">;

/** Returns whether the values of a field are listed. */
export function hasValues(field: ListedField): field is FieldWithValues {
  return field !== "created" && field !== "text" && field !== "data" && field !== "geo";
}

const IS_THERE: Record<ListedField, string> = {
  created: "true",
  // A pattern is derived from the text and shorter.
  text: "pattern <> ''",
  link: "link <> ''",
  tags: "tags <> ''",
  source: "source <> ''",
  class: "class <> ''",
  data: "data <> ''",
  geo: "lat is not null or ip is not null",
  value: "value is not null",
  user: `"user" <> ''`,
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
    const { number, text } = columnsOf(attribute, bind);
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

/** Selects the values outside of columns: the event, the name and the value. */
function others(question: FieldsQuery, bind: Binder): string {
  const entries = `select rowid as event, unnest(${entriesOf("others")}) as one from events
    where ${filter(planOf(question), bind)} and others is not null`;
  return `select event, one.n as name, one.t as k, one.d as d from (${entries})
    where starts_with('@' || one.n, ${bind.text(question.prefix)})`;
}

/** Counts, for each attribute, the events with values outside of columns, and their kinds. */
export function compileOthers(question: FieldsQuery, schema: QuerySchema): Statement {
  const bind = new Binder(schema, [question.log]);
  const isBoolean = `coalesce(${IS_BOOLEAN("k")}, false)`;
  return bind.statement(
    `select name, count(distinct event), bool_or(d is not null), bool_or(${isBoolean}),
       bool_or(d is null and not ${isBoolean})
     from (${others(question, bind)}) group by name`,
  );
}

/** Selects the most frequent values of all attributes, among those outside of columns. */
export function compileTopOthers(question: FieldsQuery, schema: QuerySchema): Statement {
  const bind = new Binder(schema, [question.log]);
  const text = `coalesce(k, ${plainText("d")})`;
  return bind.statement(
    `select name, text, "count" from (
       select name, ${text} as text, count(distinct event) as "count"
       from (${others(question, bind)}) group by name, text)
     qualify row_number() over (partition by name order by "count" desc, text) <= ${bind.integer(question.values)}
     order by name, "count" desc, text`,
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
): { readonly statement: Statement; readonly key: Key } {
  const bind = new Binder(schema, [question.log]);
  const plan = planOf(question);
  const key = keyOf({ kind: "field", field }, 0, plan.where, bind);
  const isPresent =
    isAttribute(field) || field === "value"
      ? `(${key.shown.map((column) => `${column} is not null`).join(" or ")})`
      : "k0 <> ''";
  const groups = field === "tags" ? groupsByTags(plan, bind) : groupsOf(plan, [key], bind);
  const values = `select ${key.shown.join(", ")}, a0 from (${groups}) where ${isPresent}`;
  const most = bind.integer(question.values);
  const first = (text: string): string => `order by a0 desc, ${text} limit ${most}`;
  const text = isAttribute(field) ? textOfKey(key) : field === "value" ? numberText("k0") : "k0";
  const hasNumbers = field === "value" || (isAttribute(field) && columnsOf(field, bind).number !== null);
  const sql = !hasNumbers
    ? `${values} ${first(text)}`
    : `with counted as materialized (${values}) from counted
         where a0 >= (select min(a0) from (select a0 from counted order by a0 desc limit ${most})) ${first(text)}`;
  return { key, statement: bind.statement(sql) };
}

/** Returns the text of an attribute's key. */
function textOfKey({ shown }: Key): string {
  const parts = shown.map((column) => (column.startsWith("d") ? plainText(column) : column));
  return parts.length === 1 ? parts[0]! : `coalesce(${parts.join(", ")})`;
}
