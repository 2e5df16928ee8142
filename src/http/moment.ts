declare global {
  interface JSON {
    /**
     * A value that `JSON.stringify` writes as exactly this JSON text (ECMAScript's "JSON.parse
     * source text access").
     */
    rawJSON(text: string): object;
  }
}

/**
 * A moment, in milliseconds since the Unix epoch, as JSON has it: `"\/Date(1308491673911)\/"`,
 * where only its slashes are escaped.
 */
export function momentAsJson(ms: number): string {
  return `"\\/Date(${ms})\\/"`;
}

/** A moment in an answer: {@link momentAsJson} in JSON; ISO 8601 in XML. */
export class Moment {
  readonly ms: number;

  constructor(ms: number) {
    this.ms = ms;
  }

  toJSON(): object {
    return JSON.rawJSON(momentAsJson(this.ms));
  }

  toString(): string {
    return momentAsIso(this.ms);
  }
}

/** ISO 8601, in UTC, with milliseconds. */
export function momentAsIso(ms: number): string {
  return new Date(ms).toISOString();
}
