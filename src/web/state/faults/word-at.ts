/** Returns the word at a position. Lines and columns start at 1; columns count characters. */
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
