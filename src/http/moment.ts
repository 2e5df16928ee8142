declare global {
  interface JSON {
    /**
     * Returns a value that `JSON.stringify` writes as exactly this JSON text (ECMAScript's
     * "JSON.parse source text access").
     */
    rawJSON(text: string): object;
  }
}

/**
 * Returns a time in milliseconds since the Unix epoch as JSON: `"\/Date(1308491673911)\/"`, with
 * escaped slashes.
 */
export function momentAsJson(ms: number): string {
  return `"\\/Date(${ms})\\/"`;
}

/** A time in a response: {@link momentAsJson} in JSON, ISO 8601 in XML. */
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

/** Returns a time in ISO 8601, in UTC, with milliseconds. */
export function momentAsIso(ms: number): string {
  return new Date(ms).toISOString();
}
