import { EVENT_FIELDS } from "../events/field-order.ts";
import { shorten } from "../events/quote.ts";
import { wellFormed } from "../events/text.ts";
import { nearest } from "./fault.ts";
import { writeAttribute } from "./lexer.ts";

/** Parameters that every route accepts; browser libraries add `_` to bypass caches. */
const COMMON = ["fmt", "callback", "apikey"] as const;
const IGNORED: ReadonlySet<string> = new Set(["_"]);
/**
 * Most unknown parameters examined, and longest header: a request may have thousands of parameters.
 */
const MOST_LOOKED_AT = 20;
const HEADER_MAX_CHARACTERS = 1_000;
/** Most edits between a name and the one that is suggested instead. */
export const HINT_EDITS = 2;
/** Prefix of parameters that name an attribute. Routes that accept them list it as known. */
export const ATTRIBUTE_PREFIX = "attr.";
/** Misspelled prefixes: `attrs.n`, `atr.n`, `attribute.n`, `@n`. */
const NEARLY_ATTRIBUTE = /^(?:([a-z]+)\.|@)(.+)$/isu;
const ATTRIBUTE_WORDS = ["attr", "attribute", "attributes"] as const;

/**
 * Returns one sentence for each unknown parameter within two edits of a known one. Others are left
 * out, as old clients send some.
 */
export function parameterHints(query: URLSearchParams, known: readonly string[]): string[] {
  const hints: string[] = [];
  const named = known.filter((name) => name !== ATTRIBUTE_PREFIX);
  let unknown = 0;
  for (const name of query.keys()) {
    if (name.startsWith(ATTRIBUTE_PREFIX)) continue;
    if (known.includes(name) || COMMON.some((common) => common === name) || IGNORED.has(name)) continue;
    unknown += 1;
    if (unknown > MOST_LOOKED_AT) break;
    const meant = attributeMeant(name, known) ?? nearest(name, [...named, ...COMMON], HINT_EDITS);
    if (meant !== null) hints.push(`Unknown parameter ${safe(name)}. Did you mean ${meant}?`);
  }
  return hints;
}

/** Returns the attribute parameter that was probably meant. */
function attributeMeant(written: string, known: readonly string[]): string | null {
  const [, prefix = ATTRIBUTE_WORDS[0], name] = NEARLY_ATTRIBUTE.exec(written) ?? [];
  if (name === undefined || !known.includes(ATTRIBUTE_PREFIX)) return null;
  return nearest(prefix, ATTRIBUTE_WORDS, HINT_EDITS) === null ? null : `${ATTRIBUTE_PREFIX}${safe(name)}`;
}

/** Returns the hint about a class that the log does not have. */
export function classHint(name: string, classes: readonly string[]): string {
  const meant = nearest(name, classes, HINT_EDITS);
  const question = meant === null ? "" : ` Did you mean ${safe(meant)}?`;
  return `No event and no class filter has the class ${safe(name)}.${question}`;
}

/** Returns the hint about an attribute that no event has. @param similar one that events have */
export function attributeHint(name: string, similar: string | null): string {
  const isField = EVENT_FIELDS.some((field) => field === name);
  const meant = isField ? name : similar;
  const question = meant === null ? "." : `; did you mean ${isField ? name : attribute(meant)}?`;
  return `No event has ${attribute(name)}${question}`;
}

/** Returns the hints about attributes and values that a list of fields leaves out. */
export function fieldsHints(leftOut: { readonly unlisted: number; readonly withoutValues: number }): string[] {
  const { unlisted, withoutValues } = leftOut;
  const remedy = "Give a longer prefix or a shorter time.";
  const hints: string[] = [];
  if (unlisted > 0) {
    hints.push(`The most frequent attributes are listed; about ${unlisted} more are not. ${remedy}`);
  }
  if (withoutValues > 0) {
    hints.push(`${withoutValues} fields are listed without their values, too many or too long in all. ${remedy}`);
  }
  return hints;
}

/** Returns the header with hints, if there are any. */
export function hintHeaders(hints: readonly string[]): Readonly<Record<string, string>> {
  let value = "";
  for (const hint of new Set(hints)) {
    const longer = value === "" ? hint : `${value} ${hint}`;
    if (longer.length > HEADER_MAX_CHARACTERS) break;
    value = longer;
  }
  return value === "" ? NO_HINTS : { "X-Loggia-Hint": value };
}

const NO_HINTS: Readonly<Record<string, string>> = Object.freeze({});

/** Encodes a caller's text for a header: everything but plain ASCII is percent-encoded. */
function safe(text: string): string {
  return encoded(wellFormed(shorten(text)));
}

/** Writes an attribute such that it can be copied into a query. */
function attribute(name: string): string {
  return encoded(writeAttribute(wellFormed(shorten(name))));
}

function encoded(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]|%/gu, encodeURIComponent);
}
