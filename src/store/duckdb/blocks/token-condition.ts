import { fold } from "../../../events/text.ts";
import { isAttribute } from "../../../query/plan.ts";
import type { Condition } from "../../../query/plan.ts";
import { requiredTexts } from "../../../query/required-texts.ts";
import type { RequiredText } from "../../../query/required-texts.ts";
import type { Requirement } from "../../../query/requirements.ts";
import type { TokenSet } from "./token-filter.ts";
import { TokenList } from "./token-list.ts";
import { addTokensOfNumber, addTokensOfText, addTokensOfValue, isWholeField, LEAST_LENGTH } from "./tokens.ts";

/** A condition on the tokens of events, implied by a condition on the events. */
export type TokenCondition =
  | { readonly kind: "all" | "any"; readonly parts: readonly TokenCondition[] }
  /** All of these tokens are present. */
  | { readonly kind: "tokens"; readonly tokens: readonly number[] };

/** Size of the table of recent tokens. A query has few tokens. */
const RECENT = 64;

/**
 * Compiles a condition to one on tokens. Invariant: the tokens of each event that meets `where`
 * meet the result.
 * @returns null if the condition implies nothing about tokens
 */
export function tokenCondition(where: Condition): TokenCondition | null {
  switch (where.kind) {
    case "and":
      return all(where.conditions.map(tokenCondition));
    case "or":
      return any(where.conditions.map(tokenCondition));
    case "not":
    case "absent":
    case "geo-within":
    case "geo-near":
    case "accepted-after":
      return null;
    case "text":
      return where.op === "=" ? equals(where.field, where.value) : null;
    case "in":
      return any(where.values.map((value) => equals(where.field, value)));
    case "number": {
      const { field, op, value } = where;
      return op === "=" && isAttribute(field) ? tokens((list) => addTokensOfNumber(field, value, list)) : null;
    }
    case "contains":
      return where.field === "text" ? containsText(fold(where.value)) : null;
    case "matches":
      return where.field === "text" ? matchesText(where.pattern) : null;
  }
  throw new TypeError(`The plan has an unknown part: ${JSON.stringify(where satisfies never)}`);
}

/** Returns whether a block with this filter may hold events that meet the condition. */
export function mayMeet(filter: TokenSet, condition: TokenCondition): boolean {
  switch (condition.kind) {
    case "all":
      return condition.parts.every((part) => mayMeet(filter, part));
    case "any":
      return condition.parts.some((part) => mayMeet(filter, part));
    case "tokens":
      return condition.tokens.every((token) => filter.mayHold(token));
  }
  throw new TypeError(`Unknown condition on tokens: ${JSON.stringify(condition satisfies never)}`);
}

/** @param value folded */
function equals(field: string, value: string): TokenCondition | null {
  if (field === "text") return containsText(value);
  if (isAttribute(field)) return tokens((list) => addTokensOfValue(field, value, list));
  // Equality with "" matches an absent field, which has no tokens.
  if (value === "" || !isWholeField(field)) return null;
  return tokens((list) => addTokensOfValue(field, value, list));
}

/** @param text folded */
function containsText(text: string): TokenCondition | null {
  return text.length < LEAST_LENGTH ? null : tokens((list) => addTokensOfText(text, list));
}

function matchesText(pattern: string): TokenCondition | null {
  const required = requiredTexts(pattern, LEAST_LENGTH);
  return required === null ? null : ofTexts(required);
}

function ofTexts(required: Requirement<RequiredText>): TokenCondition {
  if (required.kind === "contains") return tokens((list) => addTokensOfText(required.text, list));
  return { kind: required.kind, parts: required.parts.map(ofTexts) };
}

function tokens(addTo: (list: TokenList) => void): TokenCondition {
  const list = new TokenList(RECENT);
  addTo(list);
  const found: number[] = [];
  found.push(...list.tokens);
  return { kind: "tokens", tokens: found };
}

function all(parts: readonly (TokenCondition | null)[]): TokenCondition | null {
  const known = parts.filter((part) => part !== null);
  return known.length === 0 ? null : { kind: "all", parts: known };
}

/** An empty `any` is met by nothing. */
function any(parts: readonly (TokenCondition | null)[]): TokenCondition | null {
  const known = parts.filter((part) => part !== null);
  return known.length < parts.length ? null : { kind: "any", parts: known };
}
