/**
 * Characters that could move the cursor, change the terminal's title or hide text: control
 * characters and bidirectional controls.
 */
const UNSAFE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** Escapes text for a terminal, so that it cannot control the terminal. */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => {
    if (character === "\n" || character === "\t") return " ";
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

/** Like `printable`, for text of several lines. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}

/** Widest column that shorter cells are padded to. */
const MOST_PADDED = 160;

/** Formats rows under headings, in columns as wide as needed. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [headings, ...rows].map((row) => row.map(printable));
  const widths = headings.map((_, column) =>
    Math.min(MOST_PADDED, Math.max(...cells.map((row) => row[column]?.length ?? 0))),
  );
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
