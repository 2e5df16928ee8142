import type { DuckDBConnection } from "@duckdb/node-api";

import { numberOfValue } from "../../../events/attributes.ts";
import type { AttributeValue } from "../../../events/attributes.ts";
import { isAscii } from "../../../events/ascii.ts";
import { fold } from "../../../events/text.ts";
import { ATTRIBUTE_COLUMN, EVENT_WIDTH } from "./schema.ts";

/** Type of the values in a column. */
export type ColumnKind = "number" | "text";

/**
 * Where the values of an attribute of one log are stored: the columns of `events`, by number, and
 * whether some values may be in no column.
 */
export type AttributeLocation = {
  readonly number: number | null;
  readonly text: number | null;
  readonly others: boolean;
};

/**
 * The attributes of one event: all values, their cells by column number, and the values without a
 * column as {@link Other}s in JSON, null if there are none.
 */
export type AttributeCells = {
  readonly values: readonly NamedValues[];
  readonly cells: readonly (number | string | undefined)[];
  readonly others: string | null;
};

/**
 * A value that is in no column. `t` is its text, absent if it equals {@link plainText} of `d`; `f`
 * its folded text, if that differs; `d` the number that it is or spells.
 */
type Other = { readonly n: string; readonly t?: string; readonly f?: string; readonly d?: number };

/**
 * A row of the table of places: an attribute of a log has a column. If the column is null, the
 * attribute has values in no column; if the name is null too, attributes without a column have.
 */
type PlaceRow = { readonly log_number: number; readonly name: string | null; readonly column_number: number | null };

/** Most columns for attributes. Each costs time in every event that is written. */
const MAX_COLUMNS = 128;
/** Most names counted at once in a log, and in all logs. */
const MAX_COUNTED = 4096;
const MAX_COUNTED_IN_ALL = 65_536;
/** An attribute gets a column if at least one in this many events of its log has it. */
const SHARE = 16;
/** Most columns that a log gets before enough of its events have been counted. */
const FIRST_COLUMNS = 16;

const SHAPE = JSON.stringify([{ log_number: "UINTEGER", name: "VARCHAR", column_number: "UINTEGER" }]);

type LogAttributes = {
  readonly locations: Map<string, { number: number | null; text: number | null }>;
  readonly taken: Set<number>;
  /** Attributes with a column that also have values in none; null: attributes without a column. */
  readonly withOthers: Set<string | null>;
  /** By kind and name, how many of the `events` counted so far had a value that lacks a column. */
  readonly counts: Map<string, number>;
  events: number;
  isNew: boolean;
};

/** The log of an event and its attributes in JSON. */
type Posted = { readonly log: number; readonly attributes: string };
type Parsed = { readonly log: number; readonly values: readonly NamedValues[] };

/**
 * The columns of attributes, by log. Logs share the columns; each assigns them to those of its
 * attributes that many of its events have. Other values, arrays, and texts that `lower` folds
 * wrongly are stored beside them as JSON.
 *
 * Invariant: a column exists, and the row of its place is committed, no later than the first event
 * with a value in it. The same holds for the rows about values in no column. A column is never
 * reassigned to another attribute of the log.
 */
export class AttributeColumns {
  /** Types of the columns, by number. */
  readonly kinds: ColumnKind[] = [];
  /** Number of columns that the table has. */
  #made = 0;
  readonly #logs = new Map<number, LogAttributes>();
  readonly #rows: PlaceRow[] = [];
  /** Number of rows known to be committed. */
  #committed = 0;
  readonly #countedEvents: number | null;
  /** Logs with counts. */
  readonly #counting = new Set<LogAttributes>();
  /** Number of names counted in all logs. */
  #counted = 0;

  /**
   * @param countedEvents events of a log after which the counts of attributes start over; null: no
   *   attribute gets a column
   */
  constructor(countedEvents: number | null) {
    this.#countedEvents = countedEvents;
  }

  static async read(connection: DuckDBConnection, countedEvents: number | null): Promise<AttributeColumns> {
    const attributes = new AttributeColumns(countedEvents);
    attributes.kinds.push(...(await kindsIn(connection)));
    attributes.#made = attributes.kinds.length;
    for (const row of await readPlaces(connection)) attributes.#note(row);
    for (const own of attributes.#logs.values()) own.isNew = false;
    attributes.#committed = attributes.#rows.length;
    return attributes;
  }

  /** Changes with everything that a compiled query depends on. */
  get version(): number {
    return this.#made + this.#rows.length;
  }

  /** Returns where values of an attribute may be stored. */
  locationOf(log: number, name: string): AttributeLocation {
    const own = this.#logs.get(log);
    const location = own?.locations.get(name);
    const made = (column: number | null = null): number | null =>
      column !== null && column < this.#made ? column : null;
    const others = own?.withOthers.has(location === undefined ? null : name) === true;
    return { number: made(location?.number), text: made(location?.text), others };
  }

  /** Returns the attributes of a log that have columns. */
  namesOf(log: number): string[] {
    return [...(this.#logs.get(log)?.locations.keys() ?? [])];
  }

  /** Returns whether attributes of a log have values in no column. */
  hasOthers(log: number): boolean {
    return (this.#logs.get(log)?.withOthers.size ?? 0) > 0;
  }

  /** Assigns columns to frequent attributes and returns where the values of each event go. */
  spread(posted: readonly (Posted | null)[]): (AttributeCells | null)[] {
    const parsed = posted.map((event) =>
      event === null ? null : { log: event.log, values: valuesIn(event.attributes) },
    );
    if (this.#countedEvents !== null) this.#assignColumns(parsed, this.#countedEvents);
    return parsed.map((event) => (event === null ? null : this.#location(event.log, event.values)));
  }

  #assignColumns(parsed: readonly (Parsed | null)[], countedEvents: number): void {
    const logs = new Set<number>();
    for (const event of parsed) {
      if (event === null) continue;
      logs.add(event.log);
      this.#count(this.#of(event.log), event.values);
    }
    for (const log of logs) this.#giveColumns(log, this.#of(log), countedEvents);
  }

  #count(own: LogAttributes, values: readonly NamedValues[]): void {
    own.events += 1;
    for (const { name, cell } of values) {
      if (cell === null || typeof own.locations.get(name)?.[kindOf(cell)] === "number") continue;
      const key = `${kindOf(cell)} ${name}`;
      const before = own.counts.get(key);
      if (before === undefined && own.counts.size >= MAX_COUNTED) continue;
      own.counts.set(key, (before ?? 0) + 1);
      if (before !== undefined) continue;
      this.#counting.add(own);
      this.#counted += 1;
      if (this.#counted > MAX_COUNTED_IN_ALL) this.#forgetMost();
    }
  }

  /** Starts the counts of the log with the most names over, so that it does not hinder others. */
  #forgetMost(): void {
    const [most] = [...this.#counting].sort((a, b) => b.counts.size - a.counts.size);
    if (most !== undefined) this.#forget(most);
  }

  /** Starts the counts of a log over. */
  #forget(own: LogAttributes): void {
    this.#counting.delete(own);
    this.#counted -= own.counts.size;
    own.counts.clear();
    own.events = 0;
  }

  #location(log: number, values: readonly NamedValues[]): AttributeCells {
    const own = this.#of(log);
    const cells: (number | string | undefined)[] = [];
    const others: Other[] = [];
    for (const { name, all, cell } of values) {
      const location = own.locations.get(name);
      const column = cell === null ? null : (location?.[kindOf(cell)] ?? null);
      if (cell !== null && column !== null) {
        cells[column] = cell;
        continue;
      }
      this.#noteOthers(log, own, location === undefined ? null : name);
      others.push(...all.map((one) => otherOf(name, one)));
    }
    return { values, cells, others: others.length === 0 ? null : JSON.stringify(others) };
  }

  #of(log: number): LogAttributes {
    const own = this.#logs.get(log) ?? {
      locations: new Map(),
      taken: new Set(),
      withOthers: new Set(),
      counts: new Map(),
      events: 0,
      isNew: true,
    };
    this.#logs.set(log, own);
    return own;
  }

  #giveColumns(log: number, own: LogAttributes, countedEvents: number): void {
    const isSample = own.events * 4 >= countedEvents;
    if (isSample || own.isNew) {
      const many = [...own.counts].filter(([, events]) => events * SHARE >= own.events).sort(([, a], [, b]) => b - a);
      for (const [key] of many) {
        if (!isSample && own.taken.size >= FIRST_COLUMNS) break;
        const [kind, name] = key.startsWith("number ")
          ? (["number", key.slice(7)] as const)
          : (["text", key.slice(5)] as const);
        const column = this.#freeColumn(own, kind);
        if (column === null) continue;
        own.counts.delete(key);
        this.#counted -= 1;
        const isFirst = !own.locations.has(name);
        this.#note({ log_number: log, name, column_number: column });
        // Earlier events may have values of this attribute in no column.
        if (isFirst && own.withOthers.has(null)) this.#noteOthers(log, own, name);
      }
    }
    if (own.events < countedEvents) return;
    this.#forget(own);
    own.isNew = false;
  }

  #freeColumn({ taken }: LogAttributes, kind: ColumnKind): number | null {
    const free = this.kinds.findIndex((each, column) => each === kind && !taken.has(column));
    if (free !== -1) return free;
    return this.kinds.length < MAX_COLUMNS ? this.kinds.push(kind) - 1 : null;
  }

  #noteOthers(log: number, own: LogAttributes, name: string | null): void {
    if (!own.withOthers.has(name)) this.#note({ log_number: log, name, column_number: null });
  }

  #note(row: PlaceRow): void {
    const { log_number: log, name, column_number: column } = row;
    const { locations, taken, withOthers } = this.#of(log);
    if (name !== null && column !== null) {
      const location = locations.get(name) ?? { number: null, text: null };
      location[this.kinds[column]!] = column;
      locations.set(name, location);
      taken.add(column);
    } else withOthers.add(name);
    this.#rows.push(row);
  }

  /** Whether {@link grow} must run before the next write. */
  get lacksColumns(): boolean {
    return this.#made < this.kinds.length;
  }

  /** Adds the missing columns to the table, each in its own transaction. */
  async grow(connection: DuckDBConnection): Promise<void> {
    for (let column = (await kindsIn(connection)).length; column < this.kinds.length; column++) {
      const type = this.kinds[column] === "number" ? "double" : "varchar";
      await connection.run(`alter table events add column ${ATTRIBUTE_COLUMN}${column} ${type}`);
    }
    this.#made = this.kinds.length;
  }

  /** Writes the missing places, in the transaction that writes events. */
  async write(connection: DuckDBConnection): Promise<void> {
    if (this.#committed === this.#rows.length) return;
    // Rows visible at the start of a transaction are committed, as there is a single writer.
    this.#committed = (await readPlaces(connection)).length;
    const fresh = this.#rows.slice(this.#committed);
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

/** Returns the names of the columns of attributes. */
export async function attributeColumnsIn(connection: DuckDBConnection): Promise<string[]> {
  return (await kindsIn(connection)).map((_, column) => `${ATTRIBUTE_COLUMN}${column}`);
}

async function readPlaces(connection: DuckDBConnection): Promise<PlaceRow[]> {
  const sql = "select log_number, name, column_number from attribute_places order by rowid";
  const rows = (await connection.runAndReadAll(sql)).getRows() as [number, string | null, number | null][];
  return rows.map(([log_number, name, column_number]) => ({ log_number, name, column_number }));
}

/** The values of an attribute of one event. `cell` is what a column stores, null if it cannot. */
export type NamedValues = {
  readonly name: string;
  readonly all: readonly AttributeValue[];
  readonly cell: number | string | null;
};

/** @param attributes in JSON */
export function valuesIn(attributes: string): NamedValues[] {
  // The order of the attributes is lost here; the columns do not need it.
  const object = JSON.parse(attributes) as Record<string, AttributeValue | readonly AttributeValue[]>;
  return Object.entries(object).map(([name, value]) => {
    const all = Array.isArray(value) ? (value as readonly AttributeValue[]) : [value as AttributeValue];
    return { name, all, cell: all.length === 1 ? cellOf(all[0]!) : null };
  });
}

function kindOf(cell: number | string): ColumnKind {
  return typeof cell === "number" ? "number" : "text";
}

/**
 * Returns what a column stores for a value; null if the value has to be stored beside the columns.
 */
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

/** At and above PLAIN_TO, and below PLAIN_FROM, JavaScript or DuckDB may write an exponent. */
const PLAIN_FROM = 0.001;
const PLAIN_TO = 1e15;

/** Returns whether {@link plainText} gives this text of a number. */
function isPlain(number: number, text: string): boolean {
  if (String(number) !== text) return false;
  const size = Math.abs(number);
  return Number.isInteger(number) ? size < PLAIN_TO : size >= PLAIN_FROM && size < PLAIN_TO;
}

/** Returns SQL for the text of a number that is stored without one, as JavaScript writes it. */
export function plainText(number: string): string {
  return `if(${number} = trunc(${number}), ${number}::bigint::varchar, ${number}::varchar)`;
}
