/**
 * A piece of a displayed text: plain, a match of the query, or the name of an invisible character.
 */
export type TextPiece = { readonly text: string; readonly kind: "plain" | "match" | "control" };

/**
 * Characters that are invisible or change the order of others: controls, direction marks,
 * zero-width spaces, tags and line breaks. Tabs and the characters that join emoji are left as they
 * are.
 */
const HIDDEN =
  /\r\n|(?!\t|\u200c|\u200d|[\ufe00-\ufe0f])[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\ufff9-\ufffb]/gu;
const NAMES: ReadonlyMap<string, string> = new Map([
  ["\n", "↵"],
  ["\r\n", "↵"],
]);

/** Returns the visible name of an invisible character. */
export function nameOfCharacter(character: string): string {
  return NAMES.get(character) ?? `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Reports whether a text contains a character that {@link visiblePieces} replaces by its name. */
export function hidesCharacters(text: string): boolean {
  HIDDEN.lastIndex = 0;
  return HIDDEN.test(text);
}

/**
 * Splits a text into pieces. Invisible characters within a match are replaced by their names too.
 *
 * @param keepLines keeps line breaks and tabs, for texts that are shown with their lines
 */
export function visiblePieces(text: string, matches: readonly MatchSpan[], { keepLines = false } = {}): TextPiece[] {
  const pieces: TextPiece[] = [];
  let at = 0;
  for (const { start, end } of matches) {
    addPlain(pieces, text.slice(at, start), "plain", keepLines);
    addPlain(pieces, text.slice(start, end), "match", keepLines);
    at = end;
  }
  addPlain(pieces, text.slice(at), "plain", keepLines);
  return pieces;
}

/** Most characters of a text in a row, which has room for fewer. Layout takes time for each. */
export const ROW_CHARACTERS = 1_000;

/** Cuts a text without splitting a surrogate pair. */
export function cutText(text: string, length = ROW_CHARACTERS): string {
  const unit = text.charCodeAt(length - 1);
  return text.slice(0, unit >= 0xd800 && unit < 0xdc00 ? length - 1 : length);
}

/** Returns a text with invisible characters named, as one string: for SVG, labels and messages. */
export function visibleText(text: string): string {
  return text.replace(HIDDEN, (character) => `[${nameOfCharacter(character)}]`);
}

/** The span of a match in UTF-16 units, end exclusive. Matches ascend and do not overlap. */
export type MatchSpan = { readonly start: number; readonly end: number };

function addPlain(pieces: TextPiece[], text: string, kind: "plain" | "match", keepLines: boolean): void {
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
