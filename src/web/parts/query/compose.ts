import type { Clauses, Expression, TextSpan } from "../../../query/syntax.ts";
import { asksForGroups } from "../../../query/grouped.ts";
import { bandOfBounds, isSameChoice, selectionOfCondition, writeSelection } from "./choices.ts";
import type { Choice, Selection } from "./choices.ts";
import { textWithout, textWithInserted, queryPieces, textWithReplaced } from "./pieces.ts";
import type { QueryPieces } from "./pieces.ts";
import { fieldName, writeField } from "./print.ts";

/**
 * Edits that the page makes to a query. Each function takes a parsed query and returns the new
 * text; everything else stays as typed, including blanks and comments.
 */

/** A parsed query that can be edited. */
export type EditableQuery = QueryPieces & {
  /** Operands of the top-level AND: the class after the table's dot, then WHERE's parts. */
  readonly filters: readonly Filter[];
  /** Whether the query returns groups instead of events. */
  readonly isGrouped: boolean;
};

/** One condition that every matching event meets. */
export type Filter = {
  readonly span: TextSpan;
  /** null for the class after the table's dot. */
  readonly tree: Expression | null;
  /** What it selects of one field; null for any other kind of condition. */
  readonly selection: Selection | null;
  /** The fields that the condition reads. */
  readonly fields: ReadonlySet<string>;
};

/** Parses a query; returns null if it has an error. */
export function readQuery(text: string): EditableQuery | null {
  const pieces = queryPieces(text);
  if (pieces === null) return null;
  const isGrouped = pieces.query.table.name === "events" && asksForGroups(pieces.query.clauses);
  return { ...pieces, filters: [...classFilter(pieces), ...conditionFilters(pieces)], isGrouped };
}

function classFilter({ query }: QueryPieces): Filter[] {
  if (query.class === null) return [];
  const selection = { field: "class", isNot: false, choices: [query.class.text] };
  return [{ span: query.class.span, tree: null, selection, fields: new Set(["class"]) }];
}

/** Returns the conditions, with adjacent bounds of a field merged into one band. */
function conditionFilters({ conditions }: QueryPieces): Filter[] {
  const filters: Filter[] = [];
  for (const { span, tree } of conditions) {
    const selection = selectionOfCondition(tree);
    const last = filters.at(-1);
    const band = last === undefined ? null : bandOfBounds(last.selection, selection);
    if (last !== undefined && last.tree !== null && band !== null) {
      const both = { kind: "and" as const, parts: [last.tree, tree] };
      filters[filters.length - 1] = {
        ...last,
        span: { start: last.span.start, end: span.end },
        tree: both,
        selection: band,
      };
    } else filters.push({ span, tree, selection, fields: fieldsIn(tree) });
  }
  return filters;
}

function fieldsIn(tree: Expression): Set<string> {
  if (tree.kind === "and" || tree.kind === "or") return new Set(tree.parts.flatMap((part) => [...fieldsIn(part)]));
  return tree.kind === "not" ? fieldsIn(tree.part) : new Set([fieldName(tree.field.text)]);
}

/** Returns the values that a query selects and excludes of a field: the ticks of its facet. */
export function choicesOfField(
  parsed: EditableQuery,
  field: string,
): { readonly chosen: readonly Choice[]; readonly not: readonly Choice[] } {
  const selections = selectionsOf(parsed, field);
  const of = (isNot: boolean) => selections.filter((each) => each.isNot === isNot).flatMap(({ choices }) => choices);
  return { chosen: of(false), not: of(true) };
}

function selectionsOf(parsed: EditableQuery, field: string): Selection[] {
  return parsed.filters.flatMap(({ selection }) => (selection?.field === field ? [selection] : []));
}

/** Reports whether a list of choices contains a choice. */
export function hasChoice(field: string, choices: readonly Choice[], choice: Choice): boolean {
  return choices.some((each) => isSameChoice(field, each, choice));
}

/** Adds a choice to the query, or removes it if present. An excluded choice is only un-excluded. */
export function toggleChoice(parsed: EditableQuery, field: string, choice: Choice): string {
  const { chosen, not } = choicesOfField(parsed, field);
  if (hasChoice(field, not, choice)) return without(parsed, field, choice, true);
  return hasChoice(field, chosen, choice)
    ? without(parsed, field, choice, false)
    : extended(parsed, field, choice, false);
}

/** Excludes a choice from the query, or un-excludes it. */
export function toggleExclusion(parsed: EditableQuery, field: string, choice: Choice): string {
  const { chosen, not } = choicesOfField(parsed, field);
  if (hasChoice(field, not, choice)) return without(parsed, field, choice, true);
  if (!hasChoice(field, chosen, choice)) return extended(parsed, field, choice, true);
  const rest = readQuery(without(parsed, field, choice, false));
  if (rest === null) return parsed.text;
  // When no other value stays selected, all are, so that this one has to be excluded.
  return choicesOfField(rest, field).chosen.length > 0 ? rest.text : extended(rest, field, choice, true);
}

/** Returns the query with this choice as the only selection of the field. */
export function onlyChoice(parsed: EditableQuery, field: string, choice: Choice): string {
  const rest = readQuery(withoutSelections(parsed, field));
  return rest === null ? parsed.text : extended(rest, field, choice, false);
}

/** Returns the query with a choice excluded. */
export function excludeChoice(parsed: EditableQuery, field: string, choice: Choice): string {
  return hasChoice(field, choicesOfField(parsed, field).not, choice)
    ? parsed.text
    : toggleExclusion(parsed, field, choice);
}

/** Removes the conditions on this field alone, so that the field's values can be counted. */
export function withoutField(parsed: EditableQuery, field: string): string {
  return withoutFilters(parsed, ({ fields }) => fields.size === 1 && fields.has(field));
}

function withoutSelections(parsed: EditableQuery, field: string): string {
  return withoutFilters(parsed, ({ selection }) => selection?.field === field);
}

/** Adds a condition, given as LQL that is valid between ANDs. */
export function withCondition(parsed: EditableQuery, condition: string): string {
  const where = parsed.clauses.get("where");
  if (where === undefined) return textWithInserted(parsed.text, parsed.headEnd, `WHERE ${condition}`);
  const extendedText = textWithInserted(parsed.text, where.end, `AND ${condition}`);
  if (parsed.conditions.length !== 1 || parsed.conditions[0]!.tree.kind !== "or") return extendedText;
  const { span } = parsed.conditions[0]!;
  if (isInParentheses(parsed.text.slice(span.start, span.end))) return extendedText;
  const joined = `(${parsed.text.slice(span.start, span.end)})`;
  return textWithReplaced(textWithInserted(parsed.text, span.end, `AND ${condition}`), span, joined);
}

/** Reports whether one pair of parentheses encloses the whole of an OR condition. */
function isInParentheses(text: string): boolean {
  return queryPieces(`GET events WHERE a = 1 AND ${text}`)?.conditions.length === 2 && text.startsWith("(");
}

/** Removes the conditions that pass a test. Neighbours of a removed one can merge into a band. */
function withoutFilters(parsed: EditableQuery, test: (filter: Filter) => boolean): string {
  const filter = parsed.filters.find(test);
  if (filter === undefined) return parsed.text;
  const rest = readQuery(withoutFilter(parsed, filter));
  return rest === null ? parsed.text : withoutFilters(rest, test);
}

/** Removes one condition from the query. */
export function withoutFilter(parsed: EditableQuery, filter: Filter): string {
  const { text, filters } = parsed;
  if (filter.tree === null) return text.slice(0, filter.span.start) + text.slice(filter.span.end);
  const inWhere = filters.filter(({ tree }) => tree !== null);
  const i = inWhere.indexOf(filter);
  const where = parsed.clauses.get("where")!;
  if (inWhere.length === 1) {
    const keyword = { start: where.start, end: where.start + "WHERE".length };
    return textWithout(text, keyword, filter.span);
  }
  const between =
    i === 0
      ? { start: filter.span.end, end: inWhere[1]!.span.start }
      : { start: inWhere[i - 1]!.span.end, end: filter.span.start };
  return textWithout(text, filter.span, wordWithin(text, between));
}

/** Returns the span of the AND between two conditions, ignoring blanks and comments around it. */
function wordWithin(text: string, { start, end }: TextSpan): TextSpan {
  const gap = text.slice(start, end).replace(/\/\/[^\r\n]*/g, (comment) => " ".repeat(comment.length));
  const at = start + gap.search(/and/i);
  return { start: at, end: at + "AND".length };
}

/** Removes a choice from every condition that contains it. */
function without(parsed: EditableQuery, field: string, choice: Choice, isNot: boolean): string {
  const filter = parsed.filters.find(
    ({ selection: each }) => each?.field === field && each.isNot === isNot && hasChoice(field, each.choices, choice),
  );
  if (filter === undefined) return parsed.text;
  const selection = filter.selection!;
  const choices = selection.choices.filter((each) => !isSameChoice(field, each, choice));
  const text =
    choices.length === 0 ? withoutFilter(parsed, filter) : rewritten(parsed, filter, { ...selection, choices });
  const rest = readQuery(text);
  return rest === null ? parsed.text : without(rest, field, choice, isNot);
}

/** Adds a choice to the first condition of its kind, or adds a new condition. */
function extended(parsed: EditableQuery, field: string, choice: Choice, isNot: boolean): string {
  const filter = parsed.filters.find(({ selection }) => selection?.field === field && selection.isNot === isNot);
  if (filter === undefined) return withCondition(parsed, writeSelection({ field, isNot, choices: [choice] }));
  return rewritten(parsed, filter, { ...filter.selection!, choices: [...filter.selection!.choices, choice] });
}

/** Replaces a filter's selection; one after the table's dot moves to WHERE. */
function rewritten(parsed: EditableQuery, filter: Filter, selection: Selection): string {
  if (filter.tree !== null) return textWithReplaced(parsed.text, filter.span, writeSelection(selection));
  const rest = readQuery(withoutFilter(parsed, filter));
  return rest === null ? parsed.text : withCondition(rest, writeSelection(selection));
}

/** Replaces a clause, or appends it if absent; null removes it. */
export function withClause(parsed: EditableQuery, name: keyof Clauses, clause: string | null): string {
  const span = parsed.clauses.get(name);
  if (clause === null) return span === undefined ? parsed.text : textWithout(parsed.text, span);
  return span === undefined
    ? textWithInserted(parsed.text, parsed.end, clause)
    : textWithReplaced(parsed.text, span, clause);
}

/** Replaces, adds or removes several clauses, in this order. */
export function withClauses(
  parsed: EditableQuery,
  clauses: readonly (readonly [name: keyof Clauses, clause: string | null])[],
): string {
  return clauses.reduce((text, [name, clause]) => withClause(readQuery(text) ?? parsed, name, clause), parsed.text);
}

/** Groups a query's events by a field, largest first. Replaces columns, order and paging. */
export function groupedBy(parsed: EditableQuery, field: string): string {
  return withClauses(parsed, [
    ["columns", null],
    ["sort", null],
    ["take", null],
    ["skip", null],
    ["having", null],
    ["compare", null],
    ["fill", null],
    ["groupBy", `GROUPBY ${writeField(field)}`],
    ["sort", "SORT COUNT DESC"],
  ]);
}

/** Returns the query for the events behind a grouped query. */
export function ungroupedQuery(parsed: EditableQuery): string {
  const names = ["groupBy", "columns", "having", "compare", "fill", "sort", "take", "skip"] as const;
  return parsed.isGrouped
    ? withClauses(
        parsed,
        names.map((name) => [name, null]),
      )
    : parsed.text;
}
