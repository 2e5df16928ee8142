declare global {
  interface JSON {
    /** A value that `JSON.stringify` writes as exactly this JSON text (ECMAScript's "JSON.parse source text access"). */
    rawJSON(text: string): object;
  }
}

/** A moment in an answer: `"\/Date(1308491673911)\/"` in JSON, where only its slashes are escaped; ISO 8601 in XML. */
export class Moment {
  readonly ms: number;

  constructor(ms: number) {
    this.ms = ms;
  }

  toJSON(): object {
    return JSON.rawJSON(`"\\/Date(${this.ms})\\/"`);
  }

  toString(): string {
    return new Date(this.ms).toISOString();
  }
}
