import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "ava";
import pino from "pino";

import { apiRoutes } from "../../src/api/api.ts";
import type { Context } from "../../src/api/context.ts";
import { AUTHORIZATION, environmentOf, KEY, LOG, settled, startService } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { holdOfBest_ms } from "../support/turns.ts";
import { open } from "./raw.ts";
import { Scheduler } from "../../src/scheduling/scheduler.ts";

/** Longest time in which other requests wait for a request, in milliseconds of processor time. */
const MOST_MS = 50;
const EVENTS = 400;
/** Lengths just below what the service accepts. */
const [TARGET_LENGTH, BODY_LENGTH, QUERY_LENGTH] = [60_000, 64_000, 4_090];
/** How long an answer is read: tails don't end. */
const READ_MS = 1_500;

/** The routes, without a service behind them. */
const routes = apiRoutes({ log: pino({ level: "silent" }), now: Date.now, scheduler: new Scheduler() } as Context);

/** Joins as many texts as fit, between a beginning and an end. */
function filled(length: number, textOf: (i: number) => string, separator: string, [start, end] = ["", ""]): string {
  let text = start + textOf(0);
  for (let i = 1; ; i++) {
    const next = separator + textOf(i);
    if (text.length + next.length + end.length > length) return text + end;
    text += next;
  }
}

const lql = (textOf: (i: number) => string, separator: string, around: [string, string]) =>
  filled(QUERY_LENGTH, textOf, separator, around);

/** Queries that are the longest of their kind, or ask for the most. */
const QUERIES: Readonly<Record<string, string>> = {
  "one column again and again": lql(() => "text", ",", ["GET events TAKE 500 COLUMNS(", ")"]),
  "100 attributes": filled(1_000, (i) => `@name.${i}`, ",", ["GET events TAKE 500 COLUMNS(", ")"]),
  "too many columns": lql((i) => `@a${i}`, ",", ["GET events COLUMNS(", ")"]),
  "everything of an event": "GET events TAKE 500 COLUMNS(text, pattern, attributes)",
  "50 aggregates": filled(700, (i) => `AVG(@name.${i})`, ",", ["GET events GROUPBY user COLUMNS(", ")"]),
  "counts with conditions": lql((i) => `COUNT(value>${i})`, ",", ["GET events GROUPBY user COLUMNS(", ")"]),
  "a list of texts": lql((i) => `'${i}'`, ",", ["GET events WHERE source IN (", ")"]),
  "a list of moments": lql(() => "9/19/2011", ",", ["GET events WHERE created IN (", ")"]),
  "many comparisons": lql((i) => `@a${i}=1`, " OR ", ["GET events WHERE ", ""]),
  "many patterns": lql((i) => `pattern='e${i}'`, " OR ", ["GET events WHERE ", ""]),
  "many expressions": lql((i) => `text MATCHES 'a.*${i}'`, " OR ", ["GET events WHERE ", ""]),
  "an expression of repeats": `GET events WHERE text MATCHES '${"a.*".repeat(330)}'`,
  "an expression of groups": `GET events WHERE text MATCHES '${"(".repeat(490)}a${")".repeat(490)}'`,
  "an expression of properties": `GET events WHERE text MATCHES '${"\\pL".repeat(330)}'`,
  "an expression with a fault": `GET events WHERE text MATCHES '${"\\p{L}".repeat(190)}(?<x'`,
  "an expression with many faults": `GET events WHERE text MATCHES '${"a**".repeat(330)}'`,
  "the deepest nesting": `GET events WHERE ${"(".repeat(63)}value=1${")".repeat(63)}`,
  "nesting that is too deep": `GET events WHERE ${"(".repeat(2_000)}value=1`,
  "HAVING of many comparisons": lql(() => "COUNT>=0", " AND ", ["GET events GROUPBY user HAVING ", ""]),
  "BANDS of three keys": `GET events GROUPBY ${["value", "@name.1", "@name.2"]
    .map((of) => filled(90, String, ",", [`BANDS(${of},`, ")"]))
    .join(",")}`,
  "groups by three keys": "GET events GROUPBY text, tags, user",
  "FILL of many groups": "GET events GROUPBY MINUTES(1) OCCURS(TODAY - DAYS(60), NOW) COLUMNS(KEY, COUNT) FILL",
  "FILL, HAVING and SORT of many groups":
    "GET events GROUPBY MINUTES(1) OCCURS(TODAY - DAYS(60), NOW) HAVING COUNT >= 0 SORT COUNT DESC FILL",
  "many steps of time": lql(() => "-MINUTES(1)", "", ["GET events OCCURS(NOW", ")"]),
  comments: lql(() => "// x", "\n", ["GET events ", ""]),
  blanks: `GET events${" ".repeat(4_000)}!`,
  digits: `GET events TAKE ${"1".repeat(4_000)}`,
  quotes: `GET events WHERE text='${"''".repeat(2_000)}`,
  "a word before BETWEEN": `GET events WHERE ${"a".repeat(2_000)}${" ".repeat(1_900)}BETWEEN 1`,
  "attributes before BETWEEN": `GET events WHERE ${"@a".repeat(1_900)} BETWEEN 1`,
  "many users": "GET users TAKE 500",
};

const many = (textOf: (i: number) => string) => filled(TARGET_LENGTH, textOf, "&");
const PARAMETERS: Readonly<Record<string, string>> = {
  "equal attributes": many(() => "attr.a=1"),
  "different attributes": many((i) => `attr.${i}=1`),
  "100 attributes": filled(1_800, (i) => `attr.name.${i}=${i}`, "&"),
  "a large attribute": `attr.${"n".repeat(30_000)}=${"v".repeat(29_000)}`,
  "tiny ones": many((i) => `${i.toString(36)}=`),
  "names with errors": many((i) => `${i.toString(36)}pagesise=1`),
  separators: "&".repeat(TARGET_LENGTH),
  "a huge one": `text=${"x".repeat(TARGET_LENGTH)}`,
  blanks: `text=${"+".repeat(TARGET_LENGTH)}`,
  percents: "%".repeat(TARGET_LENGTH),
  tags: `tags=${filled(990, (i) => `t${i}`, "+")}`,
  expression: `text=${"(".repeat(1_000)}`,
  callback: `fmt=jsonp&callback=${"a.".repeat(29_000)}`,
  xml: "fmt=xml&pagesize=500&attributes=true&values=100&before=250&after=250&format=xml&last=500",
  json: "pagesize=500&attributes=true&values=100&before=250&after=250&last=500",
  csv: "format=csv&attributes=true",
};

const text = (value: unknown) => JSON.stringify(value);
const members = (textOf: (i: number) => string) => filled(BODY_LENGTH, textOf, ",", ["{", "}"]);
const BODIES: Readonly<Record<string, string>> = {
  "nested lists": "[".repeat(BODY_LENGTH / 2) + "]".repeat(BODY_LENGTH / 2),
  "nested objects": '{"a":'.repeat(10_000) + "1" + "}".repeat(10_000),
  "many members": members((i) => `"${i}":1`),
  "equal members": members(() => '"key":1'),
  "a list": filled(BODY_LENGTH, () => "1", ",", ["[", "]"]),
  "a huge text": text({ name: "x".repeat(BODY_LENGTH - 20) }),
  "no JSON": "{".repeat(BODY_LENGTH),
  blanks: " ".repeat(BODY_LENGTH),
  "a query": text({ name: "x", query: QUERIES["many expressions"], tz: "Europe/Berlin" }),
  "a filter": text({ key: "k", display: "x".repeat(60_000), color: "red", tag: " ".repeat(1_000), weight: 1 }),
  "a template": text({
    name: "x",
    kind: "json",
    template: { text: filled(990, () => "{a|b}", " "), tags: `{${" ".repeat(990)}}` },
    body: "{}".padStart(60_000),
  }),
};

const folder = mkdtempSync(join(tmpdir(), "loggia-test-"));
let service: Service;

test.before(async (t) => {
  service = await startService(environmentOf("embedded", folder));
  const event = (i: number) => ({
    text: `event ${i} ${"<é> & word ".repeat(700)}`,
    source: `source ${i % 50}`,
    user: `user ${i}`,
    tags: Array.from({ length: 100 }, (_, k) => `t${k}-${i % 7}`),
    value: i,
    data: "<é&\u0002>".repeat(2_000),
    attributes: Object.fromEntries(
      Array.from({ length: 250 }, (_, k) => [`name.${k}`, i % 3 === 0 ? `<&"é\u0001${"v".repeat(190)}` : `${i}-${k}`]),
    ),
  });
  for (let i = 0; i < EVENTS; i += 25) {
    const lines = Array.from({ length: 25 }, (_, k) => JSON.stringify(event(i + k)));
    const headers = { "Content-Type": "application/x-ndjson", apikey: KEY };
    const url = `${service.postUrl}/1/logs/${LOG}/events`;
    const { status } = await fetch(url, { method: "POST", headers, body: lines.join("\n") });
    t.is(status, 201);
  }
  await settled(service);
});

test.after.always(async () => {
  await service?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Sends a request, discards the answer and fails if the service didn't look at what is asked. */
async function send(method: string, target: string, body = ""): Promise<void> {
  const socket = await open(service.api!.port);
  const length = body === "" ? "" : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
  const head = `Host: 127.0.0.1\r\nAuthorization: ${AUTHORIZATION}\r\nConnection: close\r\n${length}`;
  socket.write(`${method} ${target} HTTP/1.1\r\n${head}\r\n${body}`);
  const timer = setTimeout(() => socket.destroy(), READ_MS);
  let status = "";
  socket.once("data", (chunk) => (status = chunk.toString("latin1", 9, 12)));
  await once(socket, "close");
  clearTimeout(timer);
  // Tails end only some time after their client has left.
  if (status === "429" && target.includes("/tail")) return await retried(() => send(method, target, body));
  // Routes of sessions need a cookie.
  const isRefused = status === "429" || (status === "401" && !target.startsWith("/1/session"));
  if (isRefused) throw new Error(`${method} ${target.slice(0, 200)} is answered ${status}`);
}

async function retried(work: () => Promise<void>): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 100));
  await work();
}

/** Routes that would end the tests themselves: they stop, copy or replace what the others need. */
const LEFT_OUT = /password|accounts|operations|backup|restore/;

for (const { method, path } of routes) {
  if (LEFT_OUT.test(path) && method !== "GET") continue;
  test.serial(`no step of ${method} ${path} is long, whatever it is asked`, async (t) => {
    t.timeout(600_000);
    const target = path.replace(":log", LOG).replace(":id", "f".repeat(24)).replaceAll(/:\w+/g, "x");
    const targets = Object.entries(PARAMETERS).map(([name, parameters]) => [name, `${target}?${parameters}`] as const);
    if (/\/(?:query|export|tail)$/.test(path)) {
      for (const [name, query] of Object.entries(QUERIES)) {
        for (const format of path.endsWith("/tail") ? ["json"] : ["json", "xml"]) {
          targets.push([`${name} as ${format}`, `${target}?fmt=${format}&query=${encodeURIComponent(query)}`]);
        }
      }
    }
    const bodies = method === "GET" ? {} : BODIES;
    for (const [name, asked] of targets) {
      const longest_ms = await holdOfBest_ms(MOST_MS, () => send(method, asked));
      t.true(longest_ms < MOST_MS, `${name}: ${longest_ms.toFixed()} ms`);
    }
    for (const [name, body] of Object.entries(bodies)) {
      const longest_ms = await holdOfBest_ms(MOST_MS, () => send(method, target, body));
      t.true(longest_ms < MOST_MS, `${name}: ${longest_ms.toFixed()} ms`);
    }
  });
}
