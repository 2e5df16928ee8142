import { createHash } from "node:crypto";

import type { LogKey } from "../../events/event.ts";

/** Maximum number of ids remembered. They take some 30 MB. */
const REMEMBERED = 200_000;
const LONGEST = 64;

/**
 * Ids that producers gave their latest events in this process. An event that repeats such an id is
 * recognized.
 */
export class RecentIds {
  /** In order of arrival. */
  readonly #stored = new Set<string>();
  readonly #underWay = new Set<string>();

  /** Returns whether an event with this id is stored, or is being appended. */
  stateOf(name: string): "stored" | "under way" | null {
    if (this.#stored.has(name)) return "stored";
    return this.#underWay.has(name) ? "under way" : null;
  }

  begin(names: readonly string[]): void {
    for (const name of names) this.#underWay.add(name);
  }

  /** @param stored whether the bus holds the events */
  end(names: readonly string[], stored: boolean): void {
    for (const name of names) {
      this.#underWay.delete(name);
      if (stored) this.#stored.add(name);
    }
    for (const oldest of this.#stored) {
      if (this.#stored.size <= REMEMBERED) break;
      this.#stored.delete(oldest);
    }
  }
}

/** Returns the name under which a producer's id is remembered. */
export function nameOfId(log: LogKey, id: string): string {
  const name = `${log}\n${id}`;
  return name.length <= LONGEST ? name : createHash("sha256").update(name).digest("base64");
}

/** Returns a name for events that are stored together, derived from their ids. */
export function nameOfAll(names: readonly string[]): string {
  const hash = createHash("sha256");
  for (const name of names) hash.update(name).update("\n");
  return hash.digest("base64url");
}
