import type { LoggiaError } from "../errors.ts";
import { attributeNote, didYouMean, oneOf, queryFault } from "./fault.ts";
import { GROUP_FIELDS, SORT_FIELDS, canonical, unknownField } from "./fields.ts";
import { isAggregate } from "./grouped.ts";
import { EVENT_FIELDS, isAttribute } from "./plan.ts";
import type { AttributeField, EventColumn, GroupField, SortField } from "./plan.ts";
import type { Column, Name, Term } from "./syntax.ts";

/** The fields of events that names stand for. Faults are LoggiaErrors `bad_query`. */

export function sortField(text: string, term: Term): SortField {
  return oneOfFields(text, plainName(text, term), SORT_FIELDS, SORTING);
}

const SORTING = "sort by";

/**
 * @param purpose what the field is for, behind "to"
 * @param further what else is possible there; `(…)` may stand behind a word
 */
export function groupField(
  text: string,
  name: Name,
  purpose: string,
  further: readonly string[] = [],
): GroupField | AttributeField {
  return oneOfFields(text, name, GROUP_FIELDS, purpose, further);
}

function oneOfFields<Field extends string>(
  text: string,
  name: Name,
  allowed: readonly Field[],
  purpose: string,
  further: readonly string[] = [],
): Field | AttributeField {
  if (isAttribute(name.text)) return name.text;
  const key = canonical(name.text) === "filter" ? "class" : canonical(name.text);
  const field = allowed.find((candidate) => candidate === key);
  if (field !== undefined) return field;
  const hint = `Possible are ${oneOf([...further, ...allowed, "@name"])}.`;
  if (purpose === SORTING && isAggregate(name)) throw withoutGroups(text, name);
  if (EVENT_FIELDS.some((candidate) => candidate === key) || key === "attributes" || isAggregate(name)) {
    const shown = isAggregate(name) ? name.text.toUpperCase() : key;
    throw queryFault(text, name.span, `events cannot be asked to ${purpose} ${shown}`, hint);
  }
  const words = [...further.map((word) => word.replace(/\(.*/, "")), ...allowed];
  const what = `events have no field "${name.text}" to ${purpose}`;
  throw queryFault(text, name.span, what, didYouMean(name.text, words) ?? `${hint} ${attributeNote(name.text)}`);
}

const COLUMNS = [...EVENT_FIELDS, "pattern", "attributes"] as const;

/** The columns of a list: fields in their own order, attributes as they were written, all attributes at the end. */
export function eventColumns(text: string, columns: readonly Column[]): EventColumn[] {
  const chosen = columns.map(({ of, as }) => {
    const field = eventColumn(text, plainName(text, of));
    if (as === null) return field;
    throw queryFault(text, as.span, "fields keep their names", "AS names an aggregate of groups.");
  });
  const isNamed = (field: EventColumn): boolean => field !== "attributes" && !isAttribute(field);
  return [
    ...COLUMNS.filter((field) => isNamed(field) && chosen.includes(field)),
    ...new Set(chosen.filter(isAttribute)),
    ...(chosen.includes("attributes") ? (["attributes"] as const) : []),
  ];
}

function eventColumn(text: string, name: Name): EventColumn {
  if (isAttribute(name.text)) return name.text;
  const key = canonical(name.text);
  const field = COLUMNS.find((candidate) => candidate === key);
  if (field !== undefined) return field;
  throw isAggregate(name) ? withoutGroups(text, name) : unknownField(text, "events", name, COLUMNS);
}

/** The name that a term is, where it has to be no more. */
export function plainName(text: string, term: Term): Name {
  if (term.kind === "name") return term.name;
  throw withoutGroups(text, term.function);
}

function withoutGroups(text: string, name: Name): LoggiaError {
  const what = `${name.text.toUpperCase()} is a column of groups, and this query has none`;
  return queryFault(text, name.span, what, "Add GROUPBY, or use a field of an event.");
}
