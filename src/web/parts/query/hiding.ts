import { fold } from "../../../events/text.ts";
import type { Expression, Literal } from "../../../query/syntax.ts";
import { writeSelection } from "./choices.ts";
import { readQuery, withCondition } from "./compose.ts";
import { fieldName } from "./print.ts";

/** A query with the classes that were excluded from it. */
export type Hiding = { readonly query: string; readonly hidden: readonly string[] };

/** Excludes classes from a query for events, except those it names; keeps invalid queries. */
export function withoutHidden(text: string, classes: readonly string[]): Hiding {
  const parsed = classes.length === 0 ? null : readQuery(text);
  if (parsed === null || parsed.query.table.name !== "events") return { query: text, hidden: [] };
  const { class: own, clauses } = parsed.query;
  const named = new Set([own?.text ?? "", ...(clauses.where === null ? [] : classesIn(clauses.where))].map(fold));
  const hidden = classes.filter((key) => !named.has(fold(key)));
  if (hidden.length === 0) return { query: text, hidden };
  return { query: withCondition(parsed, writeSelection({ field: "class", isNot: true, choices: hidden })), hidden };
}

export function isSameHiding(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((key, i) => key === b[i]);
}

/** Returns the values that a condition compares the class with. */
function classesIn(tree: Expression): string[] {
  if (tree.kind === "and" || tree.kind === "or") return tree.parts.flatMap(classesIn);
  if (tree.kind === "not") return classesIn(tree.part);
  if (fieldName(tree.field.text) !== "class") return [];
  const texts = (values: readonly Literal[]) => values.flatMap((each) => (each.kind === "string" ? each.value : []));
  return tree.kind === "compare" ? texts([tree.value]) : tree.kind === "in" ? texts(tree.values) : [];
}
