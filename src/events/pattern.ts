/**
 * `pattern` of an event: its text with a word in place of each part that differs from event to event, so that texts of
 * one kind have one pattern. In this order:
 *
 * - UUIDs become `<uuid>`,
 * - ISO 8601 moments and dates, and clock times, `<time>`,
 * - IPv4 and IPv6 addresses `<ip>`,
 * - values in double quotes, with their quotes, `<str>`; a backslash escapes a quote within,
 * - runs of six or more hexadecimal digits that hold both a letter and a digit `<hex>`,
 * - decimal numbers, with sign and fraction, `<n>`.
 */
export function patternOf(text: string): string {
  return BEYOND_NUMBERS.test(text) ? new Reading(text).pattern() : text.replace(NUMBER, "<n>");
}

/** Most texts hold numbers alone: any other part has a quote or colon, or joins digits in one of these ways. */
const BEYOND_NUMBERS = /[":]|\d[a-f]|[a-f]\d|\d-\d\d-\d|\d\.\d+\.\d|[\da-f]-[\da-f]{4}-/i;
const NUMBER = /(?:(?<![\w)\]>])[+-])?\d+(?:\.\d+)?/g;

const OTHER = 0;
const DIGIT = 1;
const HEX_LETTER = 2;
const QUOTE = 3;
const COLON = 4;
/** A letter that is no hexadecimal digit, or an underscore. */
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
/** Of a clock time alone what follows a hyphen is no zone but the end of a span: `09:00-10:00`. */
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
 * All other kinds in one pass from left to right, which is the same as one for each: parts of two kinds overlap only
 * where one of them is a quoted value, and that holds the other whole. It looks at no place more than a few times.
 */
class Reading {
  readonly #text: string;
  #pattern = "";
  /** Up to where the text is in the pattern. */
  #copied = 0;
  /** Of the run of hexadecimal digits that was found last. */
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
        // A UUID decides what the parts beside it are, so those of the text are replaced before all else.
        if (at === UUID_FOUND) return new Reading(text.replace(UUIDS, "<uuid>")).pattern();
      } else if (kind === COLON) at = this.#readColon(at);
      else if (kind === QUOTE && closesQuotes) {
        const end = quoteEnd(text, at);
        // Where a quote has no end, none behind it has one.
        closesQuotes = end !== -1;
        at = closesQuotes ? this.#put("<str>", at, end) : at + 1;
      } else at += 1;
    }
    return this.#copied === 0 ? text : this.#pattern + text.slice(this.#copied);
  }

  /** @returns `to`, where the pass goes on */
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

  /** Reads the hexadecimal digits from `at` on, before which there is none. @returns behind them, or UUID_FOUND */
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

  /** The decimal numbers within a run that is nothing else. */
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

  /** Whether a sign before these digits belongs to them: it doesn't where it joins them to what stands before it. */
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

  /** Of the run that was found last. */
  #isHex(from: number, end: number): boolean {
    return end - from >= HEX_MIN_UNITS && this.#hasDigit && this.#hasLetter;
  }
}

const JOINED = /[\w)\]>]/;

function kindAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  // Behind the end it is no number.
  return code < 128 ? KINDS[code]! : OTHER;
}

/** Whether nothing before this place belongs to it. @param fromColon whether a colon would */
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

/** Behind the quote that ends the value which begins at `from`, or -1. */
function quoteEnd(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH_CODE) at += 1;
    else if (KINDS[code] === QUOTE) return at + 1;
  }
  return -1;
}

/** Behind the IPv6 address that begins at `from`, or -1. A point or colon behind it belongs to the sentence. */
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

/** As `node:net` has it, which a page has not. */
function isIpv6(address: string): boolean {
  const halves = address.split("::");
  const groups = halves.reduce((sum, half, i) => sum + groupsIn(half, i === halves.length - 1), 0);
  return halves.length === 1 ? groups === 8 : halves.length === 2 && groups <= 7;
}

/** How many groups of 16 bits there are, Infinity where one is none; the last two may be an IPv4 address. */
function groupsIn(half: string, isLast: boolean): number {
  if (half === "") return 0;
  const groups = half.split(":");
  const hasIpv4 = isLast && LAST_GROUPS.test(groups.at(-1)!);
  if (!(hasIpv4 ? groups.slice(0, -1) : groups).every((group) => GROUP.test(group))) return Infinity;
  return groups.length + (hasIpv4 ? 1 : 0);
}
