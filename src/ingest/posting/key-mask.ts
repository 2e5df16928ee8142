const FIELD = /^\s*(?:attr\.)?(?:x-)?apikey\s*$/i;
/** Most backslashes of an escape, as JSON may be quoted within JSON. Bounds the time of a search. */
const BACKSLASHES = String.raw`\\{1,8}`;

/** Returns whether a field is meant to hold an API key, even if keys are not read from there. */
export function isKeyField(name: string): boolean {
  return FIELD.test(name);
}

/**
 * Hides API keys in the data of an error event: readers of the log must not learn a key that may
 * write to it. Masked texts keep their length, so that their faults stay the same.
 */
export class KeyMask {
  /** Matches the key of the request, also if JSON or a form encodes some of its characters. */
  readonly #key: RegExp | null;

  /** @param secret the key that the request was authorized by; "": unknown */
  constructor(secret: string) {
    this.#key = secret === "" ? null : new RegExp([...secret].map(encodingsOf).join(""), "g");
  }

  /** Hides the key of the request. */
  hide(text: string): string {
    return this.#key === null ? text : text.replace(this.#key, stars);
  }

  /** Also hides the values of key fields, in a text that could not be parsed. */
  hideUnparsed(text: string): string {
    return this.hide(text).replace(FIELDS, (_, name: string, value: string) => name + stars(value));
  }
}

/** Returns an expression for a character as it is, or escaped as in JSON or a form. */
function encodingsOf(character: string): string {
  const hex = character.charCodeAt(0).toString(16).padStart(2, "0");
  const anyCase = [...hex].map((digit) => `[${digit}${digit.toUpperCase()}]`).join("");
  const literal = RegExp.escape(character);
  return `(?:${literal}|${BACKSLASHES}(?:u00${anyCase}|${literal})|%${anyCase})`;
}

/** Matches a key field of a text that is neither JSON nor a form, and its value. */
const FIELDS = new RegExp(
  `(${[..."apikey"].map((letter) => `(?:${encodingsOf(letter)}|${encodingsOf(letter.toUpperCase())})`).join("")}` +
    String.raw`\\{0,8}["']?\s{0,8}[:=]\s{0,8}\\{0,8})("(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?|[^\s,;&}\])"']+)`,
  "g",
);

function stars(text: string): string {
  return "*".repeat(text.length);
}
