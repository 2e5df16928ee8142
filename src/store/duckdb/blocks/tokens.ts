import { numberOfValue } from "../../../events/attributes.ts";
import type { AttributeValue } from "../../../events/attributes.ts";
import type { StoredEvent } from "../../../events/event.ts";
import { isAscii } from "../../../events/ascii.ts";
import { fold } from "../../../events/text.ts";

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

const BASE = 0x01000193;
/** BASE to the power of RUN: takes the character that leaves a run out of its hash. */
const LEAVING = Array.from({ length: RUN }).reduce<number>((power) => Math.imul(power, BASE), 1);
const UPPER_A = 0x41;
const UPPER_Z = 0x5a;

export type Add = (token: number) => void;
/** The fields of an event of which there are tokens. */
export type Indexed = Pick<StoredEvent, "text" | "tags" | "source" | "user" | "attributes">;
/** What is asked for as a whole. */
export type WholeField = "tags" | "source" | "user" | `@${string}`;

export function addTokensOfEvent({ text, tags, source, user, attributes }: Indexed, add: Add): void {
  addTokensOfText(text, add);
  for (const tag of tags) addTokensOfValue("tags", fold(tag), add);
  if (source !== "") addTokensOfValue("source", fold(source), add);
  if (user !== "") addTokensOfValue("user", fold(user), add);
  if (attributes !== null) addTokensOfAttributes(attributes, add);
}

function addTokensOfAttributes(attributes: string, add: Add): void {
  const object = JSON.parse(attributes) as Record<string, AttributeValue | readonly AttributeValue[]>;
  for (const [name, several] of Object.entries(object)) {
    for (const value of Array.isArray(several) ? (several as readonly AttributeValue[]) : [several as AttributeValue]) {
      addTokensOfValue(`@${name}`, fold(String(value)), add);
      const number = numberOfValue(value);
      if (number !== null) addTokensOfNumber(`@${name}`, number, add);
    }
  }
}

/** @param folded the whole value */
export function addTokensOfValue(field: WholeField, folded: string, add: Add): void {
  addWhole(`${field}\n${folded}`, add);
}

/** The number that a value of an attribute is, or spells. */
export function addTokensOfNumber(field: `@${string}`, number: number, add: Add): void {
  // -0 and 0 are equal, and are written the same.
  addWhole(`#${field}\n${number}`, add);
}

function addWhole(value: string, add: Add): void {
  let hash = 0;
  for (let i = 0; i < value.length; i++) hash = (Math.imul(hash, BASE) + value.charCodeAt(i) + 1) | 0;
  add(mixed(hash ^ 0x7feb352d));
  add(mixed(hash ^ 0x165667b1));
}

/** Nothing for a text of fewer than {@link LEAST_LENGTH} units. */
export function addTokensOfText(text: string, add: Add): void {
  const folded = isAscii(text) ? text : fold(text.toWellFormed());
  let hash = 0;
  // Of the runs that end at this unit, at the one before, and at the one before that.
  let [third, second, first] = [0, 0, 0];
  let added = -1;
  for (let i = 0; i < folded.length; i++) {
    hash = (Math.imul(hash, BASE) + lower(folded.charCodeAt(i)) + 1) | 0;
    if (i >= RUN) hash = (hash - Math.imul(lower(folded.charCodeAt(i - RUN)) + 1, LEAVING)) | 0;
    if (i < RUN - 1) continue;
    third = second;
    second = first;
    first = mixed(hash);
    if (i < LEAST_LENGTH - 1) continue;
    const least = Math.min(first, second, third);
    if (least !== added) add(least);
    added = least;
  }
}

function lower(unit: number): number {
  return unit >= UPPER_A && unit <= UPPER_Z ? unit | 0x20 : unit;
}

function mixed(hash: number): number {
  let value = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  value = Math.imul(value ^ (value >>> 15), 0x846ca68b);
  return (value ^ (value >>> 16)) >>> 0;
}
