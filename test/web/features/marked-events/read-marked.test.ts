import test from "ava";

import type { RequestOptions, Client } from "../../../../src/web/parts/api/client.ts";
import type { EventRecord } from "../../../../src/web/parts/api/types.ts";
import { bookmarkBeside } from "../../../../src/web/features/marked-events/marked.ts";
import { readBookmarksBeside, readMarked } from "../../../../src/web/features/marked-events/read-marked.ts";
import { idOf } from "../../support/rows.ts";

const COUNT = 1_200;

function record(number: number): EventRecord {
  const created = `/Date(${number * 1_000})/`;
  return { id: idOf(number), log: "shop", text: `event ${number}`, created, bookmarks: [] } as unknown as EventRecord;
}

/** Answers lists of 1,200 bookmarks, a second apart, ordered and paged like the API. */
async function request(_path: string, { query = {} }: RequestOptions = {}) {
  const [from, to] = String(query["created"] ?? ":").split(":");
  const all = Array.from({ length: COUNT }, (_, i) => i + 1)
    .filter((number) => from === "" || number * 1_000 >= Number(from))
    .filter((number) => to === "" || number * 1_000 < Number(to));
  const ordered = query["order"] === "desc" ? all.toReversed() : all;
  const headers = new Headers({ "X-Total-Count": String(all.length) });
  return { body: ordered.slice(0, Number(query["pagesize"])).map(record), headers };
}

const client = { request } as unknown as Client;

test("the next page continues after the last event, without repeating it", async (t) => {
  const first = await readMarked(client, "bookmarks");
  t.deepEqual([first.events.length, first.total], [500, COUNT]);
  const second = await readMarked(client, "bookmarks", first.events);
  t.is(new Set(second.events.map(({ id }) => id)).size, second.events.length);
  t.is(second.events[500]?.text, "event 700");
});

test("a step from any of many bookmarks leads to the adjacent one", async (t) => {
  const step = async (from: number | null, by: 1 | -1) => {
    const place = from === null ? null : { id: idOf(from), created: from * 1_000 };
    const beside = await readBookmarksBeside(client, place?.created ?? null, by);
    return bookmarkBeside(beside, place, by)?.text ?? null;
  };
  t.is(await step(600, 1), "event 599");
  t.is(await step(600, -1), "event 601");
  t.is(await step(3, -1), "event 4");
  t.is(await step(3, 1), "event 2");
  t.is(await step(1, 1), null);
  t.is(await step(COUNT, -1), null);
  t.is(await step(null, 1), `event ${COUNT}`);
  t.is(await step(null, -1), "event 1");
});
