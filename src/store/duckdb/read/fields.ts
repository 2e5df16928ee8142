import type { DuckDBConnection } from "@duckdb/node-api";

import type { LogKey } from "../../../events/event.ts";
import { compareCodePoints } from "../../../events/text.ts";
import type { AttributeField } from "../../../query/plan.ts";
import { LISTED_FIELDS } from "../../store.ts";
import type { FieldSummary, FieldsQuery } from "../../store.ts";
import { queryRows } from "./run-statement.ts";
import { entriesOf } from "../compile/attribute.ts";
import { compileCounts, compileOthers, compileTop, compileTopOthers, hasValues } from "../compile/fields.ts";
import type { ListedField } from "../compile/fields.ts";
import { transaction } from "../database/transaction.ts";
import type { ColumnStatistics, QuerySchema } from "../column-statistics.ts";

type Value = FieldSummary["values"][number];

/** Number and kinds of an attribute's values, and whether any are in columns. */
type AttributeSummary = {
  count: number;
  hasNumbers: boolean;
  hasBooleans: boolean;
  hasTexts: boolean;
  hasColumns: boolean;
};

/** Implements `Store.fields`. */
export async function listFields(
  connection: DuckDBConnection,
  question: FieldsQuery,
  statistics: ColumnStatistics,
): Promise<FieldSummary[]> {
  return statistics.runQuery(connection, (schema) => transaction(connection, () => list(connection, question, schema)));
}

async function list(connection: DuckDBConnection, question: FieldsQuery, schema: QuerySchema): Promise<FieldSummary[]> {
  const { prefix, log } = question;
  const number = schema.logs.get(log);
  if (number === undefined) return [];
  const fields = LISTED_FIELDS.filter((field) => field.startsWith(prefix));
  const inColumns = schema.attributes
    .namesOf(number)
    .map((name): AttributeField => `@${name}`)
    .filter((name) => name.startsWith(prefix));
  const [counts = []] = await queryRows(connection, compileCounts(question, fields, inColumns, schema));
  const numbers = counts.map(Number);
  const found = new Map<AttributeField, AttributeSummary>();
  for (const [i, name] of inColumns.entries()) {
    const [ofNumbers = 0, booleans = 0, texts = 0] = numbers.slice(fields.length + 3 * i);
    found.set(name, {
      count: ofNumbers + texts,
      hasNumbers: ofNumbers > 0,
      hasBooleans: booleans > 0,
      hasTexts: texts > booleans,
      hasColumns: ofNumbers + texts > 0,
    });
  }
  const areOthers = schema.attributes.hasOthers(number) && !(prefix !== "" && !prefix.startsWith("@"));
  if (areOthers) await addOthers(connection, question, schema, found);
  const topOthers = areOthers ? await readTopOthers(connection, question, schema) : new Map<string, Value[]>();
  const listed: FieldSummary[] = [];
  for (const [i, name] of fields.entries()) {
    const count = numbers[i]!;
    const values = count > 0 && hasValues(name) ? await readTop(connection, question, name, schema) : [];
    if (count > 0) listed.push({ name, kind: kindOf(name), count, values });
  }
  for (const [name, { count, hasColumns, ...kinds }] of [...found].sort(([a], [b]) => compareCodePoints(a, b))) {
    if (count === 0) continue;
    const values = hasColumns ? await readTop(connection, question, name, schema) : (topOthers.get(name) ?? []);
    listed.push({ name, kind: kindOfValues(kinds), count, values });
  }
  return listed;
}

async function addOthers(
  connection: DuckDBConnection,
  question: FieldsQuery,
  schema: QuerySchema,
  found: Map<AttributeField, AttributeSummary>,
): Promise<void> {
  for (const [name, count, numbers, booleans, texts] of await queryRows(connection, compileOthers(question, schema))) {
    const before = found.get(`@${name as string}`);
    found.set(`@${name as string}`, {
      count: (before?.count ?? 0) + Number(count),
      hasNumbers: before?.hasNumbers === true || numbers === true,
      hasBooleans: before?.hasBooleans === true || booleans === true,
      hasTexts: before?.hasTexts === true || texts === true,
      hasColumns: before?.hasColumns ?? false,
    });
  }
}

async function readTopOthers(
  connection: DuckDBConnection,
  question: FieldsQuery,
  schema: QuerySchema,
): Promise<Map<string, Value[]>> {
  const top = new Map<string, Value[]>();
  if (question.values === 0) return top;
  for (const [name, value, count] of await queryRows(connection, compileTopOthers(question, schema))) {
    const values = top.get(`@${name as string}`) ?? [];
    top.set(`@${name as string}`, values);
    values.push({ value: value as string, count: Number(count) });
  }
  return top;
}

async function readTop(
  connection: DuckDBConnection,
  question: FieldsQuery,
  field: Parameters<typeof compileTop>[1],
  schema: QuerySchema,
): Promise<Value[]> {
  if (question.values === 0) return [];
  const { statement, key } = compileTop(question, field, schema);
  const rows = await queryRows(connection, statement);
  return rows.map((row) => ({ value: String(key.read(row)), count: Number(row.at(-1)) }));
}

function kindOf(field: ListedField): FieldSummary["kind"] {
  if (field === "created") return "time";
  if (field === "geo") return "place";
  return field === "value" ? "number" : "text";
}

function kindOfValues({
  hasNumbers,
  hasBooleans,
  hasTexts,
}: Omit<AttributeSummary, "count" | "hasColumns">): FieldSummary["kind"] {
  if (Number(hasNumbers) + Number(hasBooleans) + Number(hasTexts) !== 1) return "mixed";
  return hasNumbers ? "number" : hasBooleans ? "boolean" : "text";
}

/** Names of the attributes of logs. Events of earlier processes are scanned once for each log. */
export class AttributeNames {
  readonly #statistics: ColumnStatistics;
  readonly #earlier = new Map<number, Promise<readonly string[]>>();

  constructor(statistics: ColumnStatistics) {
    this.#statistics = statistics;
  }

  async of(connection: DuckDBConnection, key: LogKey): Promise<string[]> {
    const { logs, attributes } = this.#statistics;
    const log = logs.get(key);
    if (log === undefined) return [];
    const looking = this.#earlier.get(log) ?? readOtherNames(connection, log);
    this.#earlier.set(log, looking);
    try {
      const earlier = await looking;
      return [...new Set([...attributes.namesOf(log), ...attributes.otherNamesOf(log), ...earlier])];
    } catch (error) {
      this.#earlier.delete(log);
      throw error;
    }
  }
}

async function readOtherNames(connection: DuckDBConnection, log: number): Promise<string[]> {
  const sql = `select distinct one.n from (select unnest(${entriesOf("others")}) as one from events
    where log_number = $1::uinteger and others is not null)`;
  return ((await connection.runAndReadAll(sql, [log])).getRows() as [string][]).map(([name]) => name);
}
