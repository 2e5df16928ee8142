import type { DuckDBConnection } from "@duckdb/node-api";

import type { LogKey } from "../../../events/event.ts";
import { compareCodePoints } from "../../../events/text.ts";
import { isAttribute } from "../../../query/plan.ts";
import type { AttributeField } from "../../../query/plan.ts";
import { sortYielding } from "../../../scheduling/yielding.ts";
import { hasListedValues, kindOfField, LISTED_FIELDS } from "../../listed-fields.ts";
import type { ListedField } from "../../listed-fields.ts";
import { MAX_LISTED_VALUES_LENGTH } from "../../store.ts";
import type { FieldsAnswer, FieldsQuery, FieldSummary } from "../../store.ts";
import { queryRows, runStatement } from "../database/run-statement.ts";
import type { Row, Statement } from "../database/run-statement.ts";
import {
  compileCounts,
  compileListed,
  compileListedValues,
  compileOtherNames,
  compileTop,
  compileTopListed,
  DROP_LISTED,
  SELECT_LISTED,
} from "../compile/fields.ts";
import { transaction } from "../database/transaction.ts";
import type { ColumnStatistics } from "../memory/column-statistics.ts";
import type { QuerySchema } from "../memory/query-schema.ts";
import type { WorkKind } from "../../../scheduling/yielding.ts";

type Value = FieldSummary["values"][number];

/** Number and kinds of an attribute's values, and whether any are in columns. */
type AttributeSummary = {
  count: number;
  hasNumbers: boolean;
  hasBooleans: boolean;
  hasTexts: boolean;
  hasColumns: boolean;
};

type FieldsOptions = {
  readonly statistics: ColumnStatistics;
  /** Most attributes that are listed. */
  readonly most: number;
  readonly querying: WorkKind;
};

/** Implements `Store.fields`. */
export async function listFields(
  connection: DuckDBConnection,
  question: FieldsQuery,
  { statistics, most, querying }: FieldsOptions,
): Promise<FieldsAnswer> {
  return statistics.runQuery(connection, (schema) =>
    transaction(connection, () => new FieldsReader(connection, question, schema, { most, querying }).read()),
  );
}

/** Reads the fields and attributes of a log's events, in one transaction. */
class FieldsReader {
  readonly #connection: DuckDBConnection;
  readonly #question: FieldsQuery;
  readonly #schema: QuerySchema;
  readonly #most: number;
  readonly #querying: WorkKind;
  /** How many characters further values may have. */
  #room = MAX_LISTED_VALUES_LENGTH;

  constructor(
    connection: DuckDBConnection,
    question: FieldsQuery,
    schema: QuerySchema,
    { most, querying }: Pick<FieldsOptions, "most" | "querying">,
  ) {
    this.#connection = connection;
    this.#question = question;
    this.#schema = schema;
    this.#most = most;
    this.#querying = querying;
  }

  async read(): Promise<FieldsAnswer> {
    const { prefix, log } = this.#question;
    const number = this.#schema.logs.get(log);
    if (number === undefined) return { fields: [], unlisted: 0, withoutValues: 0 };
    const named = LISTED_FIELDS.filter((field) => field.startsWith(prefix));
    const inColumns = this.#schema.attributes
      .namesOf(number)
      .map((name): AttributeField => `@${name}`)
      .filter((name) => name.startsWith(prefix));
    const [counts = []] = await this.#rows(compileCounts(this.#question, named, inColumns, this.#schema));
    const numbers = counts.map(Number);
    const found = summariesOf(inColumns, numbers.slice(named.length));
    const mayHaveOthers = this.#schema.attributes.hasOthers(number) && (prefix === "" || prefix.startsWith("@"));
    const columned = found.size;
    const withoutColumns = mayHaveOthers ? await this.#addOthers([...found.keys()], found) : 0;
    const frequent = await sortYielding(
      [...found],
      ([a, one], [b, other]) => {
        return other.count - one.count || compareCodePoints(a, b);
      },
      this.#querying,
    );
    const attributes = frequent.slice(0, this.#most);
    const fields: FieldSummary[] = [];
    for (const [i, name] of named.entries()) {
      const count = numbers[i]!;
      if (count > 0) fields.push({ name, kind: kindOfField(name), count, values: await this.#top(name) });
    }
    const values = await this.#valuesOf(attributes, mayHaveOthers);
    if (mayHaveOthers) for (const statement of DROP_LISTED) await this.#connection.run(statement);
    const sorted = await sortYielding(attributes, ([a], [b]) => compareCodePoints(a, b), this.#querying);
    for (const [name, { count, ...kinds }] of sorted) {
      fields.push({ name, kind: kindOfValues(kinds), count, values: values.get(name) ?? [] });
    }
    const isWithout = ({ name, values }: FieldSummary): boolean =>
      values.length === 0 && (name.startsWith("@") || hasListedValues(name as ListedField));
    return {
      fields,
      unlisted: withoutColumns + columned - attributes.length,
      withoutValues: this.#question.values === 0 ? 0 : fields.filter(isWithout).length,
    };
  }

  #rows(statement: Statement): Promise<Row[]> {
    return queryRows(this.#connection, statement, this.#querying);
  }

  /** Adds the values outside of columns. @returns how many attributes have no column */
  async #addOthers(
    inColumns: readonly AttributeField[],
    found: Map<AttributeField, AttributeSummary>,
  ): Promise<number> {
    const [question, schema] = [this.#question, this.#schema];
    await runStatement(this.#connection, compileListed({ question, inColumns, most: this.#most }, schema));
    await runStatement(this.#connection, compileListedValues(question, schema));
    let withoutColumns = 0;
    for (const [name, count, number, boolean, text, names] of await this.#rows(SELECT_LISTED)) {
      const before = found.get(`@${name as string}`);
      found.set(`@${name as string}`, {
        count: (before?.count ?? 0) + Number(count),
        hasNumbers: before?.hasNumbers === true || number === true,
        hasBooleans: before?.hasBooleans === true || boolean === true,
        hasTexts: before?.hasTexts === true || text === true,
        hasColumns: before?.hasColumns ?? false,
      });
      withoutColumns = Number(names);
    }
    return withoutColumns;
  }

  async #valuesOf(
    attributes: readonly (readonly [AttributeField, AttributeSummary])[],
    mayHaveOthers: boolean,
  ): Promise<Map<string, Value[]>> {
    const values = new Map<string, Value[]>();
    if (this.#question.values === 0) return values;
    for (const [name, { hasColumns }] of attributes) if (hasColumns) values.set(name, await this.#top(name));
    if (!mayHaveOthers) return values;
    const statement = compileTopListed(this.#question, Math.max(0, this.#room));
    for (const [name, value, count] of await this.#rows(statement)) {
      const field = `@${name as string}`;
      const top = values.get(field) ?? [];
      values.set(field, top);
      top.push({ value: value as string, count: Number(count) });
    }
    return values;
  }

  /** Returns the most frequent values; none if the field has no values or there is no room. */
  async #top(field: ListedField | AttributeField): Promise<Value[]> {
    if (this.#question.values === 0 || this.#room <= 0 || !(isAttribute(field) || hasListedValues(field))) return [];
    const { statement, key } = compileTop(this.#question, field, this.#schema);
    const rows = await this.#rows(statement);
    const values = rows.map((row) => ({ value: String(key.read(row)), count: Number(row.at(-1)) }));
    this.#room -= values.reduce((sum, { value }) => sum + value.length, 0);
    return values;
  }
}

/**
 * Returns the attributes that have values in columns.
 * @param numbers three for each attribute, see {@link compileCounts}
 */
function summariesOf(
  inColumns: readonly AttributeField[],
  numbers: readonly number[],
): Map<AttributeField, AttributeSummary> {
  const found = new Map<AttributeField, AttributeSummary>();
  for (const [i, name] of inColumns.entries()) {
    const [ofNumbers = 0, booleans = 0, texts = 0] = numbers.slice(3 * i);
    if (ofNumbers + texts === 0) continue;
    found.set(name, {
      count: ofNumbers + texts,
      hasNumbers: ofNumbers > 0,
      hasBooleans: booleans > 0,
      hasTexts: texts > booleans,
      hasColumns: true,
    });
  }
  return found;
}

function kindOfValues({
  hasNumbers,
  hasBooleans,
  hasTexts,
}: Omit<AttributeSummary, "count" | "hasColumns">): FieldSummary["kind"] {
  if (Number(hasNumbers) + Number(hasBooleans) + Number(hasTexts) !== 1) return "mixed";
  return hasNumbers ? "number" : hasBooleans ? "boolean" : "text";
}

/** Implements `Store.attributeNames`. */
export async function attributeNames(
  connection: DuckDBConnection,
  log: LogKey,
  { statistics, most, querying }: FieldsOptions,
): Promise<string[]> {
  return statistics.runQuery(connection, async (schema) => {
    const number = schema.logs.get(log);
    if (number === undefined) return [];
    // An attribute has a column since it is, or was, frequent.
    const names = new Set(schema.attributes.namesOf(number));
    if (schema.attributes.hasOthers(number)) {
      const question = { log, from: null, to: null, prefix: "", values: 0 };
      for (const [name] of await queryRows(connection, compileOtherNames(question, most, schema), querying)) {
        names.add(name as string);
      }
    }
    return [...names].slice(0, most);
  });
}
