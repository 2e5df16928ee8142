import { parseQuery } from "../../../query/parser.ts";
import { listQuestion, firstCursor, pageQuery, cursorBehind } from "../../parts/rows/question.ts";
import { textWithoutClauses } from "../../parts/query/clauses.ts";
import type { Moments } from "../../parts/query/range.ts";
import type { ReadPage } from "../../parts/rows/paged-rows.ts";

const PAGE = 500;
/** Most matching events read; further ones count as not matching. */
const MOST = 10_000;

/** Determines which neighbours a query matches, by time spans as more of them are read. */
export class Matching {
  readonly #query: string;
  readonly #read: ReadPage;
  readonly #signal: AbortSignal;
  readonly #ids = new Set<string>();
  readonly #findsAll: boolean;
  #known: Moments | null = null;

  constructor(query: string, read: ReadPage, signal: AbortSignal) {
    this.#query = textWithoutClauses(query, [
      "occurs",
      "groupBy",
      "having",
      "compare",
      "fill",
      "columns",
      "sort",
      "take",
      "skip",
    ]);
    this.#read = read;
    this.#signal = signal;
    const { class: key, clauses } = parseQuery(this.#query);
    this.#findsAll = key === null && clauses.where === null;
  }

  /** Reports whether the query matches an event; true if its time was not requested yet. */
  finds(id: string, created: number): boolean {
    const isKnown = this.#known !== null && created >= this.#known.from && created < this.#known.to;
    return this.#findsAll || !isKnown || this.#ids.has(id);
  }

  /** Requests the unknown time spans up to these moments; returns whether there were any. */
  async reach({ from, to }: Moments): Promise<boolean> {
    if (this.#findsAll) return false;
    const known = this.#known;
    const parts: Moments[] =
      known === null
        ? [{ from, to }]
        : [
            { from, to: Math.max(from, known.from) },
            { from: Math.min(to, known.to), to },
          ];
    const missing = parts.filter((part) => part.from < part.to);
    for (const part of missing) await this.#request(part);
    this.#known = { from: Math.min(from, known?.from ?? from), to: Math.max(to, known?.to ?? to) };
    return missing.length > 0;
  }

  async #request(range: Moments): Promise<void> {
    const question = listQuestion(this.#query, range, "asc");
    let cursor = firstCursor(question);
    for (let read = 0, tied = 0; this.#ids.size < MOST;) {
      const rows = await this.#read(pageQuery(question, cursor, PAGE), this.#signal);
      for (const { id } of rows) this.#ids.add(id);
      const last = rows.at(-1);
      if (rows.length < PAGE || last === undefined) return;
      read += rows.length;
      const isSame = rows[0]?.created === last.created;
      tied = rows.filter(({ created }) => created === last.created).length + (isSame ? tied : 0);
      cursor = cursorBehind(question, last, tied, read);
    }
  }
}
