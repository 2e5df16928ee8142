import { FUNCTIONS, percentOf } from "./parse-groups.ts";
import type { Name, Query, Term } from "./syntax.ts";

/** Whether a query asks for groups, or for aggregates of all that it finds. */
export function asksForGroups({ groupBy, having, compare, fill, columns }: Query["clauses"]): boolean {
  if (groupBy !== null || having !== null || compare !== null || fill !== null) return true;
  const terms = (columns ?? []).map(({ of }) => of);
  const isKey = (term: Term): boolean => term.kind === "name" && term.name.text.toUpperCase() === "KEY";
  const isOfGroups = (term: Term): boolean => term.kind !== "name" || isAggregate(term.name);
  return terms.every(isOfGroups) && !terms.every(isKey);
}

/** Whether a name is that of a column of groups. */
export function isAggregate({ text }: Name): boolean {
  const written = text.toUpperCase();
  return written === "KEY" || FUNCTIONS.some((known) => known === written) || percentOf(written) !== null;
}
