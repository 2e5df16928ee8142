import test from "ava";
import * as fc from "fast-check";

import { EVENT_FIELDS } from "../../src/events/field-order.ts";
import { showGroups } from "../../src/api/groups/view.ts";
import { eventAsJson, listEvents, PLAIN } from "../../src/api/event-view.ts";
import { formatNumber } from "../../src/api/view.ts";
import { MORNING, event as stored, groupPlan, newLog, newUser, row } from "../contract/store-fixture.ts";
import { writeLong } from "../../src/http/streamed-list.ts";
import type { LongList } from "../../src/http/streamed-list.ts";
import { fixedZone } from "../../src/query/zone.ts";
import { Scheduler } from "../../src/scheduling/scheduler.ts";

const scheduler = new Scheduler();

for (const [number, expected] of [
  [null, "0"],
  [0, "0"],
  [12.5, "12.5"],
  [-3, "-3"],
  [0.1 + 0.2, "0.3"],
  [1 / 3, "0.333333333333333"],
  [1e-7, "0.0000001"],
  [-1.5e-9, "-0.0000000015"],
  [1e21, "1000000000000000000000"],
  [2 ** 60, "1152921504606850000"],
] as const) {
  test(`${number} is written ${expected}`, (t) => {
    t.is(formatNumber(number), expected);
  });
}

test("any number is formatted as the nearest plain decimal of at most fifteen digits", (t) => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, min: -1e308, max: 1e308 }), (number) => {
      const text = formatNumber(number);
      t.regex(text, /^-?\d+(\.\d+)?$/);
      t.true(
        text
          .replace(/^-?0*\.?0*/, "")
          .replace(".", "")
          .replace(/0+$/, "").length <= 15,
      );
      t.is(Number(text), Number(number.toPrecision(15)) + 0);
    }),
  );
});

test("keys of number groups are plain decimals too, and the key of absent values is empty", (t) => {
  const by = [{ kind: "field", field: "value" }] as const;
  const columns = [{ name: "key", shows: "key" }] as const;
  const plan = groupPlan(newLog(), { by });
  const above = { rates: [], fill: null, after: null, compare: null, now_ms: 0, zone: fixedZone(0) };
  const question = { kind: "groups", plan, columns, ...above } as const;
  const found = [1e21, null].map((key) => ({ keys: [key], values: [2, 1e21, 2e21, 1e21, 1e21], previous: null }));
  const groups = showGroups(found, question);
  t.deepEqual(groups.show(0, 2), [{ key: "1000000000000000000000" }, { key: "" }]);
});

const NASTY = 'a "quote", a \\ and a \u2028, \n\ud800 \\/ /Date(1)/ "created":"/Date(2)/"';

test("the JSON of events has the requested fields in a fixed order, and escapes only the slashes of moments", async (t) => {
  const event = stored(newLog(), { created: -1, text: NASTY, tags: ["a", NASTY], user: NASTY, value: -0.5, data: "d" });
  const plain = row(stored(newLog(), { created: MORNING }));
  const marked = { bookmarks: [newUser(), newUser()], alerts: [newUser()] };
  const marks = new Map([[event.id, marked]]);
  const expected = [
    { ...row(event), filter: null, ...marked },
    { ...plain, filter: null, bookmarks: [], alerts: null },
  ];
  const jsonOf = (fields: readonly (typeof EVENT_FIELDS)[number][]): string =>
    `[${expected
      .map((record) => {
        const parts = fields.map((field) => {
          const json = field === "created" ? String.raw`"\/Date(${record.created})\/"` : JSON.stringify(record[field]);
          return `"${field}":${json}`;
        });
        return `{${parts.join(",")}}`;
      })
      .join(",")}]`;
  const rows = [row(event), plain];
  t.is(await written("json", listEvents(rows, marks)), jsonOf(EVENT_FIELDS));
  t.is(`[${rows.map((each) => eventAsJson(each, marks.get(each.id), PLAIN)).join(",")}]`, jsonOf(EVENT_FIELDS));
  t.is(await written("json", listEvents([], marks)), "[]");
  await fc.assert(
    fc.asyncProperty(fc.subarray([...EVENT_FIELDS], { minLength: 1 }), async (columns) => {
      t.is(await written("json", listEvents(rows, marks, { columns, attributes: false })), jsonOf(columns));
    }),
    { examples: [[["id"]], [["created"]], [["id", "created"]], [["created", "alerts"]]] },
  );
});

const SHAPES: readonly [attributes: string | null, json: string, xml: string][] = [
  [null, "{}", "<attributes/>"],
  [
    '{"10":1,"__proto__":true,"codes":[1,"<a>"],"odd \\"name\\"":"","one":[7]}',
    '{"10":1,"__proto__":true,"codes":[1,"<a>"],"odd \\"name\\"":"","one":[7]}',
    '<attributes><attribute name="10">1</attribute><attribute name="__proto__">true</attribute>' +
      '<attribute name="codes">1</attribute><attribute name="codes">&lt;a&gt;</attribute>' +
      '<attribute name="odd &quot;name&quot;"/><attribute name="one">7</attribute></attributes>',
  ],
];
for (const [attributes, json, xml] of SHAPES) {
  test(`attributes are the last field of an event, as in ${json}`, async (t) => {
    const one = row(stored(newLog(), { attributes }));
    const plain = listEvents([one], new Map());
    const shown = listEvents([one], new Map(), { columns: null, attributes: true });
    t.is(await written("json", shown), `${(await written("json", plain)).slice(0, -2)},"attributes":${json}}]`);
    const before = (await written("xml", plain)).replace("</event></results>", "");
    t.is(await written("xml", shown), `${before}${xml}</event></results>`);
    const list = listEvents([one], new Map(), { columns: ["text", "attributes"], attributes: true });
    t.is(await written("json", list), `[{"text":${JSON.stringify(one.text)},"attributes":${json}}]`);
  });
}

test("columns show single attributes by name, and the pattern", async (t) => {
  const one = row(stored(newLog(), { text: "took 5 ms", attributes: '{"__proto__":[1],"http.status":500}' }));
  const columns = ["text", "pattern", "@http.status", "@__proto__", "@none"] as const;
  const shown = listEvents([one], new Map(), { columns, attributes: false });
  t.is(
    await written("json", shown),
    '[{"text":"took 5 ms","pattern":"took <n> ms","@http.status":500,"@__proto__":[1],"@none":null}]',
  );
  t.regex(
    await written("xml", shown),
    /<event><text>took 5 ms<\/text><pattern>took &lt;n&gt; ms<\/pattern><attributes><attribute name="http.status">500<\/attribute><attribute name="__proto__">1<\/attribute><\/attributes><\/event>/,
  );
});

async function written(kind: "json" | "xml", list: LongList): Promise<string> {
  return (await writeLong({ kind }, list, () => true, scheduler)).payload.toString();
}
