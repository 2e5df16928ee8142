const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)$/;
/** Text that spreadsheets run as a formula, also after spaces and invisible characters. */
const FORMULA = /^[\s\p{Cc}\p{Cf}]*[=+\-@]/u;
const QUOTED = /[",\r\n]/;

/**
 * Formats a CSV row (RFC 4180). An apostrophe is put before text that a spreadsheet would run;
 * numbers stay unchanged.
 */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

function csvCell(text: string): string {
  const safe = FORMULA.test(text) && !NUMBER.test(text.trim()) ? `'${text}` : text;
  return QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
