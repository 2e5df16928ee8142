import { encodeAttributes } from "../../src/events/attributes.ts";
import type { LogKey, StoredEvent } from "../../src/events/event.ts";
import { parseLogKey } from "../../src/events/event.ts";
import { createIdSource } from "../../src/events/id.ts";
import { textPattern } from "../../src/events/pattern.ts";

export const LOG: LogKey = parseLogKey("bench")!;
export const API_KEY = "key-of-the-benchmarks";

/** Creates a seeded Mulberry32 generator, so that each run has the same events. */
export function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** Tags in order of falling frequency; the first is by far the most common. */
const TAGS = ["http", "cart", "login", "cache", "db", "mail", "search", "batch", "error", "slow", "deploy", "audit"];
const SOURCES = Array.from({ length: 50 }, (_, i) => `web-${String(i + 1).padStart(2, "0")}`);
const ACTIONS = ["stored order", "sent invoice", "rendered page", "answered query", "read profile", "charged card"];
/** One event in so many contains one of these words. */
const RARE_EVERY = 250;
export const RARE_WORDS: readonly string[] = Array.from({ length: 40 }, (_, i) => `quagmire${i + 10}`);
/** Expressions of which each matches about one text in 10,000 in data sets above 100,000. */
export const RARE_EXPRESSIONS: readonly string[] = Array.from(
  { length: 41 },
  (_, i) => `timeout.*id=${i === 0 ? 9 : i + 10}[0-9]{3}$`,
);

/** As many others of the same kind: the expressions match as often, the words never. */
export const OTHER_EXPRESSIONS: readonly string[] = Array.from(
  { length: 40 },
  (_, i) => `timeout.*id=${i + 60}[0-9]{3}$`,
);
export const OTHER_WORDS: readonly string[] = Array.from({ length: 40 }, (_, i) => `quagmire${i + 50}`);

export const DAY_MS = 86_400_000;
export const DAYS = 30;
/** End of all data sets, so that months begin at the same place in each run. */
export const END_MS = Date.UTC(2026, 9, 21);
/** A tag and a source that few events have in common. */
export const RARE_TAG = "audit";
export const RARE_SOURCE = "web-37";

/** Short texts alone, or with attributes, or {@link LONG_TEXT} characters of text. */
export type Shape = "plain" | "attributes" | "long";
/** Length of the long texts, in characters: a message with its stack trace. */
export const LONG_TEXT = 2_048;

/** The five attributes of an event. The last one is unique and has about 50 bytes. */
export const ATTRIBUTES = ["host", "http.route", "http.status", "duration_ms", "trace_id"] as const;
/** A status that one event in a hundred has. */
export const RARE_STATUS = 503;
const STATUSES = [200, 200, 200, 200, 200, 204, 302, 404, 500];
const ROUTES = Array.from({ length: 60 }, (_, i) => `/shop/${["carts", "orders", "users"][i % 3]!}/${i}`);

function attributesOf(i: number, random: (below: number) => number): string {
  const values: Record<(typeof ATTRIBUTES)[number], string | number> = {
    host: `node-${random(20)}.eu-west`,
    "http.route": ROUTES[Math.min(random(ROUTES.length), random(ROUTES.length))]!,
    "http.status": random(100) === 0 ? RARE_STATUS : STATUSES[random(STATUSES.length)]!,
    duration_ms: random(300_000) / 100,
    trace_id: `${(i * 2_654_435_761).toString(16).padStart(16, "0")}${random(2 ** 32)
      .toString(16)
      .padStart(8, "0")}`,
  };
  return encodeAttributes(new Map(Object.entries(values)));
}

/**
 * Yields events of one log in order of acceptance, spread evenly over the {@link DAYS} before
 * {@link END_MS}. Every text is unique.
 */
export function* storedEvents(count: number, shape: Shape = "plain"): Generator<StoredEvent> {
  const random = createRandom(11);
  const randomOfAttributes = createRandom(12);
  let at_ms = 0;
  const ids = createIdSource({ now: () => at_ms });
  for (let i = 0; i < count; i++) {
    at_ms = END_MS - DAYS * DAY_MS + Math.floor((i / count) * DAYS * DAY_MS);
    const short = textOf(i, count, random);
    const text = shape === "long" ? longText(short, i) : short;
    const common = TAGS[Math.min(random(TAGS.length), random(TAGS.length))]!;
    yield {
      ...ids(),
      log: LOG,
      text,
      link: i % 5 === 0 ? `https://example.com/orders/${i}` : "",
      tags: [common, `host-${random(8)}`],
      source: SOURCES[random(SOURCES.length)]!,
      user: `user-${random(5_000)}`,
      value: random(100_000) / 100,
      geo: null,
      data: null,
      attributes: shape === "attributes" ? attributesOf(i, randomOfAttributes) : null,
      pattern: textPattern(text),
      class: null,
    };
  }
}

/** Returns the text of event `i`. One text in ten reports a timeout. The final number is unique. */
function textOf(i: number, count: number, random: (below: number) => number): string {
  // A prime step visits each number below `span` once.
  const span = Math.max(count, 10_007);
  const id = (i * 7_919) % (span % 7_919 === 0 ? span + 1 : span);
  const took_ms = random(3_000);
  if (i % RARE_EVERY === RARE_EVERY >> 1) {
    return `worker ${random(16)} is stuck in ${RARE_WORDS[random(RARE_WORDS.length)]!} after retries id=${id}`;
  }
  if (random(10) === 0) return `timeout after ${took_ms} ms while calling payment-${random(9)} id=${id}`;
  return `${ACTIONS[random(ACTIONS.length)]} for customer ${random(90_000)} in ${took_ms} ms id=${id}`;
}

/** Adds a stack trace to a text, up to {@link LONG_TEXT} characters. `i` makes it differ. */
function longText(text: string, i: number): string {
  let long = `Error: ${text}`;
  for (let n = 0; long.length < LONG_TEXT; n++) {
    const frame = (i * 31 + n * 17) % 997;
    long += `\n    at handler${frame} (/srv/shop/lib/part-${frame % 40}.js:${(frame * 7) % 900}:${1 + (frame % 60)})`;
  }
  return long.slice(0, LONG_TEXT);
}

/**
 * Returns the form of a post of about 150 bytes, as a producer sends it, or of about 3 KB with a long
 * text. `i` makes it differ.
 */
export function formOf(i: number, apiKey: string, shape: "plain" | "long" = "plain"): string {
  const text = `${ACTIONS[i % ACTIONS.length]} for customer ${(i * 7_919) % 90_000} in ${i % 3_000} ms`;
  return new URLSearchParams({
    apikey: apiKey,
    text: shape === "long" ? longText(text, i) : text,
    tags: `${TAGS[i % TAGS.length]} host-${i % 8}`,
    source: SOURCES[i % SOURCES.length]!,
    value: String((i % 10_000) / 100),
  }).toString();
}

/** Returns the same content as an event of a batch. */
export function eventOf(i: number): object {
  const { apikey: _, value, ...event } = Object.fromEntries(new URLSearchParams(formOf(i, "")));
  return { ...event, value: Number(value) };
}

/** Returns a complete HTTP request that posts `form`. */
export function postRequest(path: string, form: string): string {
  return (
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n` +
    `Content-Length: ${Buffer.byteLength(form)}\r\n\r\n${form}`
  );
}

/** Returns a complete HTTP request that posts the lines of a batch. */
export function batchRequest(body: string): string {
  return (
    `POST /1/logs/${LOG}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n` +
    `Content-Type: application/x-ndjson\r\nX-API-Key: ${API_KEY}\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}

/** Returns a complete HTTP request for `path`. */
export function getRequest(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n\r\n`;
}
