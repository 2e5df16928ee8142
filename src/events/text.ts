/**
 * Folds the case of a text, as it is compared, ordered and looked up when case is ignored. Code
 * points are folded one by one by Unicode's simple case folding (CaseFolding.txt, status C and S),
 * as RE2 does, so that text searches and expressions agree. Both engines store and compare the
 * folded text, so their own notions of lower case do not matter.
 */
export function fold(text: string): string {
  // Covers most tags and sources, for which `toLowerCase` would copy the text.
  // oxlint-disable-next-line no-control-regex
  if (/^[\x00-@[-\x7f]*$/.test(text)) return text;
  // oxlint-disable-next-line no-control-regex
  if (/^[\x00-\x7f]*$/.test(text)) return text.toLowerCase();
  let folded = "";
  for (const character of text) folded += foldCharacter(character);
  return folded;
}

/** Code points for which upper and then lower case differs from simple case folding. */
const EXCEPTIONS: ReadonlyMap<string, string> = new Map([
  ["\u0131", "\u0131"], // dotless i is no i
  ["\u1fd3", "\u0390"], // iota with dialytika and oxia, or tonos
  ["\u1fe3", "\u03b0"], // upsilon with dialytika and oxia, or tonos
  ["\ufb05", "\ufb06"], // ligatures of long s or s, and t
]);

function foldCharacter(character: string): string {
  const exception = EXCEPTIONS.get(character);
  if (exception !== undefined) return exception;
  const upper = character.toUpperCase();
  const base = isOneCodePoint(upper) ? upper : character;
  const lower = base.toLowerCase();
  return isOneCodePoint(lower) ? lower : base;
}

function isOneCodePoint(text: string): boolean {
  const first = text.codePointAt(0);
  return first !== undefined && text.length === (first > 0xffff ? 2 : 1);
}

/** Returns at most the first `count` characters (Unicode code points) of a text. */
export function firstCharacters(text: string, count: number): string {
  if (text.length <= count) return text;
  let end = 0;
  for (let taken = 0; taken < count && end < text.length; taken++) end += text.codePointAt(end)! > 0xffff ? 2 : 1;
  return text.slice(0, end);
}

/** Returns the length in code points, without creating them. */
export function characters(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0xd800 && unit < 0xdc00) {
      count -= 1;
      i += 1;
    }
  }
  return count;
}

/** Orders strings by code point, as both engines order UTF-8. JavaScript orders by UTF-16 unit. */
export function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return surrogateLast(x) - surrogateLast(y);
  }
  return a.length - b.length;
}

/** Moves surrogates above the rest of the basic plane, as code points that need them are larger. */
function surrogateLast(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit >= 0xe000 ? unit - 0x800 : unit + 0x2000;
}

/**
 * Replaces lone surrogates, which UTF-8 cannot express, by U+FFFD, so that every engine can store
 * the text.
 */
export function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed();
}

/** Returns whether a position lies between the two units of a code point. */
export function isWithinPair(text: string, at: number): boolean {
  return at > 0 && at < text.length && text.codePointAt(at - 1)! > 0xffff;
}
