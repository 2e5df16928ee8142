import { numberOfValue } from "../../../events/attributes.ts";
import type { AttributeValue } from "../../../events/attributes.ts";
import type { StoredEvent } from "../../../events/event.ts";
import { isAscii } from "../../../events/ascii.ts";
import { fold } from "../../../events/text.ts";
import type { TokenList } from "./token-list.ts";

/**
 * What the filter of a block knows of an event: tokens, which are hashes of 32 bits.
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

/** Of each character of a run. */
const BITS = 6;
const RUN_MASK = 2 ** (RUN * BITS) - 1;
/** What is left of each character of ASCII in a run: letters without their case and digits are told apart. */
const SHORT = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code).toLowerCase();
  const known = "abcdefghijklmnopqrstuvwxyz0123456789 ".indexOf(character);
  return known === -1 ? 37 + (code % 27) : known;
});
const BASE = 0x01000193;
const UPPER_A = 0x41;
const UPPER_Z = 0x5a;

/** The fields of an event of which there are tokens. */
export type Indexed = Pick<StoredEvent, "text" | "tags" | "source" | "user" | "attributes">;
/** What is asked for as a whole. */
export type WholeField = "tags" | "source" | "user" | `@${string}`;

export function addTokensOfEvent({ text, tags, source, user, attributes }: Indexed, tokens: TokenList): void {
  addTokensOfText(text, tokens);
  for (const tag of tags) addTokensOfValue("tags", tag, tokens);
  if (source !== "") addTokensOfValue("source", source, tokens);
  if (user !== "") addTokensOfValue("user", user, tokens);
  if (attributes !== null) addTokensOfAttributes(attributes, tokens);
}

function addTokensOfAttributes(attributes: string, tokens: TokenList): void {
  const object = JSON.parse(attributes) as Record<string, AttributeValue | readonly AttributeValue[]>;
  for (const [name, several] of Object.entries(object)) {
    for (const value of Array.isArray(several) ? (several as readonly AttributeValue[]) : [several as AttributeValue]) {
      addTokensOfValue(`@${name}`, String(value), tokens);
      const number = numberOfValue(value);
      if (number !== null) addTokensOfNumber(`@${name}`, number, tokens);
    }
  }
}

/** Of a whole value, in whatever case. */
export function addTokensOfValue(field: WholeField, value: string, tokens: TokenList): void {
  addWhole(field, 0, value, tokens);
}

/** The number that a value of an attribute is, or spells. */
export function addTokensOfNumber(field: `@${string}`, number: number, tokens: TokenList): void {
  // -0 and 0 are equal, and are written the same.
  addWhole(field, 1, String(number), tokens);
}

function addWhole(field: WholeField, kind: number, value: string, tokens: TokenList): void {
  const hash = hashOn(hashOn(kind, field), isAscii(value) ? value : fold(value));
  tokens.add(mixed(hash ^ 0x7feb352d));
  tokens.add(mixed(hash ^ 0x165667b1));
}

/** Attributes' names mind case, and collide here with those that do not. */
function hashOn(start: number, text: string): number {
  let hash = start;
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, BASE) ^ lower(text.charCodeAt(i))) | 0;
  return Math.imul(hash, BASE) ^ text.length;
}

function lower(unit: number): number {
  return unit >= UPPER_A && unit <= UPPER_Z ? unit | 0x20 : unit;
}

/** Nothing for a text of fewer than {@link LEAST_LENGTH} units. */
export function addTokensOfText(text: string, tokens: TokenList): void {
  const folded = isAscii(text) ? text : fold(text.toWellFormed());
  let run = 0;
  // Of the runs that end at this unit, at the one before, and at the one before that.
  let [third, second, first] = [0, 0, 0];
  let added = 0;
  let isAny = false;
  for (let i = 0; i < folded.length; i++) {
    run = ((run << BITS) | short(folded.charCodeAt(i))) & RUN_MASK;
    third = second;
    second = first;
    first = mixed(run);
    if (i < LEAST_LENGTH - 1) continue;
    const less = second < third ? second : third;
    const least = first < less ? first : less;
    if (least === added && isAny) continue;
    tokens.add(least);
    added = least;
    isAny = true;
  }
}

function short(unit: number): number {
  return unit < SHORT.length ? SHORT[unit]! : (unit ^ (unit >>> 6)) & (2 ** BITS - 1);
}

function mixed(hash: number): number {
  let value = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  value = Math.imul(value ^ (value >>> 15), 0x846ca68b);
  return value ^ (value >>> 16);
}
