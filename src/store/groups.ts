import { LoggiaError } from "../errors.ts";

/** Most groups of one answer. Several such answers fit into the memory of a process. */
export const MAX_GROUPS = 100_000;

export function tooManyGroups(): LoggiaError {
  return new LoggiaError(
    "unsupported",
    `There are more than ${MAX_GROUPS} groups: ` +
      "narrow the question by WHERE or OCCURS, or, without FILL, take some of them by TAKE",
  );
}
