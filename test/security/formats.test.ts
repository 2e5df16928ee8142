import { createContext, runInContext } from "node:vm";
import test from "ava";
import { parseStringPromise } from "xml2js";

import { AUTHORIZATION, get, KEY, LOG, post } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { shareService } from "../support/shared-service.ts";
import { until } from "../support/until.ts";
import { exchange, statuses } from "./raw.ts";

let service: Service;
shareService((started) => (service = started));

const headers = { Authorization: AUTHORIZATION };
const jsonHeaders = { ...headers, "Content-Type": "application/json" };

/** Posts an event and waits until it can be read. */
async function stored(fields: Record<string, string>): Promise<string> {
  const { body } = await post(service, fields);
  await until(async () => (await get(service, `/1/logs/${LOG}/events/${body.id}`)).status === 200, {
    what: "the event",
  });
  return body.id!;
}

const CALLBACKS = [
  "alert(1)//",
  "alert(1);f",
  "f;alert(1)",
  "a b",
  "a[0]",
  "f(x)",
  "<script>",
  "</script><script>alert(1)</script>",
  "f\n",
  "f\r\nX-Injected: 1",
  "f\u2028",
  "f%00",
  "//f",
  "/*f",
  "f*/",
  ".f",
  "f.",
  "f..g",
  "1f",
  "",
  "x".repeat(129),
  // Signatures by which plug-ins would take the response for one of their programs.
  "CWS\u0007\u000e000",
];

for (const callback of CALLBACKS) {
  test(`JSONP accepts names of functions only: ${JSON.stringify(callback).slice(0, 40)} is 400, in JSON`, async (t) => {
    const query = `fmt=jsonp&callback=${encodeURIComponent(callback)}`;
    for (const url of [
      `${service.apiUrl}/1/logs?apikey=${KEY}&${query}`,
      `${service.apiUrl}/nowhere?${query}`,
      `${service.postUrl}/1/logs/${LOG}/events?apikey=${KEY}&text=x&${query}`,
    ]) {
      const answer = await fetch(url);
      t.is(answer.status, 400, url);
      t.is(answer.headers.get("Content-Type"), "application/json; charset=utf-8");
      t.is(answer.headers.get("X-Content-Type-Options"), "nosniff");
      t.is(answer.headers.get("X-Injected"), null);
      t.notThrows(async () => JSON.parse(await answer.text()) as unknown);
    }
  });
}

/** Characters that break out of strings, elements and lines. */
const HOSTILE =
  "</script>]]><!--&amp;&lol; \"'` \u0000\u0001\u0008\u000b\u001b[31m\u007f\u0085\u009b \u2028\u2029 \ud800 \udfff \ufffe\uffff \u202e \r\n\t {{x}} ${x} %s%n";

test("an event of hostile characters is the same in JSON and JSONP, and complete in XML", async (t) => {
  const fields = { text: HOSTILE, source: HOSTILE, user: HOSTILE, data: HOSTILE };
  const id = await stored({ ...fields, tags: HOSTILE.replace(/\s/g, "") });
  const path = `${service.apiUrl}/1/logs/${LOG}/events/${id}`;
  const json = (await (await fetch(path, { headers })).json()) as Record<string, unknown>;
  const expected = HOSTILE.toWellFormed();
  t.is(json["source"], expected.trim());

  const context = createContext({});
  runInContext("var seen; function show(event) { seen = event }", context);
  const script = await (await fetch(`${path}?fmt=jsonp&callback=show`, { headers })).text();
  t.false(/[\u2028\u2029]/.test(script));
  runInContext(script, context);
  t.deepEqual(JSON.parse(JSON.stringify(context["seen"])), json);

  const xml = await (await fetch(`${path}?fmt=xml`, { headers })).text();
  t.false(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.test(xml), "no character that XML forbids");
  t.false(/<!(DOCTYPE|ENTITY)/.test(xml));
  const parsed = (await parseStringPromise(xml)) as { results: { event: { source: string[] }[] } };
  const [event] = parsed.results.event;
  t.is(event!.source[0]!.includes("</script>]]><!--&amp;&lol;"), true);
  t.deepEqual(Object.keys(parsed.results), ["event"], "nothing broke out of its element");
  t.is((await fetch(`${path}/data?fmt=xml`, { headers })).status, 200);
  t.is((await fetch(`${service.apiUrl}/1/logs/${LOG}/events?fmt=xml`, { headers })).status, 200);
});

test("posted XML is never parsed: entities are kept as they are", async (t) => {
  const bomb =
    '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;"><!ENTITY x SYSTEM "file:///etc/passwd">]><l>&b;&x;</l>';
  const id = await stored({ text: "xml", data: bomb });
  const { body } = await get(service, `/1/logs/${LOG}/events/${id}/data`);
  t.is(body, bomb);
  for (const url of [
    `${service.apiUrl}/1/logs`,
    `${service.apiUrl}/manage/1/accounts`,
    `${service.postUrl}/1/logs/${LOG}/events`,
  ]) {
    const answer = await fetch(url, {
      method: "POST",
      headers: { ...headers, "Content-Type": "text/xml" },
      body: bomb,
    });
    const text = await answer.text();
    t.true(answer.status >= 400 && answer.status < 500, `${url} ${answer.status}`);
    t.false(text.includes("root:"));
  }
});

const NAMES = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "__proto__[admin]",
  "constructor.prototype",
];

test("names with a meaning in JavaScript have none here", async (t) => {
  const sent = new URLSearchParams({ apikey: KEY, text: "proto" });
  for (const name of NAMES) sent.append(name, "polluted");
  t.is((await fetch(`${service.postUrl}/1/logs/${LOG}/events`, { method: "POST", body: sent })).status, 201);

  const accounts = `${service.apiUrl}/manage/1/accounts`;
  const evil = `{"email":"proto@example.org","password":"correct horse","__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}}`;
  const made = await fetch(accounts, { method: "POST", headers: jsonHeaders, body: evil });
  t.is(made.status, 201);
  t.is(((await made.json()) as { admin: boolean }).admin, false);
  t.is(((await (await fetch(`${accounts}/proto@example.org`, { headers })).json()) as { admin: boolean }).admin, false);

  const items = JSON.stringify([{ text: "batch" }]).replace("{", '{"__proto__":{"source":"polluted"},');
  const batch = { method: "POST", headers: { "Content-Type": "application/json", "X-API-Key": KEY }, body: items };
  t.is((await fetch(`${service.postUrl}/1/logs/${LOG}/events`, batch)).status, 201);

  for (const name of NAMES) {
    for (const path of [
      `/1/logs/${name}`,
      `/1/logs/${LOG}/classFilters/${name}`,
      `/manage/1/logs/${LOG}/apiKeys/${name}`,
      `/manage/1/accounts/${name}`,
      `/${name}`,
    ]) {
      const answer = await fetch(service.apiUrl + path, { headers });
      t.is(answer.status, 404, path);
    }
    const found = await get(service, `/1/logs/${LOG}/events?${name}=x&source=polluted`);
    t.deepEqual([found.status, found.body], [200, []]);
    const query = encodeURIComponent(`GET events WHERE ${name.split(/[[.]/)[0]} = 'x'`);
    t.is((await get(service, `/1/logs/${LOG}/query?query=${query}`)).status, 400);
    t.is((await get(service, `/1/logs?fmt=${name}`)).status, 400);
  }
  t.is(({} as Record<string, unknown>)["polluted"], undefined);
  t.is(({} as Record<string, unknown>)["admin"], undefined);
});

test("the first value of a repeated field counts, wherever it is", async (t) => {
  const other = "lg_anotherkeyanotherkeyanotherkeyan";
  const send = (body: string, query = "") =>
    fetch(`${service.postUrl}/1/logs/${LOG}/events${query}`, {
      method: "POST",
      body,
      headers: { "Content-Type": "application/x-www-form-urlencoded" },
    });
  t.is((await send(`apikey=${KEY}&apikey=${other}&text=first&text=second`)).status, 201);
  t.is((await send(`apikey=${other}&apikey=${KEY}&text=first`)).status, 401);
  t.is((await send(`apikey[]=${KEY}&text=first`)).status, 401);
  t.is((await send(`apikey=${other}&text=first`, `?apikey=${KEY}`)).status, 401, "the form before the address");
  const twice = await get(service, `/1/logs/${LOG}/events?pagesize=1&pagesize=500&pagenum=1&pagenum=x`);
  t.is(twice.status, 200);
  t.is((twice.body as unknown[]).length <= 1, true);
});

test("no line break of a request gets into a response header or status line", async (t) => {
  const breaks = "%0d%0aX-Injected:%201%0d%0a%0d%0a<html>";
  const unicode = "\u560d\u560aX-Injected:1";
  const paths = [
    `/1/logs/${breaks}`,
    `/1/logs/${LOG}/events?pagenum=2&text=${breaks}`,
    `/1/logs/${LOG}/events?${breaks}=1&pagesize=1`,
    `/1/logs?fmt=${breaks}`,
    `/1/logs?fmt=jsonp&callback=${breaks}`,
    `/manage/1/accounts/${breaks}`,
    `/1/logs/${encodeURIComponent(unicode)}`,
    `/${breaks}`,
  ];
  for (const path of paths) {
    for (const port of [service.api!.port, service.post!.port]) {
      const heard = await exchange(
        port,
        `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${AUTHORIZATION}\r\nConnection: close\r\n\r\n`,
      );
      const [head = ""] = heard.text.split("\r\n\r\n", 1);
      t.is(statuses(heard).length, 1, path);
      t.false(/^X-Injected/im.test(head), path);
      t.false(/\n(?!\S+: )/.test(head.slice(head.indexOf("\n"))), `each line of the head is a header: ${path}`);
    }
  }
  // Records whose keys and addresses are in `Location`.
  for (const [path, body] of [
    ["/manage/1/accounts", { email: "eve@example.org\r\nX-Injected: 1", password: "correct horse" }],
    ["/manage/1/logs/first/classFilters", { key: "a\r\nX-Injected: 1", color: "red", tag: "a" }],
    ["/manage/1/accounts", { email: `"eve\\\r\n"@example.org`, password: "correct horse" }],
  ] as const) {
    const answer = await fetch(service.apiUrl + path, {
      method: "POST",
      headers: jsonHeaders,
      body: JSON.stringify(body),
    });
    t.is(answer.status, 400, JSON.stringify(body));
    t.is(answer.headers.get("X-Injected"), null);
  }
  const log = new URLSearchParams({ key: "new\r\nX-Injected: 1", display: "x\r\ny" });
  t.is((await fetch(`${service.apiUrl}/1/logs`, { method: "POST", headers, body: log })).status, 400);
});

test("no response is a page: nothing posted can run in a browser", async (t) => {
  const id = await stored({ text: "<script>alert(1)</script>", data: "@html\n<img src=x onerror=alert(1)>" });
  for (const path of [`/events/${id}`, `/events/${id}/data`, "/events", "/query?query=GET+%3Cscript%3E"]) {
    for (const fmt of ["json", "xml", "jsonp&callback=f"]) {
      const url = `${service.apiUrl}/1/logs/${LOG}${path}${path.includes("?") ? "&" : "?"}fmt=${fmt}`;
      const answer = await fetch(url, { headers: { ...headers, Accept: "text/html" } });
      t.regex(answer.headers.get("Content-Type") ?? "", /^(application\/json|text\/xml|application\/javascript);/);
      t.is(answer.headers.get("X-Content-Type-Options"), "nosniff");
    }
  }
});

test("an answer about a wrong body names ten faults at most", async (t) => {
  const body = JSON.stringify({ origins: Array.from({ length: 1_000 }, () => 1) });
  const answer = await fetch(`${service.apiUrl}/manage/1/logs/${LOG}`, { method: "PATCH", headers: jsonHeaders, body });
  const { error } = (await answer.json()) as { error: { code: string; message: string } };
  t.is(error.code, "bad_parameter");
  t.is(error.message.split("origins.").length - 1, 10, error.message.slice(0, 500));
});
