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
  readonly groupBy: readonly Key[] | null;
  readonly occurs: Occurs | null;
  readonly columns: readonly Column[] | null;
  readonly having: Logic<HavingTest> | null;
  readonly compare: Compare | null;
  readonly fill: Fill | null;
};

/**
 * A word that names a field, a class, a column or a grouping, as it was written. Of an attribute it
 * is `@` and the name that it has, without quotes.
 */
export type Name = { readonly text: string; readonly span: Span };

/** A whole number within the limits of its clause. */
export type Count = { readonly value: number; readonly span: Span };

/** A key of groups: a field or a grouping of time by its name, a number of units of time, or bands of a number. */
export type Key =
  | { readonly kind: "name"; readonly name: Name }
  | { readonly kind: "period"; readonly unit: PeriodUnit; readonly count: Count; readonly span: Span }
  | { readonly kind: "bands"; readonly of: Name; readonly bounds: readonly NumberLiteral[]; readonly span: Span };

export const PERIOD_UNITS = ["SECONDS", "MINUTES", "HOURS", "DAYS"] as const;
export type PeriodUnit = (typeof PERIOD_UNITS)[number];

/** `as`: the name that it gets. */
export type Column = { readonly of: Term; readonly as: Name | null };

/** What stands in COLUMNS, SORT and HAVING: a name of any kind, or an aggregate with what it is of. */
export type Term =
  | { readonly kind: "name"; readonly name: Name }
  | { readonly kind: "count"; readonly function: Name; readonly where: Expression; readonly written: Name }
  | { readonly kind: "call"; readonly function: Name; readonly of: Name; readonly written: Name }
  | { readonly kind: "rate"; readonly function: Name; readonly step: Step; readonly written: Name };

export type Sort = { readonly key: Term; readonly direction: "asc" | "desc" };

export type HavingTest =
  | { readonly kind: "compare"; readonly of: Term; readonly op: CompareOp; readonly value: NumberLiteral | When }
  | { readonly kind: "null"; readonly of: Term };

/** The count is positive. */
export type Compare = { readonly step: Step; readonly span: Span };

export type Fill = { readonly span: Span };

/** `field` is null where the clause names none; `to` is null where it holds one moment alone. */
export type Occurs = { readonly field: Name | null; readonly from: When; readonly to: When | null };

/** Tests joined by AND, OR and NOT. */
export type Logic<Test> =
  | { readonly kind: "and"; readonly parts: readonly Logic<Test>[] }
  | { readonly kind: "or"; readonly parts: readonly Logic<Test>[] }
  | { readonly kind: "not"; readonly part: Logic<Test> }
  | Test;

export type Expression = Logic<FieldTest>;

export type FieldTest =
  | { readonly kind: "compare"; readonly field: Name; readonly op: CompareOp; readonly value: Literal }
  | { readonly kind: "contains"; readonly field: Name; readonly value: StringLiteral }
  | { readonly kind: "matches"; readonly field: Name; readonly value: StringLiteral }
  | { readonly kind: "in"; readonly field: Name; readonly values: readonly Literal[] }
  | { readonly kind: "null"; readonly field: Name }
  /** South, west, north and east. */
  | { readonly kind: "within"; readonly field: Name; readonly edges: Four<NumberLiteral> }
  /** Latitude, longitude and kilometres. */
  | { readonly kind: "near"; readonly field: Name; readonly circle: Three<NumberLiteral> };

type Three<Item> = readonly [Item, Item, Item];
type Four<Item> = readonly [Item, Item, Item, Item];

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
