import { randomBytes } from "node:crypto";

/**
 * The outcome of a post: answered 201 with an id; answered 5xx or not at all, or removed by
 * restoring a backup, so it may be stored or not; or refused (any other status), so it must not be
 * stored.
 */
export type Outcome =
  | { readonly kind: "accepted"; readonly id: string }
  | { readonly kind: "open"; readonly status: number | null }
  | { readonly kind: "refused"; readonly status: number };

/** Interval of events that match the class for which users want alerts. */
const ALARM_EVERY = 20;

/**
 * The fields of a posted event. All derive from its number, so that stored events can be verified.
 */
export type Content = {
  readonly text: string;
  readonly link: string;
  readonly tags: readonly string[];
  readonly source: string;
  readonly user: string;
  readonly value: number;
  readonly data: string | null;
};

/**
 * Everything posted in one run, and the responses. A 201 is an obligation: that event must be
 * stored once, as posted.
 */
export class Ledger {
  /** Prefix of the text of each event of this run. */
  readonly run = `run-${randomBytes(4).toString("hex")}`;
  readonly #outcomes: (Outcome | null)[] = [];
  accepted = 0;
  open = 0;
  refused = 0;

  readonly #data_characters: number;

  /**
   * @param options.data_characters size of the data of every event; by default a little for some
   * events
   */
  constructor(options: { data_characters?: number } = {}) {
    this.#data_characters = options.data_characters ?? 0;
  }

  /** Number of posts started; their numbers are 0 to this, exclusive. */
  get issued(): number {
    return this.#outcomes.length;
  }

  /** Returns the number of the next post. */
  issue(): number {
    return this.#outcomes.push(null) - 1;
  }

  settle(n: number, outcome: Outcome): void {
    this.#outcomes[n] = outcome;
    this[outcome.kind] += 1;
  }

  isAccepted(n: number): boolean {
    return this.#outcomes[n]?.kind === "accepted";
  }

  /** Releases the obligations of the events that `which` selects: they may be stored or not. */
  release(which: (n: number) => boolean): void {
    for (let n = 0; n < this.issued; n++) {
      if (!this.isAccepted(n) || !which(n)) continue;
      this.#outcomes[n] = { kind: "open", status: 201 };
      this.accepted -= 1;
      this.open += 1;
    }
  }

  outcome(n: number): Outcome | null {
    return this.#outcomes[n] ?? null;
  }

  contentOf(n: number): Content {
    return {
      text: `${this.run} ${n} Grüße from «${n % 97}»`,
      link: `https://example.org/${n}`,
      tags: [`t${n % 7}`, this.isAlarm(n) ? "alarm" : "calm"],
      source: `source ${n % 10}`,
      user: `user ${n % 100}`,
      value: n,
      data: this.#data_characters > 0 || n % 50 === 0 ? `{"n":${n}}`.padEnd(this.#data_characters) : null,
    };
  }

  isAlarm(n: number): boolean {
    return n % ALARM_EVERY === 0;
  }

  /** Returns the form that posts event `n`. */
  formOf(n: number, apiKey: string): string {
    const { tags, value, data, ...rest } = this.contentOf(n);
    const fields = { apikey: apiKey, ...rest, tags: tags.join(" "), value: String(value), ...(data && { data }) };
    return new URLSearchParams(fields).toString();
  }

  /** Returns the number of the event with a text, or null if it was not posted in this run. */
  numberOf(text: string): number | null {
    const [run, number = ""] = text.split(" ", 2);
    const n = /^\d+$/.test(number) ? Number(number) : Number.NaN;
    return run === this.run && n < this.issued && this.contentOf(n).text === text ? n : null;
  }
}
