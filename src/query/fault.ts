import { LoggiaError } from "../errors.ts";
import type { TextSpan } from "./syntax.ts";

/**
 * A fault in the text of a query, with its position. The message is built by {@link queryFault}.
 */
export class QueryFault extends LoggiaError {
  readonly span: TextSpan;
  /** What is wrong: a sentence without its full stop. */
  readonly what: string;
  /** `what` and the hint, without position and source line. */
  readonly reason: string;
  /** The probable replacement of the text of `span`; null if nothing is close. */
  readonly fix: string | null;

  constructor(message: string, fault: Pick<QueryFault, "span" | "what" | "reason" | "fix">) {
    super("bad_query", message);
    this.span = fault.span;
    this.what = fault.what;
    this.reason = fault.reason;
    this.fix = fault.fix;
  }
}

/** Characters of the source line that a fault shows. */
const SHOWN_LINE = 100;

/**
 * Returns a fault in a query, with a message for the analyst:
 *
 *     Line 1, column 12: expected a clause, found "TKAE". Did you mean TAKE?
 *     GET events TKAE 5
 *                ^
 *
 * Lines and columns count from 1, columns in characters.
 *
 * @param what a sentence without its full stop
 */
export function queryFault(text: string, span: TextSpan, what: string, hint: string | null = null): QueryFault {
  const { line, column, source } = locate(text, span.start);
  const reason = `${what}.${hint === null ? "" : ` ${hint}`}`;
  const message = `Line ${line}, column ${column}: ${reason}\n${pointAt(source, column)}`;
  return new QueryFault(message, { span, what, reason, fix: /^Did you mean (.*)\?$/.exec(hint ?? "")?.[1] ?? null });
}

/** Returns "Did you mean X?" for a candidate within a typo of the word, or null. Ignores case. */
export function didYouMean(word: string, candidates: readonly string[]): string | null {
  // The right word in the wrong place is not a typo.
  if (candidates.some((candidate) => candidate.toLowerCase() === word.toLowerCase())) return null;
  const meant = nearest(word, candidates, word.length <= 3 ? 1 : 2);
  return meant === null ? null : `Did you mean ${meant}?`;
}

/** Returns the closest candidate within `edits` edits, or null. Ignores case. */
export function nearest(word: string, candidates: readonly string[], edits: number): string | null {
  const written = word.toLowerCase();
  let found: string | null = null;
  let fewest = edits + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - written.length) > edits) continue;
    const distance = editDistance(written, candidate.toLowerCase(), edits);
    // If no letter is left, it is a different word.
    const isOther = distance > 0 && distance >= Math.max(written.length, candidate.length);
    if (distance < fewest && !isOther) [found, fewest] = [candidate, distance];
  }
  return found;
}

/** Returns the note that a name without a field may be an attribute's. */
export function attributeNote(name: string): string {
  return `Attributes are written with an @: @${name}.`;
}

/** Joins words as "a, b or c". */
export function oneOf(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

function locate(text: string, offset: number): { line: number; column: number; source: string } {
  const before = text.slice(0, offset).split(/\r\n|\n|\r/);
  const lineStart = offset - before.at(-1)!.length;
  const rest = text.slice(lineStart);
  const end = rest.search(/[\r\n]/);
  return {
    line: before.length,
    column: Array.from(before.at(-1)!).length + 1,
    source: end === -1 ? rest : rest.slice(0, end),
  };
}

/** Returns the source line, or the part around the column, with a caret below. */
function pointAt(source: string, column: number): string {
  // Tabs and other control characters would displace the caret.
  const characters = Array.from(source, (character) => (/\p{Cc}/u.test(character) ? " " : character));
  const cut = column > SHOWN_LINE - 20 ? column - SHOWN_LINE / 2 : 0;
  const shown = characters.slice(cut, cut + SHOWN_LINE).join("");
  const head = cut > 0 ? "…" : "";
  const tail = characters.length > cut + SHOWN_LINE ? "…" : "";
  return `${head}${shown}${tail}\n${" ".repeat(head.length + column - 1 - cut)}^`;
}

/**
 * Counts inserted, deleted, replaced and transposed letters (optimal string alignment), up to
 * `most`: the time is proportional to the length of the texts. Returns more than `most` for more.
 */
function editDistance(a: string, b: string, most: number): number {
  const width = 2 * most + 1;
  // Three rows for all, as thousands of names may be compared.
  let beforeLast = new Float64Array(width).fill(Infinity);
  let last = new Float64Array(width).fill(Infinity);
  let row = new Float64Array(width);
  let leastOfLast = Infinity;
  for (let i = 0; i <= a.length; i++) {
    let leastOfRow = Infinity;
    // Cell k is column i - most + k. All other columns are too far away.
    for (let k = 0; k < width; k++) {
      const j = i - most + k;
      let edits = Infinity;
      if (i === 0 && j >= 0 && j <= b.length) edits = j;
      else if (j >= 0 && j <= b.length) {
        const isSame = a.charCodeAt(i - 1) === b.charCodeAt(j - 1);
        edits = last[k]! + (isSame ? 0 : 1);
        if (k + 1 < width) edits = Math.min(edits, last[k + 1]! + 1);
        if (k > 0) edits = Math.min(edits, row[k - 1]! + 1);
        const isSwapped =
          i > 1 && j > 1 && a.charCodeAt(i - 1) === b.charCodeAt(j - 2) && a.charCodeAt(i - 2) === b.charCodeAt(j - 1);
        if (isSwapped) edits = Math.min(edits, beforeLast[k]! + 1);
      }
      row[k] = edits;
      leastOfRow = Math.min(leastOfRow, edits);
    }
    if (Math.min(leastOfRow, leastOfLast) > most) return Infinity;
    [beforeLast, last, row] = [last, row, beforeLast];
    leastOfLast = leastOfRow;
  }
  return last[b.length - a.length + most] ?? Infinity;
}
