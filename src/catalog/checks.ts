import { LoggiaError } from "../errors.ts";
import { characters, wellFormed } from "../events/text.ts";
import type { ClassFilter } from "./catalog.ts";

/** Limits per log. */
export const MAX_CLASS_FILTERS = 10_000;
export const MAX_API_KEYS = 200;
export const MAX_SHARES = 1000;
/** Limit per user and log. */
export const MAX_SAVED_QUERIES = 100;

const MAX_WEIGHT = 1_000_000;
const MAX_RETENTION_DAYS = 36_500;
const MAX_ORIGINS = 50;
const MAX_ORIGIN_LENGTH = 300;

/** Reserved for `POST …/classFilters/preview`, which tests a filter. */
const RESERVED_CLASS_KEY = "preview";
const CLASS_KEY = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** @throws LoggiaError `bad_parameter`, like all checks in this file */
export function checkDisplay(display: string): string {
  const checked = checkText("display", display, 1, 200);
  if (checked.trim() === "") throw bad("The field display must not be blank: it needs 1 to 200 characters");
  return checked;
}

export function checkRetentionDays(days: number | null): number | null {
  if (days === null || isWhole(days, 1, MAX_RETENTION_DAYS)) return days;
  throw bad(
    `The field retentionDays must be a whole number from 1 to ${MAX_RETENTION_DAYS}, or null to keep events for ever`,
  );
}

/** Checks origins. They must be as browsers send them, to compare as strings; `*` is any origin. */
export function checkOrigins(origins: readonly string[]): readonly string[] {
  if (origins.length > MAX_ORIGINS) throw bad(`The field origins may hold at most ${MAX_ORIGINS} origins`);
  for (const origin of origins) {
    if (origin === "*") continue;
    const url = origin.length <= MAX_ORIGIN_LENGTH ? URL.parse(origin) : null;
    const sent = url !== null && /^https?:$/.test(url.protocol) ? url.origin : null;
    if (sent === origin) continue;
    const right = sent === null ? "https://shop.example.org or http://localhost:3000, or * for every page" : sent;
    throw bad(`The field origins holds ${JSON.stringify(origin.slice(0, 100))}; it must be ${right}`);
  }
  return [...new Set(origins)];
}

export function checkOneOf<const T extends string>(field: string, value: T, allowed: readonly T[]): T {
  if (allowed.includes(value)) return value;
  throw bad(`The field ${field} must be one of ${allowed.join(", ")}`);
}

/** Returns the class key that `text` spells, in lower case; null if it is not a valid key. */
export function parseClassKey(text: string): string | null {
  const key = text.toLowerCase();
  return CLASS_KEY.test(key) ? key : null;
}

/** @throws LoggiaError `bad_parameter`, which lists every invalid field */
export function checkClassFilter(filter: ClassFilter): ClassFilter {
  const faults: string[] = [];
  const checking = <T>(check: () => T, otherwise: T): T => {
    try {
      return check();
    } catch (error) {
      if (!(error instanceof LoggiaError)) throw error;
      faults.push(error.message);
      return otherwise;
    }
  };
  const text = (field: "display" | "text" | "link" | "source"): string =>
    checking(() => checkText(field, filter[field], 0, 200), filter[field]);
  const checked = {
    key: checking(() => checkClassKey(filter.key), filter.key),
    display: text("display"),
    color: checking(() => checkColor(filter.color), filter.color),
    tag: checking(() => checkTag(filter.tag), filter.tag),
    text: text("text"),
    link: text("link"),
    source: text("source"),
    weight: checking(() => checkWeight(filter.weight), filter.weight),
  };
  if (checked.tag === "" && checked.text === "" && checked.link === "" && checked.source === "") {
    faults.push("A class filter needs a condition: at least one of tag, text, link and source must not be empty");
  }
  if (faults.length > 0) throw bad(faults.join("; "));
  return checked;
}

/** Returns the name of a saved query, trimmed. */
export function checkQueryName(name: string): string {
  const checked = checkText("name", typeof name === "string" ? name.trim() : name, 1, 100);
  if (/\p{Cc}/u.test(checked)) throw bad("The field name must have no control characters");
  // Clients resolve these as path segments, so such a query could not be addressed.
  if (checked === "." || checked === "..") throw bad("The field name must not consist of dots only");
  return checked;
}

function checkClassKey(text: string): string {
  const key = typeof text === "string" ? parseClassKey(text) : null;
  if (key === RESERVED_CLASS_KEY) throw bad(`The key ${key} is reserved for a path of the API; choose another one`);
  if (key !== null) return key;
  throw bad("The field key must be 1 to 63 letters a to z, digits and hyphens, and not begin with a hyphen");
}

function checkTag(tag: string): string {
  const checked = checkText("tag", tag, 0, 200);
  if (!/\s/.test(checked)) return checked;
  throw bad("The field tag must be one tag, without blanks: the tags of an event are split at them");
}

function checkWeight(weight: number): number {
  if (isWhole(weight, -MAX_WEIGHT, MAX_WEIGHT)) return weight;
  throw bad(`The field weight must be a whole number from -${MAX_WEIGHT} to ${MAX_WEIGHT}`);
}

function checkColor(color: string): string {
  const checked = checkText("color", color, 1, 40);
  if (!/\p{Cc}/u.test(checked)) return checked;
  throw bad("The field color must have no control characters: a CSS color such as red or #c0392b");
}

/** Checks the length of a text in Unicode code points. */
function checkText(field: string, value: string, least: number, most: number): string {
  if (typeof value === "string" && value.length <= 2 * most) {
    const text = wellFormed(value);
    const length = characters(text);
    if (length >= least && length <= most) return text;
  }
  throw bad(`The field ${field} must have ${least === 0 ? "at most" : `${least} to`} ${most} characters`);
}

function isWhole(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most;
}

function bad(message: string): LoggiaError {
  return new LoggiaError("bad_parameter", message);
}
