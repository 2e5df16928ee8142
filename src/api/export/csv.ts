const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)$/;
/** Characters that begin a formula, also in the full-width and small forms of East Asian input. */
const SIGNS = "=+\\-@\uFF1D\uFF0B\uFF0D\uFF20\uFE66\uFE62\uFE63\uFE6B";
/** What spreadsheets skip before a formula: spaces, invisible characters, and quotes. */
const SKIPPED = String.raw`[\s\p{Cc}\p{Cf}"]*`;
/** The beginning of a text that spreadsheets run as a formula. */
const FORMULA = new RegExp(String.raw`^[\s\p{Cc}\p{Cf}]*[${SIGNS}]`, "u");
/**
 * A formula after a character that begins a new cell or row where semicolons or tabs separate cells:
 * such a spreadsheet does not heed the quotes of a cell between commas. The lookahead comes first, so
 * that the search takes linear time.
 */
const LATER_FORMULA = new RegExp(String.raw`(?=[${SIGNS}])(?<=[;\t\r\n]${SKIPPED})[${SIGNS}][^;\t\r\n]*`, "gu");
const SEPARATOR = /[;\t\r\n]/;
const QUOTED = /[",\r\n]/;

/**
 * Formats a CSV row (RFC 4180). An apostrophe is put before text that a spreadsheet would run;
 * numbers stay unchanged.
 */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

function csvCell(text: string): string {
  const safe = withoutFormulas(text);
  return QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function withoutFormulas(text: string): string {
  const start = FORMULA.exec(text)?.[0] ?? "";
  if (start !== "" && isNumber(text)) return text;
  const rest = text.slice(start.length);
  const later = SEPARATOR.test(rest)
    ? rest.replace(LATER_FORMULA, (part) => (isNumber(part) ? part : `'${part}`))
    : rest;
  return start === "" ? later : `'${start}${later}`;
}

function isNumber(text: string): boolean {
  return NUMBER.test(text.trim());
}
