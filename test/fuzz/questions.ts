import { AUTHORIZATION, KEY, LOG } from "../support/service.ts";
import { randomQuery } from "./lql.ts";
import { mutateText } from "./random.ts";
import type { Random } from "./random.ts";
import type { Target } from "./target.ts";

const LISTS = [
  "/1/logs",
  "/1/logs/:log",
  "/1/logs/:log/events",
  "/1/logs/:log/bookmarks",
  "/1/logs/:log/alerts",
  "/1/logs/bookmarks",
  "/1/logs/alerts",
  "/1/logs/classFilters",
  "/1/logs/:log/classFilters",
  "/1/logs/:log/events/6b01546226800000168a1671/data",
  "/manage/1/accounts",
  "/manage/1/logs/:log/users",
  "/manage/1/deadletters",
];
const PARAMETERS: readonly (readonly [string, readonly string[]])[] = [
  ["pagenum", ["1", "2", "1000000", "0", "x"]],
  ["pagesize", ["1", "500", "501"]],
  ["order", ["asc", "desc", "up"]],
  ["tags", ["a", "a b", "error bad-event"]],
  ["text", ["a", "(a|b)+", "\\d{3}", "^$", "(", "\\pL", "a[ab]{400}c", "(?:\\w?\\b){300}", "\\pL{20}"]],
  ["source", ["event-log", "x"]],
  ["user", ["carla"]],
  ["class", ["none"]],
  ["created", ["0", "0:9999999999999", ":5", "x"]],
  ["sinceid", ["000000000000000000000000", "6b01546226800000168a1671", "z"]],
  ["after", ["0", "1-1"]],
  ["limit", ["1", "500"]],
  ["attr.status", ["500", "ok", ""]],
  ["attr.", ["x"]],
  ["attributes", ["true", "false", "maybe"]],
];
const FORMATS = ["", "", "json", "xml", "jsonp", "yaml"];
const ACCEPTS = ["*/*", "text/xml", "application/json;q=0.1, text/xml", "text/html;q=;", ",,;q=1", "a/b;q=2"];
const TEXT_METHODS = ["GET", "GET", "GET", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

const AT_ONCE = 8;

/** Sends LQL, filters and paths, in every format. */
export async function fuzzQuestions(target: Target, random: Random, deadline_ms: number): Promise<number> {
  let tries = 0;
  while (performance.now() < deadline_ms) {
    await Promise.all(Array.from({ length: AT_ONCE }, () => question(target, random)));
    tries += AT_ONCE;
    if (tries % (AT_ONCE * 50) === 0) await target.check("questions");
  }
  await target.check("questions");
  return tries;
}

async function question(target: Target, random: Random): Promise<void> {
  const query = new URLSearchParams();
  let path: string;
  if (random.percent(50)) {
    path = `/1/logs/${LOG}/query`;
    const text = randomQuery(random);
    query.set("query", random.percent(30) ? mutateText(random, text) : text);
    if (random.percent(30))
      query.set("tz", random.oneOf(["0", "-12", "14", "5.5", "99", "x", "Europe/Berlin", "america/havana"]));
  } else {
    path = random.oneOf(LISTS).replace(":log", LOG);
    for (let i = random.below(5); i > 0; i--) {
      const [name, values] = random.oneOf(PARAMETERS);
      query.append(name, random.percent(30) ? mutateText(random, random.oneOf(values)) : random.oneOf(values));
    }
    if (random.percent(15)) path = encodeURI(mutateText(random, path, 1)).replaceAll(/[?#]/g, "");
  }
  const fmt = random.oneOf(FORMATS);
  if (fmt !== "") query.set("fmt", fmt);
  if (fmt === "jsonp") query.set("callback", random.percent(70) ? "show" : mutateText(random, "page.show"));
  const byKey = random.percent(30);
  if (byKey) query.set("apikey", KEY);
  const url = `${target.api.url}/${path.replace(/^\/+/, "")}?${query}`.slice(0, 60_000);
  if (!URL.canParse(url)) return;
  const method = random.oneOf(TEXT_METHODS);
  const body =
    method === "POST" || method === "PUT" || method === "PATCH" ? mutateText(random, random.oneOf(BODIES)) : undefined;
  const answer = await target.ask(url, {
    method,
    headers: { Accept: random.oneOf(ACCEPTS), ...(!byKey && { Authorization: AUTHORIZATION }) },
    ...(body !== undefined && { body }),
  });
  if (method === "DELETE" || answer.status === 201) await restore(target);
}

const BODIES = [
  "id=6b01546226800000168a1671",
  "key=fuzz&display=Fuzz",
  '{"email":"eve@example.org","password":"correct horse"}',
  '{"key":"fuzz","color":"red","tag":"a","weight":1}',
  '{"alert":true,"notify":false}',
  '{"scope":"read-only"}',
  '{"ids":["1"],"all":true}',
];

/** A mutated request may have changed what the next ones need. */
async function restore(target: Target): Promise<void> {
  const { status } = await target.ask(`${target.api.url}/1/logs/${LOG}`, { headers: { Authorization: AUTHORIZATION } });
  if (status !== 200) throw new Error(`the log ${LOG} is gone: ${status}`);
}
