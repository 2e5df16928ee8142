import { shorten } from "../events/quote.ts";
import { wellFormed } from "../events/text.ts";
import { nearest } from "./fault.ts";
import { writeAttribute } from "./lexer.ts";
import { EVENT_FIELDS } from "./plan.ts";

/** Parameters that every address knows; browser libraries add `_` against caches. */
const COMMON = ["fmt", "callback", "apikey"] as const;
const IGNORED: ReadonlySet<string> = new Set(["_"]);
/**
 * How many unknown parameters are looked at, and how long the header may become: a request may name
 * thousands.
 */
const MOST_LOOKED_AT = 20;
const HEADER_MAX_CHARACTERS = 1_000;
const EDITS = 2;
/** Begins parameters that name an attribute; it is among the known ones of addresses that take them. */
export const ATTRIBUTE_PREFIX = "attr.";
/** What stands in its place where somebody remembers it wrongly: `attrs.n`, `atr.n`, `attribute.n`, `@n`. */
const NEARLY_ATTRIBUTE = /^(?:([a-z]+)\.|@)(.+)$/isu;
const ATTRIBUTE_WORDS = ["attr", "attribute", "attributes"] as const;

/**
 * One sentence for each parameter that is unknown, and within two edits of a known one: old clients
 * add others.
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
    const meant = attributeMeant(name, known) ?? nearest(name, [...named, ...COMMON], EDITS);
    if (meant !== null) hints.push(`Unknown parameter ${safe(name)}. Did you mean ${meant}?`);
  }
  return hints;
}

/** The parameter of an attribute that was likely meant. */
function attributeMeant(written: string, known: readonly string[]): string | null {
  const [, prefix = ATTRIBUTE_WORDS[0], name] = NEARLY_ATTRIBUTE.exec(written) ?? [];
  if (name === undefined || !known.includes(ATTRIBUTE_PREFIX)) return null;
  return nearest(prefix, ATTRIBUTE_WORDS, EDITS) === null ? null : `${ATTRIBUTE_PREFIX}${safe(name)}`;
}

/** What is said of a class that the log does not have. */
export function classHint(name: string, classes: readonly string[]): string {
  const meant = nearest(name, classes, EDITS);
  const question = meant === null ? "" : ` Did you mean ${safe(meant)}?`;
  return `No event and no class filter has the class ${safe(name)}.${question}`;
}

/** What is said of an attribute that no event of the log has. @param names those that its events have */
export function attributeHint(name: string, names: readonly string[]): string {
  const isField = EVENT_FIELDS.some((field) => field === name);
  const meant = isField ? name : nearest(name, names, EDITS);
  const question = meant === null ? "." : `; did you mean ${isField ? name : attribute(meant)}?`;
  return `No event has ${attribute(name)}${question}`;
}

/** The header that tells hints; none where there are none. */
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

/** A caller's own text as a header can hold it: what is not plain ASCII is percent-encoded. */
function safe(text: string): string {
  return encoded(wellFormed(shorten(text)));
}

/** An attribute as it can be copied into a query. */
function attribute(name: string): string {
  return encoded(writeAttribute(wellFormed(shorten(name))));
}

function encoded(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]|%/gu, encodeURIComponent);
}
