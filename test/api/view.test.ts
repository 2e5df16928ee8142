import test from "ava";
import * as fc from "fast-check";

import { showGroups } from "../../src/api/groups/view.ts";
import { formatNumber, showEvent, showEvents } from "../../src/api/view.ts";
import { MORNING, event as stored, groupPlan, newLog, newUser, row } from "../contract/store-fixture.ts";
import { EVENT_FIELDS } from "../../src/query/plan.ts";
import { fixedZone } from "../../src/query/zone.ts";

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

test("any number is a plain decimal of at most fifteen digits, and the nearest such", (t) => {
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

test("the groups of a number are keyed by plain decimals too, and absence by nothing", (t) => {
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

test("the JSON of events has the fields that are asked for, in one order, and escapes the slashes of moments alone", (t) => {
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
  t.is(showEvents(rows, marks).json(), jsonOf(EVENT_FIELDS));
  t.is(`[${rows.map((each) => showEvent(each, marks.get(each.id)).json()).join(",")}]`, jsonOf(EVENT_FIELDS));
  t.is(showEvents([], marks).json(), "[]");
  fc.assert(
    fc.property(fc.subarray([...EVENT_FIELDS], { minLength: 1 }), (columns) => {
      t.is(showEvents(rows, marks, columns).json(), jsonOf(columns));
    }),
    { examples: [[["id"]], [["created"]], [["id", "created"]], [["created", "alerts"]]] },
  );
});
