import { tagsFromRank } from "../../../events/level.ts";
import { isAttribute, isDataSearch, someComparison } from "../../../query/plan.ts";
import type {
  Condition,
  ConditionField,
  DataSearch,
  GroupPlan,
  ListPlan,
  RecordSource,
  UsersPlan,
} from "../../../query/plan.ts";
import {
  ATTRIBUTE_PATHS,
  attributeColumn,
  keyOfField,
  numberRange,
  textRange,
  textTerm,
} from "../documents/attributes.ts";
import { ODD_TEXT, SEEN } from "../documents/document.ts";
import { DOUBT_OF_DATA, lacksNumbers } from "./uncertain.ts";
import { compileNear, compileWithin } from "./geo.ts";
import { ALL, and, matchAnyValue, conjuncts, queryDepth, not, NOTHING, or } from "../client/queries.ts";
import type { Query } from "../client/queries.ts";
import { containing, MAX_EXPRESSION_LENGTH, toLuceneRegexp } from "./regexp.ts";
import type { LuceneRegexp } from "./regexp.ts";
import { findData, nameOfSearch, PATHS_OF_TEXT_WORDS, queryOfWords, requiredWords } from "./word-queries.ts";
import type { RequiredWords, TextSearch } from "./word-queries.ts";

/**
 * A query that finds all records of a plan. If it is not `exact` it finds a superset, and each
 * record must be tested. The same applies if one of `doubts` finds one of the records: the index may
 * lack information about it.
 */
export type Compiled = { readonly query: Query; readonly exact: boolean; readonly doubts?: readonly Query[] };

/**
 * `broad` omits expressions, for those that are too complex for Lucene. `words` uses the index of
 * words for conditions that allow it.
 */
export type Mode = "narrow" | "broad" | "words";

/**
 * Levels of a plan's filters. Elasticsearch rejects queries of more than 30, and searches put up to
 * three around the filters. What lies deeper may match anything.
 */
const MAX_LEVELS = 27;

/** What queries are compiled for. */
export type CompileOptions = { readonly verifiedData?: VerifiedData };

/** Queries for the events whose data meets a search, by {@link nameOfSearch}. */
export type VerifiedData = ReadonlyMap<string, Query>;

/** Compiles the filters of a plan. No part of the query scores. */
export function compileFilter(
  plan: Pick<ListPlan | GroupPlan, "from" | "logs" | "where">,
  mode: Mode = "narrow",
  options: CompileOptions = {},
): Compiled {
  const { query, ...rest } = compileCondition(plan.where, contextOf(options, plan.from.kind !== "events"), mode);
  const source = compileSource(plan.from);
  const logs = matchAnyValue("log", plan.logs);
  return { query: { bool: { filter: [logs, ...source, ...conjuncts(query)] } }, ...rest };
}

function compileSource(from: RecordSource): Query[] {
  if (from.kind === "events") return [];
  const owner: Query = { term: { owner: from.user } };
  if (from.kind === "bookmarks" || from.state === undefined) return [owner];
  const isSeen: Query = { term: { has: SEEN } };
  return [owner, from.state === "seen" ? isSeen : not(isSeen)];
}

/**
 * Compiles the query of the visits of a plan's users. Only conditions on `user`, which all visits of
 * a user meet alike, narrow it; all conditions must still be tested on the users.
 */
export function compileVisits(plan: Pick<UsersPlan, "logs" | "where">): Query {
  const conditions = plan.where.kind === "and" ? plan.where.conditions : [plan.where];
  const narrowing = conditions.flatMap((condition) => {
    if (condition.kind !== "text" && condition.kind !== "in" && condition.kind !== "contains") return [];
    const { field } = condition;
    return field === "user" ? [compileCondition({ ...condition, field }, contextOf({}, true), "narrow").query] : [];
  });
  return { bool: { filter: [matchAnyValue("log", plan.logs), ...narrowing.flatMap(conjuncts)] } };
}

/** Compiles a plan for the index of words. Returns null if the plan has no condition on words. */
export function compileByWords(
  plan: Pick<ListPlan | GroupPlan, "from" | "logs" | "where">,
  options: CompileOptions = {},
): Compiled | null {
  // Users' copies are few, and have no index of words.
  if (plan.from.kind !== "events" || !hasWordCondition(plan.where)) return null;
  return compileFilter(plan, "words", options);
}

function hasWordCondition(condition: Condition): boolean {
  return someComparison(
    condition,
    // Data is found by its words in any mode.
    (each) =>
      (each.kind === "contains" || each.kind === "matches") && !isDataSearch(each) && requiredWords(each) !== null,
  );
}

/**
 * Position of a condition: whether it is under an odd number of `not`, whether it is in a
 * conjunction or a disjunction, and how deep that is nested.
 */
type ConditionContext = {
  readonly negated: boolean;
  readonly inAnd: boolean;
  readonly depth: number;
  readonly options: CompileOptions;
  /** Whether the records are users' copies, whose data is not in the index of words. */
  readonly isOfCopies: boolean;
};

function contextOf(options: CompileOptions, isOfCopies: boolean): ConditionContext {
  return { negated: false, inAnd: true, depth: 1, options, isOfCopies };
}

/** Compiles a condition by itself, for records of a source that the query of a plan finds. */
export function compileAlone(where: Condition, options: CompileOptions, from: RecordSource["kind"]): Compiled {
  return compileCondition(where, contextOf(options, from !== "events"), "narrow");
}

/** Pushes negations down to the comparisons, so that a wider query stays wider everywhere. */
function compileCondition(condition: Condition, context: ConditionContext, mode: Mode): Compiled {
  if (condition.kind === "and" || condition.kind === "or") return compileMany(condition, context, mode);
  if (condition.kind === "not") {
    return compileCondition(condition.condition, { ...context, negated: !context.negated }, mode);
  }
  const compiled = compileLeaf(condition, context, mode);
  return context.depth + queryDepth(compiled.query) <= MAX_LEVELS ? compiled : { query: ALL, exact: false };
}

type Leaf = Exclude<Condition, { kind: "and" | "or" | "not" }>;

function compileLeaf(condition: Leaf, context: ConditionContext, mode: Mode): Compiled {
  const { negated } = context;
  switch (condition.kind) {
    case "contains":
    case "matches":
      if (isDataSearch(condition)) return compileDataSearch(condition, context, mode);
      return compileExpression(condition as Expression, context, mode);
    case "geo-near": {
      const { query, doubt } = compileNear(condition);
      return withDoubt({ query: negated ? not(query) : query, exact: true }, doubt);
    }
    case "text":
    case "in":
    case "number":
    case "absent":
    case "geo-within":
    case "accepted-after": {
      const query = compileComparison(condition);
      const compiled = { query: negated ? not(query) : query, exact: true };
      return withDoubt(compiled, doubtOfComparison(condition));
    }
  }
  throw condition satisfies never;
}

function doubtOfComparison(condition: Comparison): Query | null {
  return condition.kind === "number" && isAttribute(condition.field) ? lacksNumbers(keyOfField(condition.field)) : null;
}

/** Widens a query to find what the doubt finds. */
function withDoubt({ query, exact }: Compiled, doubt: Query | null): Compiled {
  return doubt === null ? { query, exact } : { query: or([query, doubt]), exact, doubts: [doubt] };
}

function compileMany(
  condition: Extract<Condition, { kind: "and" | "or" }>,
  context: ConditionContext,
  mode: Mode,
): Compiled {
  const inAnd = (condition.kind === "and") !== context.negated;
  const depth = inAnd === context.inAnd ? context.depth : context.depth + 1;
  const parts = condition.conditions.map((part) => compileCondition(part, { ...context, inAnd, depth }, mode));
  const queries = parts.map((part) => part.query);
  const doubts = parts.flatMap((part) => part.doubts ?? []);
  return {
    query: inAnd ? and(queries) : or(queries),
    exact: parts.every((part) => part.exact),
    ...(doubts.length > 0 && { doubts }),
  };
}

type Comparison = Exclude<Leaf, { kind: "contains" | "matches" | "geo-near" }>;

function compileComparison(condition: Comparison): Query {
  switch (condition.kind) {
    case "text":
      if (condition.op === "=") return equal(condition.field, [condition.value]);
      if (isAttribute(condition.field)) {
        return {
          range: { [ATTRIBUTE_PATHS.terms]: textRange(keyOfField(condition.field), condition.op, condition.value) },
        };
      }
      return { range: { [foldedPath(condition.field)]: { [RANGE[condition.op]]: condition.value } } };
    case "in":
      return equal(condition.field, condition.values);
    case "number":
      return compileNumber(condition.field, condition.op, condition.value);
    case "absent":
      return condition.field === "geo" || condition.field === "data"
        ? not({ term: { has: condition.field } })
        : not(exists(condition.field));
    case "geo-within":
      return compileWithin(condition);
    case "accepted-after":
      return { range: { id: { gt: condition.id } } };
  }
  throw condition satisfies never;
}

const RANGE = { "<": "lt", "<=": "lte", ">": "gt", ">=": "gte" } as const;

/** Finds one of several values. "" finds absent values, except for attributes. */
function equal(field: ConditionField, values: readonly string[]): Query {
  if (isAttribute(field)) {
    const key = keyOfField(field);
    return values.length === 0
      ? NOTHING
      : matchAnyValue(
          ATTRIBUTE_PATHS.terms,
          values.map((value) => textTerm(key, value)),
        );
  }
  const present = values.filter((value) => value !== "");
  const terms = present.length === 0 ? [] : [matchAnyValue(foldedPath(field), present)];
  return or(present.length === values.length ? terms : [...terms, not(exists(field))]);
}

function compileNumber(field: ConditionField, op: "=" | keyof typeof RANGE, value: number): Query {
  if (isAttribute(field)) return compileNumberOf(keyOfField(field), op, value);
  if (field !== "created")
    return op === "=" ? { term: { [field]: value } } : { range: { [field]: { [RANGE[op]]: value } } };
  switch (op) {
    case "=":
      return Number.isSafeInteger(value) ? { range: { created: { gte: value, lte: value } } } : NOTHING;
    case "<":
    case ">=":
      return { range: { created: { [RANGE[op]]: toMoment(Math.ceil(value)) } } };
    case "<=":
    case ">":
      return { range: { created: { [RANGE[op]]: toMoment(Math.floor(value)) } } };
  }
  throw op satisfies never;
}

/** Compares the numbers of an attribute. Without columns they are among its terms. */
function compileNumberOf(key: string, op: "=" | keyof typeof RANGE, value: number): Query {
  const path = attributeColumn("numbers", key);
  const byColumn: Query = op === "=" ? { term: { [path]: value } } : { range: { [path]: { [RANGE[op]]: value } } };
  return or([byColumn, { range: { [ATTRIBUTE_PATHS.terms]: numberRange(key, op, value) } }]);
}

/** Clamps a rounded bound to the range of moments, which are whole milliseconds. */
function toMoment(whole: number): number {
  return Math.min(Math.max(whole, -Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
}

/** One on a field that the index holds. */
type Expression = TextSearch & { readonly field: ConditionField };

/**
 * Finds data by its words, which decide for a plain word. Other conditions are tested on the data of
 * each event found, as the index has no column for it.
 */
function compileDataSearch(
  condition: DataSearch,
  { negated, depth, options, isOfCopies }: ConditionContext,
  mode: Mode,
): Compiled {
  const verified = options.verifiedData?.get(nameOfSearch(condition));
  const isShallow = depth <= MAX_DEPTH_OF_WORDS;
  if (verified !== undefined && isShallow) return { query: negated ? not(verified) : verified, exact: true };
  const isIndexed = !isOfCopies && mode !== "broad" && isShallow;
  const { certain, candidates } = findData(condition, isIndexed);
  if (certain === null) return { query: negated ? ALL : candidates, exact: false };
  return withDoubt({ query: negated ? not(certain) : certain, exact: true }, DOUBT_OF_DATA);
}

function compileExpression(condition: Expression, { negated, depth }: ConditionContext, mode: Mode): Compiled {
  const unknown: Compiled = { query: negated ? ALL : exists(condition.field), exact: false };
  if (mode === "broad") return unknown;
  if (mode === "words" && depth <= MAX_DEPTH_OF_WORDS) {
    const words = requiredWords(condition);
    // Without a test of each text, words can confirm a match. They can exclude one only for a
    // plain word.
    if (words !== null && (words.exact || !negated)) {
      const { query, exact } = foundByWords(words, condition);
      if (!negated || exact) return { query: negated ? not(query) : query, exact };
    }
  }
  const regexp = compileRegexp(condition);
  if (negated && !regexp.exact) return unknown;
  return { query: negated ? not(regexp.query) : regexp.query, exact: regexp.exact };
}

/** Characters that an expression may begin with. Elasticsearch 8 refuses paths of 1,000 states. */
const MAX_START_LENGTH = 500;

/** Finds texts by a Lucene expression. */
function compileRegexp(condition: Expression): Compiled {
  const { field } = condition;
  const regexp =
    condition.kind === "contains"
      ? { kind: "exact" as const, on: "folded" as const, expression: containing(condition.value) }
      : luceneRegexpOf(condition);
  if (regexp.expression === null) return { query: NOTHING, exact: true };
  if (regexp.expression.length > MAX_EXPRESSION_LENGTH) return { query: exists(field), exact: false };
  if (isAttribute(field)) {
    // Original texts of attributes are not indexed for expressions.
    if (regexp.on !== "folded") return { query: exists(field), exact: false };
    const start = `${keyOfField(field)}${textTerm("", "")}`;
    if (start.length > MAX_START_LENGTH) return { query: exists(field), exact: false };
    const value = `${start}(${regexp.expression})`;
    return { query: { regexp: { [ATTRIBUTE_PATHS.terms]: { value, flags: "NONE" } } }, exact: regexp.kind === "exact" };
  }
  const path = regexp.on === "folded" ? foldedPath(field) : field;
  const query: Query = { regexp: { [path]: { value: regexp.expression, flags: "NONE" } } };
  return { query, exact: regexp.kind === "exact" };
}

/** Cache: each expression of a plan is translated for Lucene once. */
const luceneCache = new WeakMap<Expression, LuceneRegexp>();

function luceneRegexpOf(expression: Extract<Expression, { kind: "matches" }>): LuceneRegexp {
  const regexp = luceneCache.get(expression) ?? toLuceneRegexp(expression.pattern);
  luceneCache.set(expression, regexp);
  return regexp;
}

/** Queries by words add some levels of nesting to those of conditions. */
const MAX_DEPTH_OF_WORDS = 12;

/**
 * Finds texts by their words. Odd texts are found by the expression. If each text found is tested
 * anyway, all odd texts are included instead: translating the expression and preparing it in Lucene
 * takes milliseconds.
 */
function foundByWords({ condition, exact }: RequiredWords, expression: Expression): Compiled {
  const odd: Query = { term: { has: ODD_TEXT } };
  const byWords = queryOfWords(condition, PATHS_OF_TEXT_WORDS);
  const regexp = exact ? compileRegexp(expression) : null;
  if (regexp === null || !regexp.exact) return { query: or([byWords, odd]), exact: false };
  // Without a test of each text, odd texts must not be found by words.
  const found: Query = { bool: { filter: [byWords], must_not: odd } };
  return { query: or([found, and([odd, regexp.query])]), exact: true };
}

/** Returns the path of a field's folded form. Ids and keys of logs are always folded. */
export function foldedPath(field: ConditionField): string {
  return field === "id" || field === "log" || field === "created" || field === "value" ? field : `folded.${field}`;
}

/** Finds events whose tags name a level of at least a rank from 1 on. */
export function isAtLeast(rank: number): Query {
  return matchAnyValue(foldedPath("tags"), tagsFromRank(rank));
}

/** Finds events that have a field. */
export function exists(field: ConditionField): Query {
  if (isAttribute(field)) return { term: { [ATTRIBUTE_PATHS.keys]: keyOfField(field) } };
  return { exists: { field: foldedPath(field) } };
}
