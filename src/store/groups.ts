import { LoggiaError } from "../errors.ts";

/** Most groups of one answer. Several such answers fit into the memory of a process. */
export const MAX_GROUPS = 100_000;

export function tooManyGroups(): LoggiaError {
  return new LoggiaError(
    "unsupported",
    `The query has more than ${MAX_GROUPS} groups: ` +
      "narrow it with WHERE or OCCURS, or, without FILL, limit the groups with TAKE",
  );
}
