import { isAttribute } from "./plan.ts";
import { EVENTS, canonical } from "./fields.ts";
import { FUNCTIONS, parsePercent } from "./parse-groups.ts";
import type { Name, Query, Term } from "./syntax.ts";

/**
 * Returns whether a query asks for groups or for aggregates of everything. Without clauses of
 * groups, the first column with a known name decides; later faults name columns that do not fit it.
 */
export function asksForGroups({ groupBy, having, compare, fill, columns }: Query["clauses"]): boolean {
  if (groupBy !== null || having !== null || compare !== null || fill !== null) return true;
  const terms = (columns ?? []).map(({ of }) => of);
  const isOfGroups = (term: Term): boolean => term.kind !== "name" || isAggregate(term.name);
  const known = terms.find((term) => isOfGroups(term) || (term.kind === "name" && isColumn(term.name)));
  return known !== undefined && isOfGroups(known);
}

function isColumn({ text }: Name): boolean {
  const key = canonical(text);
  return isAttribute(text) || EVENTS.fields.has(key) || key === "attributes";
}

/** Returns whether a name is a column of groups. */
export function isAggregate({ text }: Name): boolean {
  const written = text.toUpperCase();
  return written === "KEY" || FUNCTIONS.some((known) => known === written) || parsePercent(written) !== null;
}
