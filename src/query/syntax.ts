/**
 * The syntax tree of a query, before fields, types and times are resolved. Nodes that a fault may
 * refer to have a span.
 */

/** A range of the text in UTF-16 offsets, the end exclusive. */
export type TextSpan = { readonly start: number; readonly end: number };

export type Query = {
  readonly table: { readonly name: "events" | "users"; readonly span: TextSpan };
  /** The class after the dot of `events.class`. */
  readonly class: Name | null;
  readonly clauses: Clauses;
};

/** The clauses, each at most once; null if absent. */
export type Clauses = {
  readonly where: Expression | null;
  readonly take: Count | null;
  readonly skip: Count | null;
  readonly sort: Sort | null;
  readonly groupBy: readonly KeyTerm[] | null;
  readonly occurs: Occurs | null;
  readonly columns: readonly ColumnTerm[] | null;
  readonly having: Logic<HavingTest> | null;
  readonly compare: Compare | null;
  readonly fill: Fill | null;
};

/**
 * A name of a field, class, column or grouping, as written. An attribute is `@` and its name
 * without quotes.
 */
export type Name = { readonly text: string; readonly span: TextSpan };

/** An integer within the limits of its clause. */
export type Count = { readonly value: number; readonly span: TextSpan };

/**
 * A key of groups: a field or a period by name, a number of units of time, or bands of a number.
 */
export type KeyTerm =
  | { readonly kind: "name"; readonly name: Name }
  | { readonly kind: "period"; readonly unit: PeriodUnit; readonly count: Count; readonly span: TextSpan }
  | { readonly kind: "bands"; readonly of: Name; readonly bounds: readonly NumberLiteral[]; readonly span: TextSpan };

export const PERIOD_UNITS = ["SECONDS", "MINUTES", "HOURS", "DAYS"] as const;
export type PeriodUnit = (typeof PERIOD_UNITS)[number];

/** A column; `as` is its new name. */
export type ColumnTerm = { readonly of: Term; readonly as: Name | null };

/** A term of COLUMNS, SORT or HAVING: any name, or an aggregate with its argument. */
export type Term =
  | { readonly kind: "name"; readonly name: Name }
  | { readonly kind: "count"; readonly function: Name; readonly where: Expression; readonly written: Name }
  | { readonly kind: "call"; readonly function: Name; readonly of: Name; readonly written: Name }
  | { readonly kind: "rate"; readonly function: Name; readonly step: Step; readonly written: Name };

export type Sort = { readonly key: Term; readonly direction: "asc" | "desc" };

export type HavingTest =
  | { readonly kind: "compare"; readonly of: Term; readonly op: CompareOp; readonly value: NumberLiteral | When }
  | { readonly kind: "null"; readonly of: Term };

/** The count of the step is positive. */
export type Compare = { readonly step: Step; readonly span: TextSpan };

export type Fill = { readonly span: TextSpan };

/** `field` is null if the clause names none; `to` is null if it has a single moment. */
export type Occurs = { readonly field: Name | null; readonly from: When; readonly to: When | null };

/** Tests combined by AND, OR and NOT. */
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
export type StringLiteral = { readonly kind: "string"; readonly value: string; readonly span: TextSpan };
export type NumberLiteral = { readonly kind: "number"; readonly value: number; readonly span: TextSpan };

/** A moment, or a whole day if it is TODAY or a date without time, and has no steps. */
export type When = {
  readonly kind: "when";
  readonly base:
    { readonly kind: "today" } | { readonly kind: "now" } | { readonly kind: "date"; readonly text: string };
  /** Applied from left to right. */
  readonly steps: readonly Step[];
  readonly span: TextSpan;
};

export type Step = { readonly unit: Unit; readonly count: number };

export const UNITS = ["MINUTES", "HOURS", "DAYS", "WEEKS", "MONTHS"] as const;
export type Unit = (typeof UNITS)[number];
