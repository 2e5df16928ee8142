import type { LogKey } from "../events/event.ts";
import { attributeHint } from "../query/hints.ts";
import { isAttribute } from "../query/plan.ts";
import type { Plan } from "../query/plan.ts";
import type { Store } from "../store/store.ts";

/** Most attribute names of a query that are checked, and most logs they are checked in. */
const MOST_NAMES = 5;
const MOST_LOGS = 20;
/** Most names searched for a similar one. */
const MOST_SIMILAR = 2_000;
/** Most cached names, over all logs. */
const MAX_CACHED_NAMES = 200_000;

/**
 * Finds attributes that no event has. Known names are cached, so that most queries cost the store
 * nothing; an unknown name is looked up every time.
 */
export class AttributeHints {
  readonly #store: Pick<Store, "attributeNames">;
  readonly #cached = new Map<LogKey, ReadonlySet<string>>();
  #count = 0;

  constructor(store: Pick<Store, "attributeNames">) {
    this.#store = store;
  }

  /**
   * Returns a hint for each attribute of a plan that no event of its logs has. It never rejects, as
   * a hint must not fail the query.
   */
  async hints(plan: Pick<Plan, "logs">): Promise<readonly string[]> {
    const names = [...attributesIn(plan)].slice(0, MOST_NAMES);
    const { logs } = plan;
    const missing = names.filter((name) => !logs.some((log) => this.#cached.get(log)?.has(name)));
    if (missing.length === 0 || logs.length === 0 || logs.length > MOST_LOGS) return [];
    try {
      const known = await Promise.all(logs.map((log) => this.#read(log)));
      const similar = known.flatMap((each) => [...each].slice(0, MOST_SIMILAR)).slice(0, MOST_SIMILAR);
      return missing
        .filter((name) => !known.some((each) => each.has(name)))
        .map((name) => attributeHint(name, similar));
    } catch {
      return [];
    }
  }

  async #read(log: LogKey): Promise<ReadonlySet<string>> {
    const names = new Set(await this.#store.attributeNames(log));
    this.#forget(log);
    this.#cached.set(log, names);
    this.#count += names.size;
    for (const [oldest] of this.#cached) {
      if (this.#count <= MAX_CACHED_NAMES || oldest === log) break;
      this.#forget(oldest);
    }
    return names;
  }

  #forget(log: LogKey): void {
    this.#count -= this.#cached.get(log)?.size ?? 0;
    this.#cached.delete(log);
  }
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
