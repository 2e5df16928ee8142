import type { LogKey } from "../events/event.ts";
import { attributeHint } from "../query/hints.ts";
import { isAttribute } from "../query/plan.ts";
import type { Plan } from "../query/plan.ts";
import type { Store } from "../store/store.ts";

/** How many names of a question are looked for, and in how many logs. */
const MOST_NAMES = 5;
const MOST_LOGS = 20;
/** A similar name is looked for among so many. */
const MOST_SIMILAR = 2_000;
/** Names that are remembered, of all logs. */
const MOST_REMEMBERED = 200_000;

/**
 * Tells of attributes that no event has. Names that were found once are remembered, so that usual
 * questions cost the store nothing; a name that is not among them is looked up each time.
 */
export class KnownAttributes {
  readonly #store: Pick<Store, "attributeNames">;
  readonly #remembered = new Map<LogKey, ReadonlySet<string>>();
  #count = 0;

  constructor(store: Pick<Store, "attributeNames">) {
    this.#store = store;
  }

  /** A hint for each attribute of a plan that no event of its logs has. Never rejects: an answer is worth more. */
  async hints(plan: Pick<Plan, "logs">): Promise<readonly string[]> {
    const names = [...attributesIn(plan)].slice(0, MOST_NAMES);
    const { logs } = plan;
    const missing = names.filter((name) => !logs.some((log) => this.#remembered.get(log)?.has(name)));
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
    this.#remembered.set(log, names);
    this.#count += names.size;
    for (const [oldest] of this.#remembered) {
      if (this.#count <= MOST_REMEMBERED || oldest === log) break;
      this.#forget(oldest);
    }
    return names;
  }

  #forget(log: LogKey): void {
    this.#count -= this.#remembered.get(log)?.size ?? 0;
    this.#remembered.delete(log);
  }
}

/** The names of the attributes that a plan looks at: each stands as `field`, as `of`, or among `columns`. */
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
