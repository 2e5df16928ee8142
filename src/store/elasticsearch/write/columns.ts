import type { Client, estypes } from "@elastic/elasticsearch";

import { translated } from "../../../elasticsearch/client.ts";
import type { LogKey } from "../../../events/event.ts";
import { ATTRIBUTE_PATHS, ATTRIBUTES, COLUMN_KINDS } from "../documents/attributes.ts";
import { FIELD_LIMIT } from "../documents/mapping.ts";
import type { Names } from "../documents/mapping.ts";
import { newSearcher } from "../client/scan.ts";

/** Maximum number of attributes of a log with columns. */
const MAX_COLUMNS_OF_LOG = 256;
/**
 * Number of names that an index has room for. Each may get a field of every kind; 150 fields are
 * reserved for others.
 */
const MAX_COLUMNS = Math.floor((FIELD_LIMIT - 150) / COLUMN_KINDS.length);
/** Share of the room unused by others that one user's logs may take. Some thus always remains. */
const MAX_SHARE_OF_OWNER = 1 / 4;
/** Time after which an index is read again for columns added by other processes. */
const REFRESH_MS = 60_000;
/** Maximum number of indices with cached columns. The events of a month go to one index. */
const MAX_INDICES = 8;

/**
 * Decides which attributes of each log get columns: the first {@link MAX_COLUMNS_OF_LOG} seen,
 * within the owner's share of the room. Other names are found by terms like all names, and grouped
 * by testing each event. So no user can fill an index, which all logs share.
 *
 * Processes may decide differently: each document records which columns it lacks.
 */
export class ColumnsOfLogs {
  readonly #client: Client;
  readonly #names: Names;
  readonly #ownerOf: (log: LogKey) => string;
  /** By index, the most recently used last. */
  readonly #indices = new Map<string, ColumnsOfIndex>();

  /** @param ownerOf returns the user to whom a log is charged */
  constructor(client: Client, names: Names, ownerOf: (log: LogKey) => string) {
    this.#client = client;
    this.#names = names;
    this.#ownerOf = ownerOf;
  }

  /**
   * Returns whether an attribute, by its key, has columns in the events of a log written to an
   * index.
   * @throws LoggiaError `store_unavailable` if the columns are not cached and a request fails
   */
  of(log: LogKey, index: string): Promise<(key: string) => boolean> {
    let columns = this.#indices.get(index);
    if (columns === undefined) {
      columns = new ColumnsOfIndex(this.#client, this.#names, index);
      for (const old of this.#indices.keys()) if (this.#indices.size >= MAX_INDICES) this.#indices.delete(old);
    } else this.#indices.delete(index);
    this.#indices.set(index, columns);
    return columns.of(log, this.#ownerOf(log));
  }
}

/** Owner of names in an index that no known log has. */
const NO_OWNER = "";

class ColumnsOfIndex {
  readonly #client: Client;
  readonly #names: Names;
  readonly #index: string;
  readonly #logs = new Map<LogKey, Promise<Set<string>>>();
  /** By the key of each name with columns, the user to whom it is charged. */
  readonly #ownerOfColumn = new Map<string, string>();
  readonly #countOfOwner = new Map<string, number>();
  #existing: Promise<void> | null = null;
  #refreshedAt_ms = -Infinity;

  constructor(client: Client, names: Names, index: string) {
    this.#client = client;
    this.#names = names;
    this.#index = index;
  }

  async of(log: LogKey, owner: string): Promise<(key: string) => boolean> {
    if (performance.now() - this.#refreshedAt_ms > REFRESH_MS) this.#refresh();
    await this.#existing;
    let reading = this.#logs.get(log);
    if (reading === undefined) {
      reading = this.#readLog(log, owner);
      reading.catch(() => this.#logs.delete(log));
      this.#logs.set(log, reading);
    }
    const columns = await reading;
    const isNew = (key: string): boolean => columns.size < MAX_COLUMNS_OF_LOG && this.#allocate(key, owner);
    return (key) => columns.has(key) || (isNew(key) && columns.add(key).has(key));
  }

  /** Gives a name columns if the user has room. @returns whether it has columns */
  #allocate(key: string, owner: string): boolean {
    if (this.#ownerOfColumn.has(key)) return true;
    const own = this.#countOfOwner.get(owner) ?? 0;
    const others = this.#ownerOfColumn.size - own;
    if (own >= (MAX_COLUMNS - others) * MAX_SHARE_OF_OWNER) return false;
    this.#assign(key, owner);
    return true;
  }

  #assign(key: string, owner: string): void {
    this.#ownerOfColumn.set(key, owner);
    this.#countOfOwner.set(owner, (this.#countOfOwner.get(owner) ?? 0) + 1);
  }

  /** Reads the names of a log: those with columns in the index first, then the most frequent. */
  async #readLog(log: LogKey, owner: string): Promise<Set<string>> {
    const terms = { field: ATTRIBUTE_PATHS.keys, size: MAX_COLUMNS_OF_LOG };
    const { aggregations } = await translated(() =>
      newSearcher(
        this.#client,
        this.#names.events,
      )({
        query: { term: { log } },
        size: 0,
        track_total_hits: false,
        aggs: {
          keys: { terms },
          ...(this.#ownerOfColumn.size > 0 && {
            taken: { terms: { ...terms, include: [...this.#ownerOfColumn.keys()] } },
          }),
        },
      }),
    );
    const columns = new Set<string>();
    for (const { key } of [...(aggregations?.["taken"]?.buckets ?? []), ...(aggregations?.["keys"]?.buckets ?? [])]) {
      const name = key as string;
      if (columns.size >= MAX_COLUMNS_OF_LOG || !this.#allocate(name, owner)) continue;
      if (this.#ownerOfColumn.get(name) === NO_OWNER) {
        this.#countOfOwner.set(NO_OWNER, this.#countOfOwner.get(NO_OWNER)! - 1);
        this.#assign(name, owner);
      }
      columns.add(name);
    }
    return columns;
  }

  /** Reads the names in the index. If that fails, the previous ones remain. */
  #refresh(): void {
    const isFirst = this.#existing === null;
    this.#refreshedAt_ms = performance.now();
    const reading = this.#readExisting();
    if (!isFirst) return void reading.catch(() => {});
    this.#existing = reading;
    reading.catch(() => {
      this.#existing = null;
      this.#refreshedAt_ms = -Infinity;
    });
  }

  async #readExisting(): Promise<void> {
    const found = await translated(() =>
      this.#client.indices.getMapping({
        index: this.#index,
        ignore_unavailable: true,
        allow_no_indices: true,
        filter_path: `*.mappings.properties.${ATTRIBUTES}.properties.*.properties.*.type`,
      }),
    );
    for (const { mappings } of Object.values(found))
      for (const key of keysIn(mappings)) if (!this.#ownerOfColumn.has(key)) this.#assign(key, NO_OWNER);
  }
}

function keysIn(mappings: estypes.MappingTypeMapping): string[] {
  const indexed = mappings.properties?.[ATTRIBUTES] as estypes.MappingObjectProperty | undefined;
  return COLUMN_KINDS.flatMap((kind) => {
    const columns = indexed?.properties?.[kind] as estypes.MappingObjectProperty | undefined;
    return Object.keys(columns?.properties ?? {});
  });
}
