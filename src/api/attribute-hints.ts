import type { LogKey } from "../events/event.ts";
import { nearest } from "../query/fault.ts";
import { attributeHint, HINT_EDITS } from "../query/hints.ts";
import { isAttribute } from "../query/plan.ts";
import type { AttributeField, ListPlan, Plan } from "../query/plan.ts";
import { Yielder } from "../scheduling/yielding.ts";
import type { WorkKind } from "../scheduling/yielding.ts";
import { MAX_LISTED_ATTRIBUTES } from "../store/store.ts";
import type { Store } from "../store/store.ts";
import { NameCache } from "./name-cache.ts";
import type { ResponseMemory } from "./response-memory.ts";

/** Most attribute names of a query that are checked, and most logs they are checked in. */
const MOST_NAMES = 5;
const MOST_LOGS = 20;
/** Most names searched for a similar one, and names compared between turns of the event loop. */
const MOST_SIMILAR = 10_000;
const COMPARED_AT_ONCE = 10;
/** Estimate for the names of a log while they are read. */
const NAMES_BYTES = 400 * MAX_LISTED_ATTRIBUTES;
/** Most characters of names that are known to exist, and of names that are suggested. */
const MAX_KNOWN_LENGTH = 1_000_000;
const MAX_SUGGESTED_LENGTH = 4_000_000;
/** Memory of a name besides its text, in characters. */
const NAME_LENGTH = 50;
/**
 * How many times as long as reading the names of a log took they are used, so that reading them
 * takes a small share of the store's time.
 */
const USES_OF_READ = 50;
/** Longest time that an answer waits for its hints. */
const HINT_WAIT_MS = 5_000;

type Suggested = { readonly names: readonly string[]; readonly until_ms: number };

export type AttributeHintOptions = {
  readonly querying: WorkKind;
  /** Monotonic clock, in milliseconds. */
  readonly now?: () => number;
  /** Longest time that an answer waits for its hints. 5 s by default. */
  readonly wait_ms?: number;
};

/**
 * Finds attributes that no event has. A name is looked up by itself until an event has it, so that
 * a log may have any number of names; only the most frequent ones are suggested instead.
 */
export class AttributeHints {
  readonly #store: Pick<Store, "attributeNames" | "rows">;
  readonly #querying: WorkKind;
  readonly #now: () => number;
  readonly #wait_ms: number;
  /** Names that an event has, by log. */
  readonly #known = new NameCache<Set<string>>(MAX_KNOWN_LENGTH);
  readonly #suggested = new NameCache<Suggested>(MAX_SUGGESTED_LENGTH);
  readonly #reading = new Map<LogKey, Promise<readonly string[]>>();

  constructor(store: Pick<Store, "attributeNames" | "rows">, options: AttributeHintOptions) {
    const { now = () => performance.now(), wait_ms = HINT_WAIT_MS, querying } = options;
    this.#store = store;
    this.#querying = querying;
    this.#now = now;
    this.#wait_ms = wait_ms;
  }

  /**
   * Returns a hint for each attribute of a plan that no event of its logs has. It never rejects, as
   * a hint must not fail the query, and returns none if the store takes long.
   * @param memory has been taken for the response
   */
  async hints(plan: Pick<Plan, "logs">, memory: Pick<ResponseMemory, "during">): Promise<readonly string[]> {
    const { logs } = plan;
    const names = [...attributesIn(plan)].slice(0, MOST_NAMES);
    const unknown = names.filter((name) => !logs.some((log) => this.#known.get(log)?.has(name)));
    if (unknown.length === 0 || logs.length === 0 || logs.length > MOST_LOGS) return [];
    const given = Promise.withResolvers<readonly string[]>();
    const timer = setTimeout(() => given.resolve([]), this.#wait_ms);
    this.#find(logs, unknown, memory).then(given.resolve, () => given.resolve([]));
    try {
      return await given.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  async #find(
    logs: readonly LogKey[],
    unknown: readonly string[],
    memory: Pick<ResponseMemory, "during">,
  ): Promise<readonly string[]> {
    const missing: string[] = [];
    for (const name of unknown) if (!(await this.#exists(logs, name))) missing.push(name);
    if (missing.length === 0) return [];
    const suggested = await memory.during(NAMES_BYTES, () => this.#namesOf(logs)).catch(() => []);
    const hints: string[] = [];
    for (const name of missing) hints.push(attributeHint(name, await nearestYielding(name, suggested, this.#querying)));
    return hints;
  }

  async #exists(logs: readonly LogKey[], name: string): Promise<boolean> {
    const [event] = await this.#store.rows(eventWith(logs, `@${name}`));
    if (event === undefined) return false;
    const known = this.#known.get(event.log) ?? new Set();
    known.add(name);
    this.#known.set(event.log, known, lengthOf(known));
    return true;
  }

  /** Returns the most frequent names of logs. */
  async #namesOf(logs: readonly LogKey[]): Promise<readonly string[]> {
    const names: string[] = [];
    for (const log of logs) {
      if (names.length >= MOST_SIMILAR) break;
      const found = this.#suggested.get(log);
      names.push(...(found !== undefined && this.#now() < found.until_ms ? found.names : await this.#read(log)));
    }
    return names.slice(0, MOST_SIMILAR);
  }

  #read(log: LogKey): Promise<readonly string[]> {
    const reading = this.#reading.get(log) ?? this.#readOnce(log).finally(() => this.#reading.delete(log));
    this.#reading.set(log, reading);
    return reading;
  }

  async #readOnce(log: LogKey): Promise<readonly string[]> {
    const began_ms = this.#now();
    // A log whose names cannot be read in time is not tried again with each query either.
    const names = await this.#store.attributeNames(log).catch(() => []);
    const ended_ms = this.#now();
    const until_ms = ended_ms + USES_OF_READ * (ended_ms - began_ms);
    this.#suggested.set(log, { names, until_ms }, lengthOf(names));
    return names;
  }
}

/** Returns about how much memory names take, in characters. */
function lengthOf(names: Iterable<string>): number {
  let length = 0;
  for (const name of names) length += NAME_LENGTH + name.length;
  return length;
}

async function nearestYielding(name: string, names: readonly string[], querying: WorkKind): Promise<string | null> {
  const yielder = new Yielder(querying);
  let found: string | null = null;
  for (let from = 0; from < names.length; from += COMPARED_AT_ONCE) {
    if (yielder.isDue) await yielder.turn();
    const compared = names.slice(from, from + COMPARED_AT_ONCE);
    found = nearest(name, found === null ? compared : [found, ...compared], HINT_EDITS);
  }
  return found;
}

function eventWith(logs: readonly LogKey[], field: AttributeField): ListPlan {
  const where = { kind: "not", condition: { kind: "absent", field } } as const;
  return { kind: "list", from: { kind: "events" }, logs, where, sort: [], skip: 0, take: 1, columns: ["id"] };
}

/** Returns the attributes in a plan: values of `field` and `of`, and items of `columns`. */
function attributesIn(part: unknown, names = new Set<string>()): ReadonlySet<string> {
  if (typeof part !== "object" || part === null) return names;
  for (const [key, value] of Object.entries(part)) {
    if (key === "columns" && Array.isArray(value)) for (const column of value) note(column, names);
    else if (key === "field" || key === "of") note(value, names);
    attributesIn(value, names);
  }
  return names;
}

function note(field: unknown, names: Set<string>): void {
  if (typeof field === "string" && isAttribute(field)) names.add(field.slice(1));
}
