import type { DuckDBConnection } from "@duckdb/node-api";

import { numberOfValue, parseAttributes } from "../../events/attributes.ts";
import type { AttributeValue } from "../../events/attributes.ts";
import { fold, isAscii } from "../../events/text.ts";
import { ATTRIBUTE_COLUMN, EVENT_WIDTH } from "./schema.ts";

/** What a column holds. */
export type ColumnKind = "number" | "text";

/** The columns of `events`, by number, that hold the values of an attribute in one log. */
export type Place = { readonly number: number | null; readonly text: number | null };

/** The values of one event: by columns, and the others as {@link Other}s in JSON. */
export type Spread = { readonly cells: readonly (number | string | undefined)[]; readonly others: string | null };

/**
 * A value that lies in no column. `t` is its text, absent where that is {@link plainText} of `d`; `f`
 * is what the text is folded, where that differs; `d` the number that it spells.
 */
type Other = { readonly n: string; readonly t?: string; readonly f?: string; readonly d?: number };

/** Columns that attributes may take in all. Each costs time in every event that is written. */
const MAX_COLUMNS = 128;
/** Names that are counted at once in a log. */
const MAX_COUNTED = 4096;
/** Names that are kept of a log. */
const MAX_NAMES = 50_000;
/** An attribute gets a column where one in so many events of its log has it. */
const SHARE = 16;

const SHAPE = JSON.stringify([{ log_number: "UINTEGER", name: "VARCHAR", column_number: "UINTEGER" }]);

type LogAttributes = {
  readonly places: Map<string, { number: number | null; text: number | null }>;
  readonly taken: Set<number>;
  /** How many events had an attribute that lacked a column, of so many that were looked at. */
  readonly counts: Map<string, number>;
  readonly otherNames: Set<string>;
  events: number;
};

/**
 * The columns that attributes have, log by log. Each log gives the same columns to attributes of its
 * own: those that many of its events have. Values of others, arrays, and texts that `lower` would
 * fold wrongly lie beside them as JSON.
 *
 * Invariant: a column is in the table, and its place committed, before or with the first event that
 * has a value in it. None is ever given to another attribute of the log.
 */
export class AttributeColumns {
  /** What the columns hold, by number. */
  readonly kinds: ColumnKind[] = [];
  /** So many of them are in the table. */
  #made = 0;
  readonly #logs = new Map<number, LogAttributes>();
  readonly #places: { log_number: number; name: string; column_number: number }[] = [];
  /** So many of these are known to be committed. */
  #committed = 0;
  readonly #countedEvents: number;

  /** @param countedEvents after how many events of a log it is looked at which attributes many have */
  constructor(countedEvents: number) {
    this.#countedEvents = countedEvents;
  }

  static async read(connection: DuckDBConnection, countedEvents: number): Promise<AttributeColumns> {
    const attributes = new AttributeColumns(countedEvents);
    attributes.kinds.push(...(await kindsIn(connection)));
    attributes.#made = attributes.kinds.length;
    for (const [log, name, column] of await readPlaces(connection)) attributes.#take(log, name, column);
    attributes.#committed = attributes.#places.length;
    return attributes;
  }

  /** Changes with whatever a question has to know. */
  get version(): number {
    return this.#made + this.#places.length;
  }

  /** Where values of an attribute may lie besides the JSON. */
  placeOf(log: number, name: string): Place {
    const place = this.#logs.get(log)?.places.get(name);
    const made = (column: number | null = null): number | null =>
      column !== null && column < this.#made ? column : null;
    return { number: made(place?.number), text: made(place?.text) };
  }

  /** The attributes of a log that have values beside columns, and were seen since this process began. */
  otherNamesOf(log: number): ReadonlySet<string> {
    return this.#of(log).otherNames;
  }

  /** The attributes of a log that have columns. */
  namesOf(log: number): string[] {
    return [...(this.#logs.get(log)?.places.keys() ?? [])];
  }

  /** @param width how many columns there are for it */
  spread(log: number, text: string, width: number): Spread {
    const own = this.#of(log);
    const cells: (number | string | undefined)[] = [];
    const others: Other[] = [];
    own.events += 1;
    for (const [name, value] of parseAttributes(text)) {
      const values = Array.isArray(value) ? (value as readonly AttributeValue[]) : [value as AttributeValue];
      const cell = values.length === 1 ? cellOf(values[0]!) : null;
      if (cell !== null) {
        const column = own.places.get(name)?.[typeof cell === "number" ? "number" : "text"] ?? null;
        if (column !== null && column < width) {
          cells[column] = cell;
          continue;
        }
        if (column === null) count(own, `${typeof cell === "number" ? "n" : "t"}${name}`);
      }
      if (own.otherNames.size < MAX_NAMES) own.otherNames.add(name);
      others.push(...values.map((one) => otherOf(name, one)));
    }
    if (own.events >= this.#countedEvents) this.#giveColumns(log, own);
    return { cells, others: others.length === 0 ? null : JSON.stringify(others) };
  }

  #of(log: number): LogAttributes {
    const own = this.#logs.get(log) ?? { places: new Map(), taken: new Set(), counts: new Map(), otherNames: new Set<string>(), events: 0 };
    this.#logs.set(log, own);
    return own;
  }

  #giveColumns(log: number, own: LogAttributes): void {
    const many = [...own.counts].filter(([, events]) => events * SHARE >= own.events).sort(([, a], [, b]) => b - a);
    own.counts.clear();
    own.events = 0;
    for (const [key] of many) {
      const column = this.#freeColumn(own, key.startsWith("n") ? "number" : "text");
      if (column !== null) this.#take(log, key.slice(1), column);
    }
  }

  #freeColumn({ taken }: LogAttributes, kind: ColumnKind): number | null {
    const free = this.kinds.findIndex((each, column) => each === kind && !taken.has(column));
    if (free !== -1) return free;
    return this.kinds.length < MAX_COLUMNS ? this.kinds.push(kind) - 1 : null;
  }

  #take(log: number, name: string, column: number): void {
    const { places, taken } = this.#of(log);
    const place = places.get(name) ?? { number: null, text: null };
    place[this.kinds[column]!] = column;
    places.set(name, place);
    taken.add(column);
    this.#places.push({ log_number: log, name, column_number: column });
  }

  /** Whether {@link grow} has to run before anything is written. */
  get lacksColumns(): boolean {
    return this.#made < this.kinds.length;
  }

  /** Adds the columns that the table lacks, each in a transaction of its own. */
  async grow(connection: DuckDBConnection): Promise<void> {
    for (let column = (await kindsIn(connection)).length; column < this.kinds.length; column++) {
      const type = this.kinds[column] === "number" ? "double" : "varchar";
      await connection.run(`alter table events add column ${ATTRIBUTE_COLUMN}${column} ${type}`);
    }
    this.#made = this.kinds.length;
  }

  /** Writes the places that the table lacks, in the transaction that writes events. */
  async write(connection: DuckDBConnection): Promise<void> {
    if (this.#committed === this.#places.length) return;
    // What is seen as a transaction begins is committed: there is one writer.
    this.#committed = (await readPlaces(connection)).length;
    const fresh = this.#places.slice(this.#committed);
    if (fresh.length === 0) return;
    const sql = `insert into attribute_places select unnest(from_json($1::json, '${SHAPE}'), max_depth := 2)`;
    await connection.run(sql, [JSON.stringify(fresh)]);
  }
}

async function kindsIn(connection: DuckDBConnection): Promise<ColumnKind[]> {
  const sql = `select data_type from duckdb_columns()
    where table_name = 'events' and column_index > ${EVENT_WIDTH} order by column_index`;
  const rows = (await connection.runAndReadAll(sql)).getRows() as [string][];
  return rows.map(([type]) => (type === "DOUBLE" ? "number" : "text"));
}

/** The names of the columns of attributes. */
export async function attributeColumnsIn(connection: DuckDBConnection): Promise<string[]> {
  return (await kindsIn(connection)).map((_, column) => `${ATTRIBUTE_COLUMN}${column}`);
}

async function readPlaces(connection: DuckDBConnection): Promise<[log: number, name: string, column: number][]> {
  const sql = "select log_number, name, column_number from attribute_places order by rowid";
  return (await connection.runAndReadAll(sql)).getRows() as [number, string, number][];
}

function count({ counts }: LogAttributes, key: string): void {
  const before = counts.get(key);
  if (before !== undefined || counts.size < MAX_COUNTED) counts.set(key, (before ?? 0) + 1);
}

/** What a column holds of a value; null where it has to lie beside them. */
function cellOf(value: AttributeValue): number | string | null {
  const number = numberOfValue(value);
  if (number !== null) return isPlain(number, String(value)) ? number : null;
  return isAscii(String(value)) ? String(value) : null;
}

function otherOf(name: string, value: AttributeValue): Other {
  const [number, text] = [numberOfValue(value), String(value)];
  if (number !== null) return isPlain(number, text) ? { n: name, d: number } : { n: name, t: text, d: number };
  const folded = fold(text);
  return folded === text ? { n: name, t: text } : { n: name, t: text, f: folded };
}

/** From here on, and below, our texts of numbers have exponents, or DuckDB's have. */
const PLAIN_FROM = 0.001;
const PLAIN_TO = 1e15;

/** Whether {@link plainText} makes this text of a number. */
function isPlain(number: number, text: string): boolean {
  if (String(number) !== text) return false;
  const size = Math.abs(number);
  return Number.isInteger(number) ? size < PLAIN_TO : size >= PLAIN_FROM && size < PLAIN_TO;
}

/** The text of a number of which it is all that is stored, in SQL: as JavaScript writes it. */
export function plainText(number: string): string {
  return `if(${number} = trunc(${number}), ${number}::bigint::varchar, ${number}::varchar)`;
}
