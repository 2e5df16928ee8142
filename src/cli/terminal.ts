/**
 * What could move a terminal's cursor, change its title or hide text: control characters, and marks
 * that reverse the direction of text.
 */
const UNSAFE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** `text` as it can be shown on a terminal: whatever could steer the terminal becomes visible. */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => {
    if (character === "\n" || character === "\t") return " ";
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

/** The same of a text of several lines, which stay lines. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}

/** Rows under their headings, in columns as wide as they need. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [headings, ...rows].map((row) => row.map(printable));
  const widths = headings.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
