import type { LoggiaError } from "../errors.ts";
import { planCondition } from "./conditions.ts";
import type { Context } from "./conditions.ts";
import { groupField } from "./event-fields.ts";
import { didYouMean, oneOf, queryFault } from "./fault.ts";
import { EVENTS, GROUP_FIELDS, canonical } from "./fields.ts";
import { FUNCTIONS, parsePercent } from "./parse-groups.ts";
import { AGGREGATE_FIELDS, MOST_AGGREGATES, NUMBER_AGGREGATES, isAttribute } from "./plan.ts";
import type {
  Aggregate,
  ComparisonOp,
  ConditionField,
  Grouping,
  HavingCondition,
  NumberSource,
  Period,
  PeriodUnit,
} from "./plan.ts";
import type { GroupColumn, Rate } from "./planned-query.ts";
import { MINUTE_MS } from "./calendar.ts";
import type { Clauses, ColumnTerm, HavingTest, KeyTerm, Logic, Name, Step, Term } from "./syntax.ts";
import { dayEnd, firstMoment, readWhen } from "./when.ts";

/** Most combinations of bands, each of which is a query to Elasticsearch. */
const MOST_COMBINED_BOUNDS = 10_000;
/** Groupings of time with a word of their own. */
const PERIOD_WORDS: ReadonlyMap<string, PeriodUnit> = new Map([
  ["day", "days"],
  ["hour", "hours"],
  ["week", "weeks"],
  ["month", "months"],
]);
const PERIOD_FUNCTIONS = { SECONDS: "seconds", MINUTES: "minutes", HOURS: "hours", DAYS: "days" } as const;
/** Keys that need an argument: what is missing without it, and an example. */
const KEY_CALLS = [
  ["SECONDS", "a count", "SECONDS(15)"],
  ["MINUTES", "a count", "MINUTES(15)"],
  ["HOURS", "a count", "HOURS(6)"],
  ["DAYS", "a count", "DAYS(7)"],
  ["BANDS", "a number and bounds", "BANDS(value, 0, 10, 100)"],
] as const;
/** Keys that are not fields. */
const KEYS = [
  "DAY",
  "HOUR",
  "WEEK",
  "MONTH",
  "SECONDS(n)",
  "MINUTES(n)",
  "HOURS(n)",
  "DAYS(n)",
  "BANDS(number, bound, …)",
  "geo",
  "level",
];
/** Column names that an aggregate may not take. */
const RESERVED: ReadonlySet<string> = new Set(["key", "keys", "previous"]);

type EventContext = Context<ConditionField>;

/** @throws LoggiaError `bad_query` */
export function planGroupings(context: EventContext, keys: readonly KeyTerm[]): Grouping[] {
  const by = keys.map((key) => planGrouping(context, key));
  const written = by.map((grouping) => JSON.stringify(grouping));
  const repeated = written.findIndex((each, i) => written.indexOf(each) < i);
  if (repeated !== -1)
    throw queryFault(context.text, spanOfKey(keys[repeated]!), "the query already groups by this key");
  const bounds = by.map((grouping) => (grouping.kind === "bands" ? grouping.bounds.length : 1));
  if (bounds.reduce((product, count) => product * count, 1) > MOST_COMBINED_BOUNDS) {
    const most = MOST_COMBINED_BOUNDS.toLocaleString("en-US");
    const what = `the bounds of several BANDS have at most ${most} combinations`;
    throw queryFault(context.text, spanOfKey(keys.findLast(({ kind }) => kind === "bands")!), what);
  }
  return by;
}

function planGrouping({ text, zone }: EventContext, key: KeyTerm): Grouping {
  switch (key.kind) {
    case "period":
      return { kind: "period", unit: PERIOD_FUNCTIONS[key.unit], count: key.count.value, zone };
    case "bands":
      return { kind: "bands", of: numberSource(text, key.of, "BANDS"), bounds: key.bounds.map(({ value }) => value) };
    case "name": {
      const name = canonical(key.name.text);
      const unit = PERIOD_WORDS.get(name);
      if (unit !== undefined) return { kind: "period", unit, count: 1, zone };
      if (name === "created") {
        const hint = "Group it by DAY or by HOUR.";
        throw queryFault(text, key.name.span, "cannot group by created itself", hint);
      }
      if (name === "geo") return { kind: "place" };
      if (name === "level") return { kind: "level" };
      const call = KEY_CALLS.find(([word]) => word.toLowerCase() === name);
      if (call !== undefined) {
        const [word, missing, example] = call;
        throw queryFault(text, key.name.span, `${word} needs ${missing}`, `Write ${example}.`);
      }
      return { kind: "field", field: groupField(text, key.name, "group by", KEYS) };
    }
  }
  throw key satisfies never;
}

export function spanOfKey(key: KeyTerm): Name["span"] {
  return key.kind === "name" ? key.name.span : key.span;
}

function numberSource(text: string, name: Name, purpose: string): NumberSource {
  if (isAttribute(name.text)) return name.text;
  if (canonical(name.text) === "value") return "value";
  const isField = EVENTS.fields.has(canonical(name.text)) || canonical(name.text) === "attributes";
  const attribute = isField ? "an attribute such as @duration" : `the attribute @${name.text}`;
  const hint = didYouMean(name.text, ["value"]) ?? `Use value, or ${attribute}.`;
  throw queryFault(text, name.span, `${purpose} needs a number, and ${name.text} holds none`, hint);
}

/** Plans the terms of a grouped query, and collects the distinct aggregates that they need. */
export class Terms {
  readonly #context: EventContext;
  /** Terms by the name given with AS, in lower case. */
  readonly #named = new Map<string, Term>();
  readonly #rates: Rate[] = [];
  /** Indices of aggregates, by what they are as JSON. */
  readonly #indices = new Map<string, number>();
  readonly #hasKeys: boolean;
  readonly aggregates: Aggregate[] = [];

  constructor(context: EventContext, { columns, groupBy }: Pick<Clauses, "columns" | "groupBy">) {
    this.#context = context;
    this.#hasKeys = groupBy !== null;
    for (const { of, as } of columns ?? []) if (as !== null) this.#named.set(as.text.toLowerCase(), of);
  }

  /** The rates; complete once all terms are planned, see {@link finalIndex}. */
  get rates(): readonly Rate[] {
    return this.#rates;
  }

  /**
   * Returns the index of a term of SORT or HAVING; names of columns take precedence. The index of a
   * rate is negative and must be converted by {@link finalIndex}.
   */
  indexOf(term: Term): "key" | number {
    const named = term.kind === "name" ? this.#named.get(term.name.text.toLowerCase()) : undefined;
    return this.indexOfColumn(named ?? term);
  }

  /** Converts an index once all terms are planned: rates follow all aggregates. */
  finalIndex(index: number): number {
    return index >= 0 ? index : this.aggregates.length - 1 - index;
  }

  /** Returns the index of a column's term, as {@link indexOf} does. */
  indexOfColumn(term: Term): "key" | number {
    switch (term.kind) {
      case "name":
        return this.#indexOfName(term.name);
      case "count":
        return this.#add({ kind: "count", where: planCondition(this.#context, term.where) }, term.function);
      case "rate":
        return this.#addRate(term.step, term.function);
      case "call":
        return this.#add(this.#planCall(term.function, term.of), term.function);
    }
    throw term satisfies never;
  }

  #indexOfName(name: Name): "key" | number {
    const written = name.text.toUpperCase();
    if (written === "KEY") return "key";
    if (written === "COUNT") return this.#add({ kind: "count", where: null }, name);
    const numeric = numericAggregate(written, "value");
    if (numeric !== null) return this.#add(numeric, name);
    throw this.#unknown(name);
  }

  #planCall(called: Name, of: Name): Aggregate {
    const { text } = this.#context;
    const written = called.text.toUpperCase();
    switch (written) {
      case "DISTINCT":
        return { kind: "distinct", field: groupField(text, of, "count the values of") };
      case "FIRST":
      case "LAST": {
        const kind = written === "FIRST" ? "first" : "last";
        const name = canonical(of.text);
        if (name === "id" || name === "created") return { kind, field: name };
        return { kind, field: groupField(text, of, `show the ${kind}`, ["id", "created"]) };
      }
      default:
        return numericAggregate(written, numberSource(text, of, written))!;
    }
  }

  #add(aggregate: Aggregate, name: Name): number {
    const written = JSON.stringify(aggregate);
    const known = this.#indices.get(written);
    if (known !== undefined) return known;
    if (this.aggregates.length === MOST_AGGREGATES) {
      throw queryFault(this.#context.text, name.span, `a query has at most ${MOST_AGGREGATES} aggregates`);
    }
    this.#indices.set(written, this.aggregates.length);
    return this.aggregates.push(aggregate) - 1;
  }

  #addRate(step: Step, name: Name): number {
    const per_ms = lengthOfStep(step);
    if (per_ms === null) {
      const hint = "Write RATE(MINUTES(1)), RATE(HOURS(1)), RATE(DAYS(1)) or RATE(WEEKS(1)).";
      throw queryFault(this.#context.text, name.span, "a month has no fixed length", hint);
    }
    const of = this.#add({ kind: "count", where: null }, name);
    const known = this.#rates.findIndex((rate) => rate.per_ms === per_ms);
    return -1 - (known === -1 ? this.#rates.push({ of, per_ms }) - 1 : known);
  }

  #unknown(name: Name): LoggiaError {
    const { text } = this.#context;
    const key = canonical(name.text);
    const columns = oneOf(["KEY", ...FUNCTIONS, "a percentile such as P95"]);
    const isField = EVENTS.fields.has(key) || isAttribute(name.text) || key === "attributes";
    if (isField && !FUNCTIONS.some((known) => known.toLowerCase() === key)) {
      const field = isAttribute(name.text) ? name.text : key;
      const what = `${field} is a field of single events, and a grouped query has ${columns}`;
      return queryFault(
        text,
        name.span,
        what,
        this.#hasKeys ? "The column KEY holds the keys of the groups." : keyHint(name),
      );
    }
    if (FUNCTIONS.some((known) => known.toLowerCase() === key)) {
      const example = key === "rate" ? "RATE(MINUTES(1))" : `${name.text.toUpperCase()}(source)`;
      return queryFault(text, name.span, `${name.text.toUpperCase()} needs an argument`, `Write ${example}.`);
    }
    return queryFault(text, name.span, `expected ${columns}, found "${name.text}"`, this.#hint(name));
  }

  /** Returns a hint for an unknown name. */
  #hint({ text }: Name): string | null {
    if (this.#named.has(text.toLowerCase())) return "It is the name of another column, which may be listed only once.";
    if (/^P\d/i.test(text)) return "Percentiles lie between P0 and P100, such as P50, P95 or P99.9.";
    return didYouMean(text, ["KEY", ...FUNCTIONS, ...this.#named.keys()]);
  }
}

/** Returns a hint for a field in a query that has aggregates but no keys. */
function keyHint({ text }: Name): string {
  const key = canonical(text);
  const isKey = isAttribute(text) || key === "geo" || key === "level" || GROUP_FIELDS.some((field) => field === key);
  return isKey ? `Add GROUPBY ${text}, and show KEY.` : "Leave it out, or leave out the aggregates.";
}

function numericAggregate(written: string, of: NumberSource): Aggregate | null {
  const kind = NUMBER_AGGREGATES.find((name) => name === written.toLowerCase());
  if (kind !== undefined) return { kind, of };
  const percent = parsePercent(written);
  return percent === null ? null : { kind: "percentile", of, percent };
}

/** Returns the length of a step in milliseconds; null for months. */
function lengthOfStep({ unit, count }: Step): number | null {
  const minutes = { MINUTES: 1, HOURS: 60, DAYS: 24 * 60, WEEKS: 7 * 24 * 60, MONTHS: null }[unit];
  return minutes === null ? null : minutes * MINUTE_MS * count;
}

/** Plans the columns of a grouped query, those of fixed name first. Indices are not final yet. */
export function planColumns(text: string, terms: Terms, columns: readonly ColumnTerm[] | null): GroupColumn[] {
  if (columns === null) return AGGREGATE_FIELDS.map((name) => ({ name, shows: terms.indexOfColumn(usualTerm(name)) }));
  const shown = columns.map(({ of, as }) => ({
    name: as === null ? nameOf(of) : as.text,
    span: (as ?? (of.kind === "name" ? of.name : of.written)).span,
    shows: terms.indexOfColumn(of),
    usual: as === null && of.kind === "name" ? AGGREGATE_FIELDS.findIndex((field) => field === nameOf(of)) : -1,
  }));
  const usual = AGGREGATE_FIELDS.flatMap((_, i) => shown.find((column) => column.usual === i) ?? []);
  const others: typeof shown = [];
  for (const column of shown.filter((each) => each.usual === -1)) {
    const other = [...usual, ...others].find(({ name }) => name === column.name);
    if (other === undefined && !RESERVED.has(column.name)) others.push(column);
    else if (other?.shows !== column.shows) throw nameTaken(text, column);
  }
  return [...usual, ...others].map(({ name, shows }) => ({ name, shows }));
}

function nameTaken(text: string, { name, span }: { name: string; span: Name["span"] }): LoggiaError {
  const what = RESERVED.has(name) ? `${name} is a reserved name` : `another column is named ${name}`;
  return queryFault(text, span, what, "Give it another name with AS.");
}

/** Returns the name of a column: as written, in lower case without blanks. */
function nameOf(term: Term): string {
  return (term.kind === "name" ? term.name : term.written).text.replace(/\s/gu, "").toLowerCase();
}

function usualTerm(name: string): Term {
  return { kind: "name", name: { text: name, span: { start: 0, end: 0 } } };
}

/** @throws LoggiaError `bad_query` */
export function planHaving(context: EventContext, terms: Terms, having: Logic<HavingTest>): HavingCondition {
  switch (having.kind) {
    case "and":
    case "or":
      return { kind: having.kind, conditions: having.parts.map((part) => planHaving(context, terms, part)) };
    case "not":
      return { kind: "not", condition: planHaving(context, terms, having.part) };
    case "null":
      return { kind: "absent", aggregate: valueIn(context.text, terms, having.of, false) };
    case "compare": {
      const { op } = having;
      if (op !== "!=") return planHavingComparison(context, terms, { ...having, op });
      return { kind: "not", condition: planHavingComparison(context, terms, { ...having, op: "=" }) };
    }
  }
  throw having satisfies never;
}

type HavingComparison = Extract<HavingTest, { kind: "compare" }> & { readonly op: ComparisonOp };

function planHavingComparison(
  context: EventContext,
  terms: Terms,
  { of, op, value }: HavingComparison,
): HavingCondition {
  const aggregate = valueIn(context.text, terms, of, true);
  if (value.kind === "number") return { kind: "compare", aggregate, op, value: value.value };
  const compared = terms.aggregates[aggregate];
  if (
    compared === undefined ||
    !("field" in compared) ||
    compared.field !== "created" ||
    compared.kind === "distinct"
  ) {
    const hint = "FIRST(created) and LAST(created) are compared with moments.";
    throw queryFault(context.text, value.span, "HAVING compares this aggregate with a number", hint);
  }
  const moment = readWhen(context, value);
  if (op !== "=" || moment.kind !== "day") return { kind: "compare", aggregate, op, value: firstMoment(moment) };
  return {
    kind: "and",
    conditions: [
      { kind: "compare", aggregate, op: ">=", value: moment.start },
      { kind: "compare", aggregate, op: "<", value: dayEnd(moment, context) },
    ],
  };
}

function valueIn(text: string, terms: Terms, term: Term, isCompared: boolean): number {
  const index = terms.indexOf(term);
  const name = term.kind === "name" ? term.name : term.written;
  if (index === "key") {
    throw queryFault(text, name.span, "HAVING compares aggregates, and KEY is not one", "Exclude groups with WHERE.");
  }
  const aggregate = terms.aggregates[index];
  const holdsText = aggregate?.kind === "first" || aggregate?.kind === "last";
  if (!isCompared || !holdsText || aggregate.field === "value" || aggregate.field === "created") return index;
  throw queryFault(text, name.span, `HAVING compares numbers, and ${aggregate.kind.toUpperCase()} gives a text`);
}

/** Returns a condition with final indices. */
export function finalHaving(terms: Terms, having: HavingCondition): HavingCondition {
  switch (having.kind) {
    case "and":
    case "or":
      return { ...having, conditions: having.conditions.map((part) => finalHaving(terms, part)) };
    case "not":
      return { kind: "not", condition: finalHaving(terms, having.condition) };
    case "compare":
    case "absent":
      return { ...having, aggregate: terms.finalIndex(having.aggregate) };
  }
  throw having satisfies never;
}

/** Returns the index of the key that FILL fills. @throws LoggiaError `bad_query` */
export function filledKey(text: string, by: readonly Grouping[], span: Name["span"]): number {
  const periods = by.flatMap((grouping, i) => (grouping.kind === "period" ? [i] : []));
  if (periods.length === 1) return periods[0]!;
  const hint = "Group by DAY, HOUR, MINUTES(n) or the like.";
  throw queryFault(
    text,
    span,
    `FILL needs one key of time, and there ${periods.length === 0 ? "is none" : "are several"}`,
    hint,
  );
}

/** Returns whether a grouping of time cannot be aligned with one some months earlier. */
export function isMisaligned(by: Grouping, { unit }: Step): by is Period {
  return unit === "MONTHS" && by.kind === "period" && (by.unit === "weeks" || (by.unit === "days" && by.count > 1));
}
