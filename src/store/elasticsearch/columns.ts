import type { Client, estypes } from "@elastic/elasticsearch";

import { translated } from "../../elasticsearch/client.ts";
import type { LogKey } from "../../events/event.ts";
import { ATTRIBUTE_PATHS, ATTRIBUTES, COLUMN_KINDS } from "./attributes.ts";
import { FIELD_LIMIT } from "./mapping.ts";
import type { Names } from "./mapping.ts";
import { searcherOf } from "./search/scan.ts";

/** So many attributes of a log get columns. */
const MAX_OF_LOG = 256;
/**
 * Names that an index has room for: each may get a field of every kind, and some fields are not
 * those of attributes.
 */
const ROOM = Math.floor((FIELD_LIMIT - 150) / COLUMN_KINDS.length);
/** The logs of one person may take this part of the room that others leave, so that there is always some left. */
const PART_OF_PERSON = 1 / 4;
/** What other processes have put into an index is read again after this. */
const KNOWN_MS = 60_000;
/** Indices whose columns are remembered: events of a month go into one of them. */
const MAX_INDICES = 8;

/**
 * Which attributes of each log get columns: the first {@link MAX_OF_LOG} that it is seen to have, as
 * long as its owner takes no more than a part of the room. Names beyond are found by terms like all
 * others, and grouped by a look at each event. So nobody fills an index, which all logs share.
 *
 * Nothing depends on it being the same everywhere: each document says which columns it lacks.
 */
export class ColumnsOfLogs {
  readonly #client: Client;
  readonly #names: Names;
  readonly #personOf: (log: LogKey) => string;
  /** By index, the one that was asked for last at the end. */
  readonly #indices = new Map<string, ColumnsOfIndex>();

  /** @param personOf whom the use of a log counts for */
  constructor(client: Client, names: Names, personOf: (log: LogKey) => string) {
    this.#client = client;
    this.#names = names;
    this.#personOf = personOf;
  }

  /**
   * Says of the key of an attribute whether it has columns in the events of a log that an index gets.
   * @throws LoggiaError `store_unavailable` where it has to ask, and gets no answer
   */
  of(log: LogKey, index: string): Promise<(key: string) => boolean> {
    let columns = this.#indices.get(index);
    if (columns === undefined) {
      columns = new ColumnsOfIndex(this.#client, this.#names, index);
      for (const old of this.#indices.keys()) if (this.#indices.size >= MAX_INDICES) this.#indices.delete(old);
    } else this.#indices.delete(index);
    this.#indices.set(index, columns);
    return columns.of(log, this.#personOf(log));
  }
}

/** Of names that are in an index, and of which nobody's logs are known to have them. */
const NOBODY = "";

class ColumnsOfIndex {
  readonly #client: Client;
  readonly #names: Names;
  readonly #index: string;
  readonly #logs = new Map<LogKey, Promise<Set<string>>>();
  /** By the key of each name that has columns, the person for whose logs it got them. */
  readonly #takers = new Map<string, string>();
  readonly #taken = new Map<string, number>();
  #known: Promise<void> | null = null;
  #knownAt_ms = -Infinity;

  constructor(client: Client, names: Names, index: string) {
    this.#client = client;
    this.#names = names;
    this.#index = index;
  }

  async of(log: LogKey, person: string): Promise<(key: string) => boolean> {
    if (performance.now() - this.#knownAt_ms > KNOWN_MS) this.#know();
    await this.#known;
    let known = this.#logs.get(log);
    if (known === undefined) {
      known = this.#readLog(log, person);
      known.catch(() => this.#logs.delete(log));
      this.#logs.set(log, known);
    }
    const columns = await known;
    const isNew = (key: string): boolean => columns.size < MAX_OF_LOG && this.#take(key, person);
    return (key) => columns.has(key) || (isNew(key) && columns.add(key).has(key));
  }

  /** Gives a name columns, where it has none yet and there is room for its person. @returns whether it has them */
  #take(key: string, person: string): boolean {
    if (this.#takers.has(key)) return true;
    const own = this.#taken.get(person) ?? 0;
    const others = this.#takers.size - own;
    if (own >= (ROOM - others) * PART_OF_PERSON) return false;
    this.#charge(key, person);
    return true;
  }

  #charge(key: string, person: string): void {
    this.#takers.set(key, person);
    this.#taken.set(person, (this.#taken.get(person) ?? 0) + 1);
  }

  /** Those that the index has already, then those that most events have. */
  async #readLog(log: LogKey, person: string): Promise<Set<string>> {
    const terms = { field: ATTRIBUTE_PATHS.keys, size: MAX_OF_LOG };
    const { aggregations } = await translated(() =>
      searcherOf(
        this.#client,
        this.#names.events,
      )({
        query: { term: { log } },
        size: 0,
        track_total_hits: false,
        aggs: {
          keys: { terms },
          ...(this.#takers.size > 0 && { taken: { terms: { ...terms, include: [...this.#takers.keys()] } } }),
        },
      }),
    );
    const columns = new Set<string>();
    for (const { key } of [...(aggregations?.["taken"]?.buckets ?? []), ...(aggregations?.["keys"]?.buckets ?? [])]) {
      const name = key as string;
      if (columns.size >= MAX_OF_LOG || !this.#take(name, person)) continue;
      if (this.#takers.get(name) === NOBODY) {
        this.#taken.set(NOBODY, this.#taken.get(NOBODY)! - 1);
        this.#charge(name, person);
      }
      columns.add(name);
    }
    return columns;
  }

  /** Reads which names the index has. Where that fails, what was known before counts. */
  #know(): void {
    const isFirst = this.#known === null;
    this.#knownAt_ms = performance.now();
    const reading = this.#readTaken();
    if (!isFirst) return void reading.catch(() => {});
    this.#known = reading;
    reading.catch(() => {
      this.#known = null;
      this.#knownAt_ms = -Infinity;
    });
  }

  async #readTaken(): Promise<void> {
    const found = await translated(() =>
      this.#client.indices.getMapping({
        index: this.#index,
        ignore_unavailable: true,
        allow_no_indices: true,
        filter_path: `*.mappings.properties.${ATTRIBUTES}.properties.*.properties.*.type`,
      }),
    );
    for (const { mappings } of Object.values(found))
      for (const key of keysIn(mappings)) if (!this.#takers.has(key)) this.#charge(key, NOBODY);
  }
}

function keysIn(mappings: estypes.MappingTypeMapping): string[] {
  const indexed = mappings.properties?.[ATTRIBUTES] as estypes.MappingObjectProperty | undefined;
  return COLUMN_KINDS.flatMap((kind) => {
    const columns = indexed?.properties?.[kind] as estypes.MappingObjectProperty | undefined;
    return Object.keys(columns?.properties ?? {});
  });
}
