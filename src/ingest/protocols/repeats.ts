import { createHash } from "node:crypto";

import type { LogKey } from "../../events/event.ts";

/** So many ids are remembered, some 30 MB. */
const REMEMBERED = 200_000;
const LONGEST = 64;

/**
 * The ids that producers gave their latest events, of this process: an event that comes again under
 * its id is known.
 */
export class RecentIds {
  /** In the order in which they came. */
  readonly #stored = new Set<string>();
  readonly #underWay = new Set<string>();

  /** Whether an event of this id is stored, or is on its way to the bus. */
  stateOf(name: string): "stored" | "under way" | null {
    if (this.#stored.has(name)) return "stored";
    return this.#underWay.has(name) ? "under way" : null;
  }

  begin(names: readonly string[]): void {
    for (const name of names) this.#underWay.add(name);
  }

  /** @param stored whether the bus holds them */
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

/** The name under which an id of a producer is remembered. */
export function nameOfId(log: LogKey, id: string): string {
  const name = `${log}\n${id}`;
  return name.length <= LONGEST ? name : createHash("sha256").update(name).digest("base64");
}

/** Names events that are stored together by their ids. */
export function nameOfAll(names: readonly string[]): string {
  const hash = createHash("sha256");
  for (const name of names) hash.update(name).update("\n");
  return hash.digest("base64url");
}
