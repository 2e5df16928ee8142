const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)$/;
/** What spreadsheets take for a formula, also behind white space and invisible characters, which some leave out. */
const FORMULA = /^[\s\p{Cc}\p{Cf}]*[=+\-@]/u;
const QUOTED = /[",\r\n]/;

/**
 * A row of CSV as RFC 4180 has it. What a spreadsheet would run gets an apostrophe in front; numbers
 * stay.
 */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

function csvCell(text: string): string {
  const safe = FORMULA.test(text) && !NUMBER.test(text.trim()) ? `'${text}` : text;
  return QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
