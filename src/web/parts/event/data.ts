import { cutText } from "../text/visible-text.ts";

/** Lines of data shown initially. */
const SHOWN = 16;
/** Fewer further lines than this are not folded. */
const WORTH = 3;
/** Characters of data shown initially, since one line may be very long. */
const SHOWN_CHARACTERS = 4_000;

export type FoldedData = { readonly shown: string; readonly moreLines: number };

/** First line of data that is shown as a page. */
const HTML = /^@html[ \t]*\r?\n/i;

export function isHtml(data: string): boolean {
  return HTML.test(data);
}

/** Returns the first lines of a text and the number of further lines. */
export function foldData(data: string): FoldedData {
  const lines = data.split("\n");
  const trailing = lines.at(-1) === "" ? 1 : 0;
  const count = lines.length - trailing;
  if (count <= SHOWN + WORTH && data.length <= SHOWN_CHARACTERS) return { shown: data, moreLines: 0 };
  let shown = lines.slice(0, SHOWN).join("\n");
  if (shown.length > SHOWN_CHARACTERS) shown = cutText(shown, SHOWN_CHARACTERS);
  return { shown, moreLines: Math.max(1, count - shown.split("\n").length) };
}
