/**
 * A piece of a text as it is shown: as it is, as a match of the query, or as the name of a
 * character that has no form.
 */
export type Piece = { readonly text: string; readonly kind: "plain" | "match" | "control" };

/**
 * Characters that are not seen, or that change the order in which others are: controls, marks of
 * direction, blanks without width, tags, and line breaks. Tabs and what joins emoji are left as they are.
 */
const HIDDEN =
  /\r\n|(?!\t|\u200c|\u200d|[\ufe00-\ufe0f])[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\ufff9-\ufffb]/gu;
const NAMES: ReadonlyMap<string, string> = new Map([
  ["\n", "↵"],
  ["\r\n", "↵"],
]);

/** How a character is named that has no form of its own. */
export function nameOfCharacter(character: string): string {
  return NAMES.get(character) ?? `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Whether a text holds a character that {@link piecesOf} would name. */
export function hidesCharacters(text: string): boolean {
  HIDDEN.lastIndex = 0;
  return HIDDEN.test(text);
}

/**
 * The pieces of a text. Where a match holds a hidden character, that is still named.
 *
 * @param keepLines leaves line breaks and tabs as they are, for texts that are shown with their lines
 */
export function piecesOf(text: string, matches: readonly Match[], { keepLines = false } = {}): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const { start, end } of matches) {
    addPlain(pieces, text.slice(at, start), "plain", keepLines);
    addPlain(pieces, text.slice(start, end), "match", keepLines);
    at = end;
  }
  addPlain(pieces, text.slice(at), "plain", keepLines);
  return pieces;
}

/** A text that hides nothing, as one string: for SVG, names for screen readers and our sentences. */
export function visibleText(text: string): string {
  return text.replace(HIDDEN, (character) => `[${nameOfCharacter(character)}]`);
}

/** Where a text matches, in UTF-16 units, the end exclusive. Matches rise and do not overlap. */
export type Match = { readonly start: number; readonly end: number };

function addPlain(pieces: Piece[], text: string, kind: "plain" | "match", keepLines: boolean): void {
  let at = 0;
  for (const found of text.matchAll(HIDDEN)) {
    const character = found[0];
    if (keepLines && character.endsWith("\n")) continue;
    if (found.index > at) pieces.push({ text: text.slice(at, found.index), kind });
    pieces.push({ text: nameOfCharacter(character), kind: "control" });
    at = found.index + character.length;
  }
  if (at < text.length) pieces.push({ text: text.slice(at), kind });
}
