/**
 * The form in which strings are compared, ordered and looked up, "ignoring case": each code point
 * folded by itself. Two code points have one form where Unicode's simple case folding
 * (CaseFolding.txt, status C and S) says so, which is also when RE2 takes one for the other
 * ignoring case: containing a text means the same folded as it does by expression. Both engines
 * store and compare this form, made here, so that neither engine's own idea of lower case matters.
 */
export function fold(text: string): string {
  // Most tags and sources. (Without it, `toLowerCase` makes a copy first.)
  // oxlint-disable-next-line no-control-regex
  if (/^[\x00-@[-\x7f]*$/.test(text)) return text;
  // oxlint-disable-next-line no-control-regex
  if (/^[\x00-\x7f]*$/.test(text)) return text.toLowerCase();
  let folded = "";
  for (const character of text) folded += foldCharacter(character);
  return folded;
}

/** Where upper and then lower case does not do what simple case folding does. */
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

/** The first `count` characters (Unicode code points) of a text, or all where it has no more. */
export function firstCharacters(text: string, count: number): string {
  if (text.length <= count) return text;
  let end = 0;
  for (let taken = 0; taken < count && end < text.length; taken++) end += text.codePointAt(end)! > 0xffff ? 2 : 1;
  return text.slice(0, end);
}

/** Length in code points, without building them where the units tell enough. */
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

/** Orders two strings by code point, as both engines order UTF-8 (JavaScript's own order is by UTF-16 unit). */
export function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return surrogateLast(x) - surrogateLast(y);
  }
  return a.length - b.length;
}

/** Moves surrogates above the rest of the basic plane: every code point that needs them is larger. */
function surrogateLast(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit >= 0xe000 ? unit - 0x800 : unit + 0x2000;
}

/** Text as every engine can hold it: lone surrogates, which UTF-8 cannot say, become U+FFFD. */
export function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed();
}
