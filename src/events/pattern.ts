/**
 * Returns the `pattern` of an event: its text with a placeholder for each part that varies from
 * event to event, so that texts of one kind share one pattern. In this order:
 *
 * - UUIDs become `<uuid>`,
 * - ISO 8601 moments and dates, and clock times, `<time>`,
 * - IPv4 and IPv6 addresses `<ip>`,
 * - values in double quotes, with their quotes, `<str>`; a backslash escapes a quote within,
 * - runs of six or more hexadecimal digits that hold both a letter and a digit `<hex>`,
 * - decimal numbers, with sign and fraction, `<n>`.
 */
export function textPattern(text: string): string {
  return BEYOND_NUMBERS.test(text) ? new PatternScanner(text).pattern() : text.replace(NUMBER, "<n>");
}

/**
 * Matches texts that may hold more than numbers: every other part has a quote or colon, or joins
 * digits in one of these ways.
 */
const BEYOND_NUMBERS = /[":]|\d[a-f]|[a-f]\d|\d-\d\d-\d|\d\.\d+\.\d|[\da-f]-[\da-f]{4}-/i;
const NUMBER = /(?:(?<![\w)\]>])[+-])?\d+(?:\.\d+)?/g;

const OTHER = 0;
const DIGIT = 1;
const HEX_LETTER = 2;
const QUOTE = 3;
const COLON = 4;
/** A letter other than a hexadecimal digit, or an underscore. */
const LETTER = 5;

const KINDS = new Uint8Array(128);
const setKinds = (characters: string, kind: number): void => {
  for (const character of characters) KINDS[character.charCodeAt(0)] = kind;
};
setKinds("ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ_", LETTER);
setKinds("abcdefABCDEF", HEX_LETTER);
setKinds("0123456789", DIGIT);
setKinds('"', QUOTE);
setKinds(":", COLON);

const POINT_CODE = 46;
const HYPHEN_CODE = 45;
const PLUS_CODE = 43;
const BACKSLASH_CODE = 92;
const COLON_CODE = 58;

const UUIDS = /(?<![\da-f])[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}(?![\da-f])/gi;
const UUID = new RegExp(UUIDS, "iy");
const DATE = String.raw`\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])`;
const CLOCK = String.raw`(?:[01]?\d|2[0-4]):[0-5]\d(?::(?:[0-5]\d|60)(?:[.,]\d+)?)?`;
/**
 * After a clock time without a date, a hyphen begins the end of a span, not a zone: `09:00-10:00`.
 */
const TIME = new RegExp(
  String.raw`(?:${DATE}(?:[Tt ]${CLOCK}(?:[Zz]|[+-]\d\d(?::?\d\d)?)?)?|${CLOCK}(?:[Zz]|\+\d\d(?::?\d\d)?)?)(?!\w|:[\da-fA-F:])`,
  "y",
);
const BYTE = String.raw`(?:25[0-5]|2[0-4]\d|1?\d?\d)`;
const IPV4 = new RegExp(String.raw`${BYTE}(?:\.${BYTE}){3}(?!\w|\.\d)`, "y");
const UUID_FOUND = -1;
const IPV6_MAX_UNITS = 45;
const HEX_MIN_UNITS = 6;

/**
 * Replaces all other kinds in one pass from left to right. The result equals one pass per kind,
 * because parts of two kinds overlap only if one is a quoted value that contains the other. Each
 * character is examined a bounded number of times.
 */
class PatternScanner {
  readonly #text: string;
  #pattern = "";
  /** End of the text already copied to the pattern. */
  #copied = 0;
  /** Properties of the last run of hexadecimal digits. */
  #hasDigit = false;
  #hasLetter = false;

  constructor(text: string) {
    this.#text = text;
  }

  pattern(): string {
    const text = this.#text;
    let closesQuotes = true;
    for (let at = 0; at < text.length;) {
      const kind = kindAt(text, at);
      if (kind === DIGIT || kind === HEX_LETTER) {
        at = this.#readRun(at);
        // A UUID decides what the parts beside it are, so all UUIDs are replaced first.
        if (at === UUID_FOUND) return new PatternScanner(text.replace(UUIDS, "<uuid>")).pattern();
      } else if (kind === COLON) at = this.#readColon(at);
      else if (kind === QUOTE && closesQuotes) {
        const end = quoteEnd(text, at);
        // If one quote is not closed, no later one is.
        closesQuotes = end !== -1;
        at = closesQuotes ? this.#put("<str>", at, end) : at + 1;
      } else at += 1;
    }
    return this.#copied === 0 ? text : this.#pattern + text.slice(this.#copied);
  }

  /** @returns `to`, where the pass continues */
  #put(word: string, from: number, to: number): number {
    this.#pattern += this.#text.slice(this.#copied, from) + word;
    this.#copied = to;
    return to;
  }

  #readColon(at: number): number {
    const text = this.#text;
    if (text.charCodeAt(at + 1) !== COLON_CODE || !isFree(text, at, true)) return at + 1;
    const end = ipv6End(text, at);
    return end === -1 ? at + 1 : this.#put("<ip>", at, end);
  }

  /**
   * Reads the run of hexadecimal digits that begins at `at`.
   * @returns the index after it, or UUID_FOUND
   */
  #readRun(at: number): number {
    const text = this.#text;
    const end = this.#runEnd(at);
    if (this.#isUuid(at, end)) return UUID_FOUND;
    const next = text.charCodeAt(end);
    if (next === COLON_CODE || next === HYPHEN_CODE || next === POINT_CODE) {
      const isFirst = isFree(text, at, true);
      if (isFirst && next !== POINT_CODE && end - at <= 4 && isAt(TIME, text, at)) {
        return this.#put("<time>", at, TIME.lastIndex);
      }
      const address = isFirst && next === COLON_CODE && end - at <= 4 ? ipv6End(text, at) : -1;
      if (address !== -1) return this.#put("<ip>", at, address);
      if (next === POINT_CODE && end - at <= 3 && isFree(text, at, false) && isAt(IPV4, text, at)) {
        return this.#put("<ip>", at, IPV4.lastIndex);
      }
    }
    if (this.#isHex(at, end)) return this.#put("<hex>", at, end);
    return this.#hasDigit ? this.#readNumbers(at, end) : end;
  }

  /** Replaces the decimal numbers within a run that is nothing else. */
  #readNumbers(from: number, to: number): number {
    const text = this.#text;
    let end = to;
    for (let at = from; at < end;) {
      if (kindAt(text, at) !== DIGIT) {
        at += 1;
        continue;
      }
      const start = this.#isSigned(at) ? at - 1 : at;
      at = digitsEnd(text, at);
      if (text.charCodeAt(at) === POINT_CODE && kindAt(text, at + 1) === DIGIT) {
        const fraction = this.#runEnd(at + 1);
        if (!this.#isUuid(at + 1, fraction) && !this.#isHex(at + 1, fraction)) {
          at = digitsEnd(text, at + 1);
          end = fraction;
        }
      }
      this.#put("<n>", start, at);
    }
    return end;
  }

  /**
   * Whether a sign before these digits belongs to the number. It does not if it joins them to a
   * preceding part.
   */
  #isSigned(at: number): boolean {
    const sign = this.#text.charCodeAt(at - 1);
    if (sign !== PLUS_CODE && sign !== HYPHEN_CODE) return false;
    return at - 1 === 0 || (at - 1 > this.#copied && !JOINED.test(this.#text[at - 2]!));
  }

  #runEnd(from: number): number {
    this.#hasDigit = this.#hasLetter = false;
    for (let at = from; ; at++) {
      const kind = kindAt(this.#text, at);
      if (kind === DIGIT) this.#hasDigit = true;
      else if (kind === HEX_LETTER) this.#hasLetter = true;
      else return at;
    }
  }

  #isUuid(from: number, end: number): boolean {
    return end - from === 8 && this.#text.charCodeAt(end) === HYPHEN_CODE && isAt(UUID, this.#text, from);
  }

  /** Whether the last run found is `<hex>`. */
  #isHex(from: number, end: number): boolean {
    return end - from >= HEX_MIN_UNITS && this.#hasDigit && this.#hasLetter;
  }
}

const JOINED = /[\w)\]>]/;

function kindAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  // `charCodeAt` returns NaN after the end.
  return code < 128 ? KINDS[code]! : OTHER;
}

/**
 * Whether no part of a value precedes this position. @param fromColon whether a colon would be one
 */
function isFree(text: string, at: number, fromColon: boolean): boolean {
  const kind = at === 0 ? OTHER : kindAt(text, at - 1);
  if (kind === COLON) return !fromColon;
  return (kind === OTHER || kind === QUOTE) && text.charCodeAt(at - 1) !== POINT_CODE;
}

function isAt(expression: RegExp, text: string, at: number): boolean {
  expression.lastIndex = at;
  return expression.test(text);
}

function digitsEnd(text: string, from: number): number {
  let at = from;
  while (kindAt(text, at) === DIGIT) at += 1;
  return at;
}

/** Returns the index after the quote that closes the value which begins at `from`, or -1. */
function quoteEnd(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH_CODE) at += 1;
    else if (KINDS[code] === QUOTE) return at + 1;
  }
  return -1;
}

/**
 * Returns the index after the IPv6 address that begins at `from`, or -1. A trailing point or colon
 * is punctuation.
 */
function ipv6End(text: string, from: number): number {
  let end = from;
  for (; end - from <= IPV6_MAX_UNITS + 1; end++) {
    const kind = kindAt(text, end);
    if (kind === LETTER) return -1;
    if (kind !== DIGIT && kind !== HEX_LETTER && kind !== COLON && text.charCodeAt(end) !== POINT_CODE) break;
  }
  const kind = kindAt(text, end);
  if (kind === DIGIT || kind === HEX_LETTER || kind === COLON) return -1;
  for (const last of [end, end - 1]) if (last - from > 2 && isIpv6(text.slice(from, last))) return last;
  return -1;
}

const GROUP = /^[\da-f]{1,4}$/i;
const STRICT_BYTE = String.raw`(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`;
const LAST_GROUPS = new RegExp(String.raw`^${STRICT_BYTE}(?:\.${STRICT_BYTE}){3}$`);

/** Equals `isIPv6` of `node:net`, which a browser does not have. */
function isIpv6(address: string): boolean {
  const halves = address.split("::");
  const groups = halves.reduce((sum, half, i) => sum + groupsIn(half, i === halves.length - 1), 0);
  return halves.length === 1 ? groups === 8 : halves.length === 2 && groups <= 7;
}

/**
 * Returns the number of 16-bit groups, Infinity if one is invalid. The last two may be an IPv4
 * address.
 */
function groupsIn(half: string, isLast: boolean): number {
  if (half === "") return 0;
  const groups = half.split(":");
  const hasIpv4 = isLast && LAST_GROUPS.test(groups.at(-1)!);
  if (!(hasIpv4 ? groups.slice(0, -1) : groups).every((group) => GROUP.test(group))) return Infinity;
  return groups.length + (hasIpv4 ? 1 : 0);
}
