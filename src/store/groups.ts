import { LoggiaError } from "../errors.ts";
import type { Aggregate } from "../query/plan.ts";
import type { GroupValue } from "./store.ts";

/** Maximum number of groups in a result. Several such results fit into a process's memory. */
export const MAX_GROUPS = 100_000;
/** Maximum length of all texts of a result, such as keys, in UTF-16 units: 500 for each group. */
const MAX_LENGTH = 500 * MAX_GROUPS;

/** Adds up the texts of groups as they are read: those of all groups must fit into the memory. */
export class GroupLengths {
  #left = MAX_LENGTH;

  /** Whether the texts are longer than a result may hold. */
  get isFull(): boolean {
    return this.#left < 0;
  }

  add(values: readonly unknown[]): void {
    for (const value of values) if (typeof value === "string") this.#left -= value.length;
  }
}

/** Returns the values of aggregates over no events. */
export function emptyValues(aggregates: readonly Aggregate[]): GroupValue[] {
  return aggregates.map(({ kind }) => (kind === "count" || kind === "distinct" ? 0 : null));
}

export function tooLongGroups(): LoggiaError {
  return new LoggiaError(
    "unsupported",
    `The keys and texts of the query's groups have more than ${MAX_LENGTH} characters: ` +
      "narrow it with WHERE or OCCURS, group by a shorter field, or limit the groups with TAKE",
  );
}

export function tooManyGroups(): LoggiaError {
  return new LoggiaError(
    "unsupported",
    `The query has more than ${MAX_GROUPS} groups: ` +
      "narrow it with WHERE or OCCURS, or, without FILL, limit the groups with TAKE",
  );
}
