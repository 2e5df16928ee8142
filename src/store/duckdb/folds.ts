import type { DuckDBConnection } from "@duckdb/node-api";

/** The texts of which `events.folded` can hold a form of its own. */
export const FOLDED_FIELDS = ["text", "link", "tags", "source", "user", "class"] as const;
export type FoldedField = (typeof FOLDED_FIELDS)[number];

/**
 * Of which fields some event has a folded form of its own. Questions look into `folded` for those alone: it takes as long to read as the text itself, and in most
 * fields of most logs `lower` says it all.
 *
 * Invariant: a field is known before an event of which that is true can be seen by anybody. None is forgotten.
 */
export class Folds {
  readonly #known = new Set<FoldedField>();
  #looked: Promise<void> | null = null;

  get known(): ReadonlySet<FoldedField> {
    return this.#known;
  }

  /** Called while an event is written, before that is committed. */
  add(field: FoldedField): void {
    this.#known.add(field);
  }

  /**
   * Answers a question that depends on what is known, in a transaction of its own. What becomes known meanwhile may be true of rows that the question saw:
   * then it is asked again.
   */
  async ask<T>(connection: DuckDBConnection, work: (known: ReadonlySet<FoldedField>) => Promise<T>): Promise<T> {
    await (this.#looked ??= this.#look(connection));
    for (;;) {
      const before = this.#known.size;
      const answer = await work(this.#known);
      if (this.#known.size === before) return answer;
    }
  }

  /** Looks at what earlier processes wrote. The least and greatest value of row groups tell most of it. */
  async #look(connection: DuckDBConnection): Promise<void> {
    try {
      const questions = FOLDED_FIELDS.map((field) => `exists(from events where folded."${field}" is not null)`);
      const [row] = (await connection.runAndReadAll(`select ${questions.join(", ")}`)).getRows();
      FOLDED_FIELDS.forEach((field, i) => row?.[i] === true && this.#known.add(field));
    } catch (error) {
      this.#looked = null;
      throw error;
    }
  }
}
