import { randomBytes } from "node:crypto";

/**
 * What became of a post: answered 201 with an id; answered 5xx or not at all, or taken back with a
 * backup, so it may be stored or not; or refused (any other status), so it must not be.
 */
export type Outcome =
  | { readonly kind: "accepted"; readonly id: string }
  | { readonly kind: "open"; readonly status: number | null }
  | { readonly kind: "refused"; readonly status: number };

/** Every so many-th event matches the class for which users asked for alerts. */
const ALARM_EVERY = 20;

/** The fields of a posted event. All of them follow from its number, so that what comes back can be held against it. */
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
 * What was posted in one run, and how it was answered. A 201 is an obligation: that event must be
 * stored, once, as it was posted.
 */
export class Ledger {
  /** Begins the text of each event of this run. */
  readonly run = `run-${randomBytes(4).toString("hex")}`;
  readonly #outcomes: (Outcome | null)[] = [];
  accepted = 0;
  open = 0;
  refused = 0;

  readonly #data_characters: number;

  /** @param options.data_characters so much data goes with every event; a little with some unless given */
  constructor(options: { data_characters?: number } = {}) {
    this.#data_characters = options.data_characters ?? 0;
  }

  /** How many posts were begun; their numbers are 0 to this, exclusive. */
  get issued(): number {
    return this.#outcomes.length;
  }

  /** The number of the next post. */
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

  /** Ends the obligations that a 201 made, where `which` says so: those events may be stored or not. */
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

  /** The form that posts event `n`. */
  formOf(n: number, apiKey: string): string {
    const { tags, value, data, ...rest } = this.contentOf(n);
    const fields = { apikey: apiKey, ...rest, tags: tags.join(" "), value: String(value), ...(data && { data }) };
    return new URLSearchParams(fields).toString();
  }

  /** The number of the event that a text belongs to, or null where nobody posted that here. */
  numberOf(text: string): number | null {
    const [run, number = ""] = text.split(" ", 2);
    const n = /^\d+$/.test(number) ? Number(number) : Number.NaN;
    return run === this.run && n < this.issued && this.contentOf(n).text === text ? n : null;
  }
}
