import { LoggiaError } from "../errors.ts";

/** Maximum number of groups in a result. Several such results fit into a process's memory. */
export const MAX_GROUPS = 100_000;

export function tooManyGroups(): LoggiaError {
  return new LoggiaError(
    "unsupported",
    `The query has more than ${MAX_GROUPS} groups: ` +
      "narrow it with WHERE or OCCURS, or, without FILL, limit the groups with TAKE",
  );
}
