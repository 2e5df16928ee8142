import { EVENT_FIELDS, FIELD_NAMES } from "../events/field-order.ts";
import type { LoggiaError } from "../errors.ts";
import { attributeNote, didYouMean, oneOf, queryFault } from "./fault.ts";
import { unknownField } from "./field-faults.ts";
import { GROUP_FIELDS, SORT_FIELDS, canonical } from "./fields.ts";
import { isAggregate } from "./grouped.ts";
import { isAttribute } from "./plan.ts";
import type { AttributeField, EventColumn, GroupField, SortField } from "./plan.ts";
import type { ColumnTerm, Name, Term } from "./syntax.ts";

/** Resolves names to fields of events. Faults are LoggiaErrors `bad_query`. */

export function sortField(text: string, term: Term): SortField {
  return oneOfFields(text, plainName(text, term), SORT_FIELDS, SORTING);
}

const SORTING = "sort by";

/** Names that are no fields of {@link EVENT_FIELDS}, and may not be aggregated. */
const UNGROUPED: ReadonlySet<string> = new Set(["level", "attributes"]);

/**
 * @param purpose what the field is for, after "to"
 * @param further other allowed words; `(…)` may follow a word
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
  const hint = `Use ${oneOf([...further, ...allowed, "@name"])}.`;
  if (purpose === SORTING && isAggregate(name)) throw withoutGroups(text, name);
  if (EVENT_FIELDS.some((candidate) => candidate === key) || UNGROUPED.has(key) || isAggregate(name)) {
    const shown = isAggregate(name) ? name.text.toUpperCase() : key;
    throw queryFault(text, name.span, `cannot ${purpose} ${shown}`, hint);
  }
  const words = [...further.map((word) => word.replace(/\(.*/, "")), ...allowed];
  const what = `events have no field "${name.text}" to ${purpose}`;
  throw queryFault(text, name.span, what, didYouMean(name.text, words) ?? `${hint} ${attributeNote(name.text)}`);
}

const COLUMNS = [...FIELD_NAMES, "attributes"] as const;

/**
 * Returns the columns of a list: fields in fixed order, attributes as written, `attributes` last.
 */
export function eventColumns(text: string, columns: readonly ColumnTerm[]): EventColumn[] {
  const chosen = columns.map(({ of, as }) => {
    const field = eventColumn(text, plainName(text, of));
    if (as === null) return field;
    throw queryFault(text, as.span, "fields cannot be renamed", "AS can only name the aggregates of groups.");
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

/** Returns the name that a term is; other terms are faults. */
export function plainName(text: string, term: Term): Name {
  if (term.kind === "name") return term.name;
  throw withoutGroups(text, term.function);
}

function withoutGroups(text: string, name: Name): LoggiaError {
  const what = `${name.text.toUpperCase()} is a column of groups, and this query has none`;
  return queryFault(text, name.span, what, "Add GROUPBY, or use a field of an event.");
}
