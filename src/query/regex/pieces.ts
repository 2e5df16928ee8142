/** A lexical unit of an expression: a character, an escape, a bracket, or a quoted text. */
type Piece = {
  readonly text: string;
  /** UTF-16 offset of its start. */
  readonly at: number;
  readonly inClass: boolean;
  /** The property of characters that it names, and whether it is negated. */
  readonly property: { readonly name: string; readonly negated: boolean } | null;
};

const PROPERTY = /\\(?<sign>[pP])(?:\{(?<caret>\^?)(?<name>[^}]*)\}|(?<letter>[A-Z]))?/y;
const PIECES = [
  // Everything up to \E is literal.
  /\\Q[^]*?(?:\\E|$)/y,
  PROPERTY,
  /\\[^]/y,
  /(?<classStart>\[\^?\]?)/y,
  /[^]/y,
];
const CLASS_PIECES = [PROPERTY, /\\[^]/y, /\[:\^?\w+:\]/y, /(?<classEnd>\])/y, /[^]/y];

/** Splits an expression as far as groups, classes and properties need. Never fails: RE2 judges. */
export function* regexPieces(source: string): Generator<Piece> {
  let inClass = false;
  let at = 0;
  while (at < source.length) {
    const [text, groups] = firstMatch(inClass ? CLASS_PIECES : PIECES, source, at);
    const { sign, caret = "", name, letter = "", classStart, classEnd } = groups;
    const property = sign === undefined ? null : { name: name ?? letter, negated: (sign === "P") !== (caret !== "") };
    yield { text, at, inClass, property };
    if (classStart !== undefined) inClass = true;
    else if (classEnd !== undefined) inClass = false;
    at += text.length;
  }
}

/**
 * Rewrites an expression such that re2js reads it as RE2 does. For RE2, `\pC` contains controls,
 * formats, surrogates and private use; for re2js also unassigned code points.
 */
export function toRe2Semantics(source: string): string {
  if (!/\\[pP]\{?\^?C/.test(source)) return source;
  let rewritten = "";
  for (const { text, inClass, property } of regexPieces(source)) {
    if (property?.name !== "C") rewritten += text;
    else {
      const ranges = property.negated ? String.raw`\PC\p{Cn}` : String.raw`\p{Cc}\p{Cf}\p{Cs}\p{Co}`;
      rewritten += inClass ? ranges : `[${ranges}]`;
    }
  }
  return rewritten;
}

function firstMatch(
  pieces: readonly RegExp[],
  source: string,
  at: number,
): [string, Readonly<Record<string, string | undefined>>] {
  for (const piece of pieces) {
    piece.lastIndex = at;
    const found = piece.exec(source);
    if (found !== null) return [found[0], found.groups ?? {}];
  }
  throw new RangeError("a piece matches any character");
}
