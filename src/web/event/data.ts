/** Lines of data that are shown until more are asked for. */
const SHOWN = 16;
/** Fewer lines than these are not worth a fold. */
const WORTH = 3;
/** Characters of data that are shown until more are asked for: one line may be as long as all. */
const SHOWN_CHARACTERS = 4_000;

export type FoldedData = { readonly shown: string; readonly moreLines: number };

/** Data to be shown as a page begins so. */
const HTML = /^@html[ \t]*\r?\n/i;

export function isHtml(data: string): boolean {
  return HTML.test(data);
}

/** The first lines of a text, and how many more there are. */
export function foldData(data: string): FoldedData {
  const lines = data.split("\n");
  const trailing = lines.at(-1) === "" ? 1 : 0;
  const count = lines.length - trailing;
  if (count <= SHOWN + WORTH && data.length <= SHOWN_CHARACTERS) return { shown: data, moreLines: 0 };
  let shown = lines.slice(0, SHOWN).join("\n");
  if (shown.length > SHOWN_CHARACTERS) shown = cut(shown, SHOWN_CHARACTERS);
  return { shown, moreLines: Math.max(1, count - shown.split("\n").length) };
}

/** Cuts a text without parting a character of two units. */
function cut(text: string, length: number): string {
  const unit = text.charCodeAt(length - 1);
  return text.slice(0, unit >= 0xd800 && unit < 0xdc00 ? length - 1 : length);
}
