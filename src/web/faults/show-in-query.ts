/** Gives the query's field the focus, with the word selected that a fault names by line and column. */
export function showInQuery(fault: string, asked: string): void {
  const field = document.querySelector<HTMLTextAreaElement | HTMLInputElement>(".ask textarea, .ask input");
  field?.focus();
  const [, line, column] = /^Line (\d+), column (\d+)/.exec(fault) ?? [];
  // What was typed meanwhile has other places.
  if (!(field instanceof HTMLTextAreaElement) || line === undefined || field.value !== asked) return;
  const { start, end } = wordAt(asked, Number(line), Number(column));
  field.setSelectionRange(start, end);
}

/** The word that begins at a place. Lines and columns count from 1, columns in characters. */
export function wordAt(text: string, line: number, column: number): { readonly start: number; readonly end: number } {
  const before = text
    .split(/(?<=\r\n|\n|\r(?!\n))/)
    .slice(0, line - 1)
    .join("").length;
  const start =
    before +
    Array.from(text.slice(before))
      .slice(0, column - 1)
      .join("").length;
  const length = /^(?:'[^']*'|[^\s(),]+|.)?/.exec(text.slice(start))![0].length;
  return { start, end: start + length };
}
