import test from "ava";

import { eventsOf } from "../ingest/posting.ts";
import { AUTHORIZATION, get, LOG, post, postOnce } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { codeOfGuide, ServiceCopy } from "./guides.ts";

const SCHEMA = "src/events/schema.ts";

/** Returns the regions of the events that parameters of a list, or a query, find. */
async function regionsFound(service: Service, path: string): Promise<string[]> {
  const { body } = await get(service, `/1/logs/${LOG}/${path}`);
  const regions = (body as { readonly region: string }[]).map(({ region }) => region);
  return regions.toSorted((a, b) => (a < b ? -1 : 1));
}

test("a field that is added by the guide is posted, listed, filtered, queried, grouped and exported", async (t) => {
  const copy = new ServiceCopy(t);
  const code = codeOfGuide("Add a field");
  t.deepEqual([...code.keys()], [SCHEMA]);
  copy.change(SCHEMA, /(EVENT_SCHEMA = \{\n)/, `$1${code.get(SCHEMA)!}`);
  copy.change(SCHEMA, /(KEYWORD_DESCRIPTIONS.* = \{\n)/, '$1  region: "The region in which it happened.",\n');
  copy.change("src/store/duckdb/database/schema.ts", /\bVERSION = \d+/, "VERSION = 1000");
  copy.change("src/store/elasticsearch/documents/mapping.ts", /LAYOUT_VERSION = \d+/, "LAYOUT_VERSION = 1000");
  await copy.run("infra/generate.ts");
  await copy.checkTypes();
  const service = await copy.start(t);

  t.is((await post(service, { text: "by form", region: "North", user: "ann" })).status, 201);
  const lines = [
    { text: "by line", source: "web", region: "Süd" },
    { text: "by line", region: "\u212ALEIN" },
    { text: "long", region: "x".repeat(201) },
  ];
  await postOnce(service, lines);
  const listed = await eventsOf(service, 4);
  t.true(listed.some(({ text }) => text.includes("region has 201 characters, at most 200 are allowed")));
  t.deepEqual(await regionsFound(service, "events?source=web"), ["Süd"]);
  t.deepEqual(await regionsFound(service, "events?region=north"), ["North"]);
  const query = (lql: string): Promise<string[]> => regionsFound(service, `query?query=${encodeURIComponent(lql)}`);
  t.deepEqual(await query("GET events WHERE region = 'klein' COLUMNS(region)"), ["\u212ALEIN"]);
  t.deepEqual(await query("GET events WHERE region CONTAINS 'Ü' SORT region"), ["Süd"]);
  t.deepEqual(await query("GET events WHERE region IS NULL"), [""]);
  const grouped = await get(service, `/1/logs/${LOG}/query?query=${encodeURIComponent("GET events GROUPBY region")}`);
  t.deepEqual(
    (grouped.body as { key: string; count: string }[]).map(({ key }) => key),
    ["", "\u212ALEIN", "North", "Süd"],
  );
  const fields = await get(service, `/1/logs/${LOG}/fields?prefix=region`);
  t.is((fields.body as { count: unknown }[]).length, 1);
  const headers = { Authorization: AUTHORIZATION };
  const csv = await (await fetch(`${service.apiUrl}/1/logs/${LOG}/export?format=csv&region=north`, { headers })).text();
  t.regex(csv, /,region\r\n.*by form.*,North\r\n$/);
  const xml = await (await fetch(`${service.apiUrl}/1/logs/${LOG}/events?fmt=xml&region=north`, { headers })).text();
  t.regex(xml, /<region>North<\/region>/);
});
