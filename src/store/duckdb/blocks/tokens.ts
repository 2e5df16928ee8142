import { numberOfValue } from "../../../events/attributes.ts";
import type { StoredEvent } from "../../../events/event.ts";
import { isAscii } from "../../../events/ascii.ts";
import { fold } from "../../../events/text.ts";
import type { NamedValues } from "../attributes.ts";
import type { TokenList } from "./token-list.ts";

/**
 * What the filter of a block knows of an event: tokens, which are hashes of 30 bits.
 *
 * A text is asked for by any part of it, so its tokens are of parts: of each three neighbouring runs of five
 * characters, folded, the one with the least hash. Whatever text of {@link LEAST_LENGTH} characters or
 * more it contains has the same three neighbours somewhere, and so tokens that the text has as well.
 * That is half as many tokens as there are runs.
 *
 * Tags, the source, the user and values of attributes are asked for as a whole, and are a pair of tokens each.
 */
const RUN = 5;
const NEIGHBOURS = 3;
/** Shorter texts have no tokens, and cannot be asked for. */
export const LEAST_LENGTH = RUN + NEIGHBOURS - 1;

const ASCII = 0x80;
/** Of each character of a run. */
const BITS = 6;
const RUN_MASK = 2 ** (RUN * BITS) - 1;
/** What is left of each unit in a run: letters without their case and digits are told apart. */
const SHORT = Uint8Array.from({ length: 2 ** 16 }, (_, unit) => {
  if (unit >= ASCII) return (unit ^ (unit >>> BITS)) & (2 ** BITS - 1);
  const known = "abcdefghijklmnopqrstuvwxyz0123456789 ".indexOf(String.fromCharCode(unit).toLowerCase());
  return known === -1 ? 37 + (unit % 27) : known;
});
/** Odd, and near the golden section of 2^32. */
const FACTOR = 0x9e3779b1;
/** The least of each three neighbours: always in the same memory. */
const LEAST = new Int32Array(1024);
/** What is left of each unit of a whole value. */
const LOWER = Uint8Array.from({ length: ASCII }, (_, code) => String.fromCharCode(code).toLowerCase().charCodeAt(0));

/** The fields of an event of which there are tokens, beside its attributes. */
export type Indexed = Pick<StoredEvent, "text" | "tags" | "source" | "user">;
/** What is asked for as a whole. */
export type WholeField = "tags" | "source" | "user" | `@${string}`;

export function addTokensOfEvent(
  { text, tags, source, user }: Indexed,
  attributes: readonly NamedValues[],
  tokens: TokenList,
): void {
  addTokensOfText(text, tokens);
  for (const tag of tags) addTokensOfValue("tags", tag, tokens);
  if (source !== "") addTokensOfValue("source", source, tokens);
  if (user !== "") addTokensOfValue("user", user, tokens);
  for (const { name, all } of attributes) {
    for (const value of all) {
      addTokensOfValue(`@${name}`, String(value), tokens);
      const number = numberOfValue(value);
      if (number !== null) addTokensOfNumber(`@${name}`, number, tokens);
    }
  }
}

/** Of a whole value, in whatever case. */
export function addTokensOfValue(field: WholeField, value: string, tokens: TokenList): void {
  addWhole(seedOf(field), value, tokens);
}

/** The number that a value of an attribute is, or spells. */
export function addTokensOfNumber(field: `@${string}`, number: number, tokens: TokenList): void {
  // -0 and 0 are equal, and are written the same.
  addWhole(~seedOf(field), String(number), tokens);
}

function addWhole(seed: number, value: string, tokens: TokenList): void {
  const hash = hashOfValue(seed, value);
  tokens.add(mixed(hash ^ 0x7feb352d));
  tokens.add(mixed(hash ^ 0x165667b1));
}

const TAGS_SEED = hashOn(0, "tags");
const SOURCE_SEED = hashOn(0, "source");
const USER_SEED = hashOn(0, "user");

/** Names of attributes mind case. */
function seedOf(field: WholeField): number {
  if (field === "tags") return TAGS_SEED;
  if (field === "source") return SOURCE_SEED;
  if (field === "user") return USER_SEED;
  return hashOn(0, field);
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

/** Nothing for a text of fewer than {@link LEAST_LENGTH} units. */
export function addTokensOfText(text: string, tokens: TokenList): void {
  const folded = isAscii(text) ? text : fold(text.toWellFormed());
  let run = 0;
  // Of the run that ends at the unit before, and the least of it and the one before that.
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
    // Before that there are no three.
    tokens.addSome(LEAST, from === 0 ? LEAST_LENGTH - 1 : 0, to - from);
  }
}

/** Its upper bits, by which hashes are compared, depend on all characters. */
function hashOfRun(run: number): number {
  const product = Math.imul(run, FACTOR);
  return (product ^ (product >>> 15)) >>> 2;
}

/** Of numbers of 30 bits, without a branch: half of those would be foreseen wrongly. */
function lesser(one: number, other: number): number {
  const difference = one - other;
  return other + (difference & (difference >> 31));
}

function mixed(hash: number): number {
  let value = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  value = Math.imul(value ^ (value >>> 15), 0x846ca68b);
  return (value ^ (value >>> 16)) >>> 2;
}
