import { numberOfValue } from "../../../events/attributes.ts";
import type { StoredEvent } from "../../../events/event.ts";
import { isAscii } from "../../../events/ascii.ts";
import { FILTERED_FIELDS } from "../../../events/keywords.ts";
import type { FilteredField } from "../../../events/keywords.ts";
import { fold } from "../../../events/text.ts";
import type { NamedValues } from "../database/attributes.ts";
import type { TokenList } from "./token-list.ts";

/**
 * Tokens of an event for block filters: 30-bit hashes.
 *
 * A query may search for any part of a text, so a text has tokens of its parts: of each three
 * adjacent runs of five folded characters, the one with the smallest hash. A part of at least
 * {@link LEAST_LENGTH} characters has the same three runs, hence tokens that the text has too. That
 * is half as many tokens as runs.
 *
 * Tags, filtered keywords and attribute values are searched as a whole and have a pair of tokens each.
 */
const RUN = 5;
const NEIGHBOURS = 3;
/** Shorter texts have no tokens and cannot be searched in the filters. */
export const LEAST_LENGTH = RUN + NEIGHBOURS - 1;

const ASCII = 0x80;
/** Bits of each character in a run. */
const BITS = 6;
const RUN_MASK = 2 ** (RUN * BITS) - 1;
/** Code of each UTF-16 unit in a run. It ignores case and distinguishes letters and digits. */
const SHORT = Uint8Array.from({ length: 2 ** 16 }, (_, unit) => {
  if (unit >= ASCII) return (unit ^ (unit >>> BITS)) & (2 ** BITS - 1);
  const known = "abcdefghijklmnopqrstuvwxyz0123456789 ".indexOf(String.fromCharCode(unit).toLowerCase());
  return known === -1 ? 37 + (unit % 27) : known;
});
/** Odd, and close to 2^32 divided by the golden ratio. */
const FACTOR = 0x9e3779b1;
/** Buffer of the smallest hashes of three adjacent runs; reused to avoid garbage. */
const LEAST = new Int32Array(1024);
/** Code of each ASCII unit of a whole value: lower case. */
const LOWER = Uint8Array.from({ length: ASCII }, (_, code) => String.fromCharCode(code).toLowerCase().charCodeAt(0));

/** The fields that have tokens, besides attributes. */
export type Indexed = Pick<StoredEvent, "text" | "tags" | FilteredField>;
/** Fields that are searched as a whole. */
export type WholeField = "tags" | FilteredField | `@${string}`;

export function addTokensOfEvent(event: Indexed, attributes: readonly NamedValues[], tokens: TokenList): void {
  addTokensOfText(event.text, tokens);
  for (const tag of event.tags) addTokensOfValue("tags", tag, tokens);
  for (const name of FILTERED_FIELDS) if (event[name] !== "") addTokensOfValue(name, event[name], tokens);
  for (const { name, all } of attributes) {
    for (const value of all) {
      addTokensOfValue(`@${name}`, String(value), tokens);
      const number = numberOfValue(value);
      if (number !== null) addTokensOfNumber(`@${name}`, number, tokens);
    }
  }
}

/** Adds the tokens of a whole value, ignoring case. */
export function addTokensOfValue(field: WholeField, value: string, tokens: TokenList): void {
  addWhole(seedOf(field), value, tokens);
}

/** Adds the tokens of the number that an attribute value is or spells. */
export function addTokensOfNumber(field: `@${string}`, number: number, tokens: TokenList): void {
  // 0 and -0 are equal and have the same text.
  addWhole(~seedOf(field), String(number), tokens);
}

function addWhole(seed: number, value: string, tokens: TokenList): void {
  const hash = hashOfValue(seed, value);
  tokens.add(mixed(hash ^ 0x7feb352d));
  tokens.add(mixed(hash ^ 0x165667b1));
}

const SEEDS: ReadonlyMap<string, number> = new Map(["tags", ...FILTERED_FIELDS].map((name) => [name, hashOn(0, name)]));

/** Returns whether the values of a field of an event have tokens of the whole value. */
export function isWholeField(field: string): field is Exclude<WholeField, `@${string}`> {
  return SEEDS.has(field);
}

/** Returns the seed of a field. Names of attributes are case-sensitive. */
function seedOf(field: WholeField): number {
  return SEEDS.get(field) ?? hashOn(0, field);
}

function hashOfValue(seed: number, value: string): number {
  let hash = seed;
  for (let i = 0; i < value.length; i++) {
    const unit = value.charCodeAt(i);
    if (unit >= ASCII) return hashOn(seed, fold(value));
    hash = hashUnit(hash, LOWER[unit]!);
  }
  return hash;
}

function hashOn(seed: number, folded: string): number {
  let hash = seed;
  for (let i = 0; i < folded.length; i++) hash = hashUnit(hash, folded.charCodeAt(i));
  return hash;
}

function hashUnit(hash: number, unit: number): number {
  return Math.imul(hash ^ unit, FACTOR) ^ (hash >>> 15);
}

/** Adds the tokens of a text; none for fewer than {@link LEAST_LENGTH} units. */
export function addTokensOfText(text: string, tokens: TokenList): void {
  const folded = isAscii(text) ? text : fold(text.toWellFormed());
  let run = 0;
  // The hash of the previous run, and the smaller one of the last two.
  let previous = 0;
  let leastOfTwo = 0;
  for (let from = 0; from < folded.length; from += LEAST.length) {
    const to = Math.min(folded.length, from + LEAST.length);
    for (let i = from; i < to; i++) {
      run = ((run << BITS) | SHORT[folded.charCodeAt(i)]!) & RUN_MASK;
      const hash = hashOfRun(run);
      LEAST[i - from] = lesser(hash, leastOfTwo);
      leastOfTwo = lesser(hash, previous);
      previous = hash;
    }
    // Before this position there are fewer than three runs.
    tokens.addSome(LEAST, from === 0 ? LEAST_LENGTH - 1 : 0, to - from);
  }
}

/** Hashes a run. The upper bits, which comparisons depend on, depend on all characters. */
function hashOfRun(run: number): number {
  const product = Math.imul(run, FACTOR);
  return (product ^ (product >>> 15)) >>> 2;
}

/** Returns the smaller of two 30-bit numbers, without a branch that would often be mispredicted. */
function lesser(one: number, other: number): number {
  const difference = one - other;
  return other + (difference & (difference >> 31));
}

function mixed(hash: number): number {
  let value = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  value = Math.imul(value ^ (value >>> 15), 0x846ca68b);
  return (value ^ (value >>> 16)) >>> 2;
}
