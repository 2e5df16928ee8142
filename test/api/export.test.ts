import test from "ava";
import type { ExecutionContext } from "ava";
import { connect } from "node:net";
import { gunzipSync } from "node:zlib";

import { csvLine } from "../../src/api/export/csv.ts";
import { pagesOfEvents } from "../../src/api/export/events.ts";
import type { LogKey } from "../../src/events/event.ts";
import { planFilters } from "../../src/query/filters.ts";
import type { Store } from "../../src/store/store.ts";
import { KINDS } from "../support/engine-kinds.ts";
import { AUTHORIZATION, get, KEY, LOG, postOnce, serviceOf } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { until } from "../support/until.ts";

type Event = { readonly id: string; readonly created: string; readonly text: string; readonly tags: readonly string[] };

/** More than two of the pages that an export requests from the store. */
const COUNT = 10_500;

async function fill(service: Service, count: number): Promise<void> {
  for (let from = 0; from < count; from += 2_500) {
    const events = Array.from({ length: Math.min(2_500, count - from) }, (_, i) => ({
      text: `line ${from + i}`,
      source: i % 3 === 0 ? "web" : "db",
      tags: ["a", "b"],
      // Some events share a moment, so that pages end between equal ones.
      created: 1_700_000_000_000 + Math.floor((from + i) / 7),
    }));
    await postOnce(service, events);
  }
  await until(
    async () =>
      (await get(service, `/1/logs/${LOG}/events?pagesize=1&total=exact`)).headers.get("x-total-count") ===
      String(count),
    { what: "all events" },
  );
}

async function post(service: Service, events: readonly object[]): Promise<void> {
  await postOnce(service, events);
  const stored = async (): Promise<boolean> =>
    (await get(service, `/1/logs/${LOG}/events`)).headers.get("x-total-count") === String(events.length);
  await until(stored, { what: "all events" });
}

async function exported(service: Service, query: string): Promise<{ response: Response; text: string }> {
  const response = await fetch(`${service.apiUrl}/1/logs/${LOG}/export?${query}`, {
    headers: { Authorization: AUTHORIZATION },
  });
  return { response, text: await response.text() };
}

function parseLines(text: string): unknown[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
}

for (const kind of KINDS) {
  test(`${kind}: an export contains every match once, in order`, async (t) => {
    t.timeout(240_000);
    const service = await serviceOf(t, kind);
    await fill(service, COUNT);
    const { response, text } = await exported(service, "trailer=true");
    t.is(response.status, 200);
    t.is(response.headers.get("content-type"), "application/x-ndjson; charset=utf-8");
    const lines = parseLines(text);
    t.deepEqual(lines.pop(), { complete: true, count: COUNT });
    const events = lines as Event[];
    t.is(new Set(events.map(({ id }) => id)).size, COUNT);
    t.regex(events[0]!.created, /^2023-11-14T22:13:20\.000Z$/);
    const inOrder = events.toSorted((a, b) =>
      a.created === b.created ? (a.id < b.id ? -1 : 1) : a.created < b.created ? -1 : 1,
    );
    t.deepEqual(events, inOrder);
    const latestFirst = parseLines((await exported(service, "order=desc")).text) as Event[];
    t.deepEqual(latestFirst, events.toReversed());
    const filtered = parseLines((await exported(service, "source=WEB")).text) as Event[];
    t.is(filtered.length, events.filter((_, i) => (i % 2_500) % 3 === 0).length);
    await hasFormats(t, service);
    await isCompressed(t, service);
  });
}

async function hasFormats(t: ExecutionContext, service: Service): Promise<void> {
  const csv = await exported(service, "format=csv&text=line%2012%24");
  t.is(csv.response.headers.get("content-type"), "text/csv; charset=utf-8; header=present");
  const [header, row, ...rest] = csv.text.split("\r\n");
  t.is(header, "id,created,text,link,hash,tags,source,log,class,data,geo,value,user,filter,bookmarks,alerts");
  t.regex(row!, /^[0-9a-f]{24},2023-11-14T22:13:20\.001Z,line 12,,[^,]+,a b,web,first,,false,,,,,,$/);
  t.deepEqual(rest, [""]);
  const xml = await exported(service, "format=xml&text=line%2012%24");
  t.regex(xml.text, /^<\?xml version="1\.0" encoding="utf-8"\?><results><event><id>[0-9a-f]{24}<\/id>.*<\/results>\n$/);
  t.is((await exported(service, "format=xml&source=none")).text.trimEnd().slice(-10), "</results>");
  for (const query of ["format=pdf", "trailer=yes", "format=csv&trailer=true", "created=x"]) {
    t.is((await exported(service, query)).response.status, 400, query);
  }
}

async function isCompressed(t: ExecutionContext, service: Service): Promise<void> {
  const { apiUrl } = service;
  const { hostname, port } = new URL(apiUrl);
  const socket = connect(Number(port), hostname);
  t.teardown(() => socket.destroy());
  const head = `GET /1/logs/${LOG}/export?trailer=true HTTP/1.0\r\nHost: ${hostname}\r\nAuthorization: ${AUTHORIZATION}\r\n`;
  socket.write(`${head}Accept-Encoding: gzip\r\nConnection: close\r\n\r\n`);
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  const answer = Buffer.concat(chunks);
  const end = answer.indexOf("\r\n\r\n");
  t.regex(answer.toString("latin1", 0, end), /Content-Encoding: gzip/);
  const lines = gunzipSync(answer.subarray(end + 4))
    .toString()
    .trimEnd()
    .split("\n");
  t.is(lines.at(-1), `{"complete":true,"count":${COUNT}}`);
}

test("an export reads one page ahead while it writes, and no further", async (t) => {
  const service = await serviceOf(t, "embedded");
  await fill(service, 8_000);
  const { store } = service.ports;
  let asked = 0;
  let answered = 0;
  const counting: Pick<Store, "list" | "rows" | "annotations"> = {
    list: (plan) => store.list(plan),
    annotations: (ids) => store.annotations(ids),
    async rows(plan) {
      asked += 1;
      const rows = await store.rows(plan);
      answered += 1;
      return rows;
    },
  };
  const plan = { ...planFilters(new URLSearchParams(), { from: { kind: "events" }, logs: [LOG as LogKey] }), skip: 0 };
  const pages = pagesOfEvents(
    counting,
    { ...plan, take: 7_000 },
    { ask: (question) => question(), now_ms: Date.now() },
  );
  const first = await pages.next();
  await until(() => answered === 2, { what: "the second page, of which nobody has asked for an event" });
  t.is(asked, 2);
  const events = [first.value!];
  for await (const page of pages) events.push(page);
  t.is(events.flat().length, 7_000);
  t.is(new Set(events.flat().map(({ row }) => row.id)).size, 7_000);
  t.is(asked, events.length, "no page is read that is not written");
});

test("groups are exported with their keys, and values that may contain blanks as JSON", async (t) => {
  const service = await serviceOf(t, "embedded");
  await post(service, [
    { text: "a", source: "web 1", tags: ["x", "y"], attributes: { codes: ["a b", 2], one: [1] } },
    { text: "b", source: "web 1", attributes: { codes: "=1" } },
  ]);
  const groups = encodeURIComponent("GET events GROUPBY source, @codes COLUMNS(KEY, COUNT)");
  t.is(
    (await exported(service, `format=csv&query=${groups}`)).text,
    [
      "key,keys,count",
      'web 1,"[""web 1"",""2""]",1',
      'web 1,"[""web 1"",""=1""]",1',
      'web 1,"[""web 1"",""a b""]",1',
      "",
    ].join("\r\n"),
  );
  const record = "<aggregate><key>web 1</key><keys><key>web 1</key><key>2</key></keys><count>1</count></aggregate>";
  t.true((await exported(service, `format=xml&query=${groups}`)).text.includes(`<results>${record}`));
  const columns = encodeURIComponent("GET events SORT text COLUMNS(text, tags, @codes, @one)");
  t.is(
    (await exported(service, `format=csv&query=${columns}`)).text,
    ["text,tags,'@codes,'@one", 'a,x y,"[""a b"",2]",[1]', "b,,'=1,", ""].join("\r\n"),
  );
});

test("an export reports unknown names, and takes a query or filters, but not both", async (t) => {
  const service = await serviceOf(t, "embedded");
  await post(service, [{ text: "a", attributes: { took: 1 } }]);
  const hint = "No event has @tok; did you mean @took?";
  for (const query of ["attr.tok=1", `query=${encodeURIComponent("GET events WHERE @tok = 1")}`]) {
    for (const path of ["export", "tail"]) {
      const aborted = new AbortController();
      const response = await fetch(`${service.apiUrl}/1/logs/${LOG}/${path}?${query}`, {
        headers: { Authorization: AUTHORIZATION },
        signal: aborted.signal,
      });
      t.is(response.headers.get("x-loggia-hint"), hint, `${path}?${query}`);
      aborted.abort();
    }
  }
  const classes = await exported(service, `query=${encodeURIComponent("GET events.zzz")}`);
  t.is(classes.response.headers.get("x-loggia-hint"), "No event and no class filter has the class zzz.");
  for (const filter of ["source=web", "attr.took=1", "sinceid=000000000000000000000000"]) {
    for (const path of ["export", "tail"]) {
      const response = await get(service, `/1/logs/${LOG}/${path}?query=GET%20events&${filter}`);
      t.is(response.status, 400);
      t.regex(JSON.stringify(response.body), /is for lists; with a query, write it in WHERE/);
    }
  }
});

test("the format of an export is chosen by format, fmt or Accept, in this order", async (t) => {
  const service = await serviceOf(t, "embedded");
  await post(service, [{ text: "a" }]);
  const asked = (query: string, accept: string): Promise<Response> =>
    fetch(`${service.apiUrl}/1/logs/${LOG}/export?${query}`, {
      headers: { Authorization: AUTHORIZATION, Accept: accept },
    });
  for (const [query, accept, type] of [
    ["", "*/*", "application/x-ndjson"],
    ["", "text/csv", "text/csv"],
    ["", "application/x-ndjson;q=0.2, application/xml;q=0.3", "text/xml"],
    ["", "image/png", "application/x-ndjson"],
    ["fmt=csv", "text/xml", "text/csv"],
    ["fmt=XML", "*/*", "text/xml"],
    ["fmt=json", "text/csv", "application/x-ndjson"],
    ["fmt=ndjson", "text/csv", "application/x-ndjson"],
    ["fmt=csv&format=xml", "*/*", "text/xml"],
    ["fmt=&format=", "text/csv", "text/csv"],
  ] as const) {
    const response = await asked(query, accept);
    t.is(response.status, 200, `${query} ${accept}`);
    t.is(response.headers.get("content-type")?.split(";")[0], type, `${query} ${accept}`);
    t.regex(response.headers.get("content-disposition")!, new RegExp(`\\.${type.replace(/.*[/-]/, "")}"$`));
    await response.text();
  }
  for (const [query, message] of [
    ["fmt=tsv", 'The parameter fmt is "tsv"; it must be ndjson, csv or xml'],
    ["format=json", 'The parameter format is "json"; it must be ndjson, csv or xml'],
    ["fmt=csv&trailer=true", "The parameter trailer is for format=ndjson; csv has no such line"],
  ] as const) {
    const response = await asked(query, "*/*");
    t.is(response.status, 400, query);
    t.is(((await response.json()) as { error: { message: string } }).error.message, message);
  }
  const jsonp = await fetch(`${service.apiUrl}/1/logs/${LOG}/export?fmt=jsonp&callback=f&apikey=${KEY}`);
  t.is(jsonp.status, 400);
  t.regex(await jsonp.text(), /^\/\*\*\/f\(.*it must be ndjson, csv or xml/);
  t.regex(await (await asked("fmt=xml&pagesize=0&text=(", "*/*")).text(), /^<\?xml.*<error>/s);
});

test("an export that the store interrupts is aborted, not ended as if it were complete", async (t) => {
  const service = await serviceOf(t, "embedded");
  await fill(service, 12_500);
  const response = await fetch(`${service.apiUrl}/1/logs/${LOG}/export`, { headers: { Authorization: AUTHORIZATION } });
  t.is(response.status, 200);
  const reader = response.body!.getReader();
  await reader.read();
  // The stream is not read, so it stops before its last page, which the closing service refuses.
  const closed = service.close();
  const isRefused = () =>
    fetch(`${service.apiUrl}/health/live`).then(
      () => false,
      () => true,
    );
  await until(isRefused, { what: "the API to close" });
  await t.throwsAsync(async () => {
    while (!(await reader.read()).done);
  });
  await closed;
});

test("no part of a cell is a formula where semicolons or tabs separate cells", (t) => {
  t.is(csvLine(["a;=1", "a; @x", "a;＝1;+b", "a\t=1"]), "a;'=1,a; '@x,a;'＝1;'+b,a\t'=1\r\n");
  t.is(csvLine(['a;"=1"', "a\n=1", "a\r\n-x"]), `"a;""'=1""","a\n'=1","a\r\n'-x"\r\n`);
  t.is(csvLine(["a;-5;b=1", "a; +4.25 ;c", "a;b-c"]), "a;-5;b=1,a; +4.25 ;c,a;b-c\r\n");
  t.is(csvLine(["=1;=2", "-5;-6"]), "'=1;'=2,'-5;-6\r\n");
  const start_ms = performance.now();
  csvLine(["\n".repeat(100_000), `${"; ".repeat(50_000)}=`, "\n=".repeat(50_000), " ".repeat(100_000)]);
  t.true(performance.now() - start_ms < 5_000);
});

test("cells that a spreadsheet would execute begin with an apostrophe, and numbers do not", (t) => {
  t.is(csvLine(["=1+1", "-5", "+4.25", "-5a", "@x", "-", "a=b"]), "'=1+1,-5,+4.25,'-5a,'@x,'-,a=b\r\n");
  const hidden = ["\t=1", "\r=1", " @x", "\ufeff+a", "\u00a0-a", "\u200b=1", "\0=1", "\n\t -x"];
  t.is(csvLine(hidden), hidden.map((cell) => (/[\r\n]/.test(cell) ? `"'${cell}"` : `'${cell}`)).join(",") + "\r\n");
  t.is(csvLine([" -5", "\ta", " a=b", "-5 ", " "]), " -5,\ta, a=b,-5 , \r\n");
  t.is(csvLine(["＝1", "＋1", "－1", "＠x", "﹦1", " ＝1"]), "'＝1,'＋1,'－1,'＠x,'﹦1,' ＝1\r\n");
  t.is(csvLine(['say "hi"', "a,b", "two\nlines", ""]), '"say ""hi""","a,b","two\nlines",\r\n');
});
