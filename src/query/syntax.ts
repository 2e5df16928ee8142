/**
 * The tree that a query's text becomes, before anything is known of fields, types or time.
 * Every node that a fault may speak of carries where it stood.
 */

/** Where something stands in the text: UTF-16 offsets, the end exclusive. */
export type Span = { readonly start: number; readonly end: number };

export type Query = {
  readonly table: { readonly name: "events" | "users"; readonly span: Span };
  /** The class behind the dot of `events.class`. */
  readonly class: Name | null;
  readonly clauses: Clauses;
};

/** Each clause at most once; null where it was not written. */
export type Clauses = {
  readonly where: Expression | null;
  readonly take: Count | null;
  readonly skip: Count | null;
  readonly sort: Sort | null;
  readonly groupBy: Name | null;
  readonly occurs: Occurs | null;
  readonly columns: readonly Name[] | null;
};

/** A word that names a field, a class, a column or a grouping, as it was written. */
export type Name = { readonly text: string; readonly span: Span };

/** A whole number within the limits of its clause. */
export type Count = { readonly value: number; readonly span: Span };

export type Sort = { readonly key: Name; readonly direction: "asc" | "desc" };

/** `field` is null where the clause names none; `to` is null where it holds one moment alone. */
export type Occurs = { readonly field: Name | null; readonly from: When; readonly to: When | null };

export type Expression =
  | { readonly kind: "and"; readonly parts: readonly Expression[] }
  | { readonly kind: "or"; readonly parts: readonly Expression[] }
  | { readonly kind: "not"; readonly part: Expression }
  | { readonly kind: "compare"; readonly field: Name; readonly op: CompareOp; readonly value: Literal }
  | { readonly kind: "contains"; readonly field: Name; readonly value: StringLiteral }
  | { readonly kind: "matches"; readonly field: Name; readonly value: StringLiteral }
  | { readonly kind: "in"; readonly field: Name; readonly values: readonly Literal[] }
  | { readonly kind: "null"; readonly field: Name };

export type CompareOp = "=" | "!=" | "<" | "<=" | ">" | ">=";

export type Literal = StringLiteral | NumberLiteral | When;
export type StringLiteral = { readonly kind: "string"; readonly value: string; readonly span: Span };
export type NumberLiteral = { readonly kind: "number"; readonly value: number; readonly span: Span };

/** A moment, or a day where it is TODAY or a date without a time and no step follows. */
export type When = {
  readonly kind: "when";
  readonly base:
    { readonly kind: "today" } | { readonly kind: "now" } | { readonly kind: "date"; readonly text: string };
  /** Taken from left to right. */
  readonly steps: readonly Step[];
  readonly span: Span;
};

export type Step = { readonly unit: Unit; readonly count: number };

export const UNITS = ["MINUTES", "HOURS", "DAYS", "WEEKS", "MONTHS"] as const;
export type Unit = (typeof UNITS)[number];
