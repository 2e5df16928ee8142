import test from "ava";
import * as fc from "fast-check";
import { inspect, isDeepStrictEqual } from "node:util";

import { storedEvents } from "../reference/arbitrary.ts";
import { evaluateFields } from "../reference/fields.ts";
import type { FieldSummary, FieldsQuery, Store } from "../../src/store/store.ts";
import { event, listPlan, MORNING, newLog, write } from "./store-fixture.ts";
import type { StoreAdapter } from "./store-fixture.ts";

const ASKED = { from: null, to: null, prefix: "", values: 10 } as const;
const ROUNDS = 5;

/** Tests of the fields and attributes of a log's events. */
export function fieldsContract(adapter: StoreAdapter): void {
  countingContract(adapter);
  kindContract(adapter);
  namesContract(adapter);
  boundContract(adapter);
  differentialContract(adapter);
}

function countingContract({ name, open }: StoreAdapter): void {
  test(`${name}: fields and attributes are counted with their values, over a range and by prefix`, async (t) => {
    const store = await open(t);
    const log = newLog();
    await write(t, store, [
      event(log, { text: "a 1", source: "Web", tags: ["x", "y"], attributes: '{"s":500,"t":["a","b"]}' }),
      event(log, { text: "a 2", source: "web", created: MORNING + 1, value: 1.5, attributes: '{"s":"500","t":"b"}' }),
      event(log, { text: "b", source: "Web", created: MORNING + 2, tags: ["y"], data: "d", geo: { lat: 1, lon: 2 } }),
      event(newLog(), { attributes: '{"other":1}', user: "ann" }),
    ]);
    const facts = (name: string, kind: FieldSummary["kind"], count: number, ...values: [string, number][]) => ({
      name,
      kind,
      count,
      values: values.map(([value, number]) => ({ value, count: number })),
    });
    t.deepEqual(await fieldsOf(store, { ...ASKED, log }), [
      facts("created", "time", 3),
      facts("text", "text", 3),
      facts("tags", "text", 2, ["y", 2], ["x", 1]),
      facts("source", "text", 3, ["Web", 2], ["web", 1]),
      facts("data", "text", 1),
      facts("geo", "place", 1),
      facts("value", "number", 1, ["1.5", 1]),
      facts("pattern", "text", 3, ["a <n>", 2], ["b", 1]),
      facts("@s", "number", 2, ["500", 2]),
      facts("@t", "text", 2, ["b", 2], ["a", 1]),
    ]);
    const range = { from: MORNING + 1, to: MORNING + 2 };
    t.deepEqual(await fieldsOf(store, { ...ASKED, ...range, log, prefix: "@", values: 1 }), [
      facts("@s", "number", 1, ["500", 1]),
      facts("@t", "text", 1, ["b", 1]),
    ]);
    t.deepEqual(await fieldsOf(store, { ...ASKED, log, prefix: "s", values: 0 }), [facts("source", "text", 3)]);
    t.deepEqual(await fieldsOf(store, { ...ASKED, log: newLog() }), []);
  });
}

function kindContract({ name, open }: StoreAdapter): void {
  test(`${name}: the kind of an attribute is the kind that all of its values have or spell`, async (t) => {
    const store = await open(t);
    const log = newLog();
    await write(t, store, [
      event(log, { attributes: '{"a":1,"b":true,"c":"x","d":1,"e":true,"f":"","g":"1e3"}' }),
      event(log, { attributes: '{"a":["007",".5"],"b":"false","c":"y","d":"x","e":1,"f":"","g":1e+21}' }),
    ]);
    const fields = await fieldsOf(store, { ...ASKED, log, prefix: "@" });
    t.deepEqual(
      fields.map((field) => `${field.name} ${field.kind}`),
      ["@a number", "@b boolean", "@c text", "@d mixed", "@e mixed", "@f text", "@g mixed"],
    );
  });
}

function namesContract({ name, open }: StoreAdapter): void {
  test(`${name}: returns the names of a log's attributes, whatever characters they contain`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const names = ["__proto__", "10", "2", "A", "a", "a.b", "odd 'name'", "Größe", "\u0000", "*", "@x"];
    for (const [i, attribute] of names.entries()) {
      await write(t, store, [event(log, { attributes: `{${JSON.stringify(attribute)}:${i}}` })]);
    }
    const found = new Set(await store.attributeNames(log));
    for (const attribute of names) t.true(found.has(attribute), attribute);
    t.is((await fieldsOf(store, { ...ASKED, log, prefix: "@" })).length, names.length);
    t.deepEqual(await store.attributeNames(newLog()), []);
  });
}

function boundContract({ name, open }: StoreAdapter): void {
  test(`${name}: lists the most frequent attributes, counts the others, and finds them by name`, async (t) => {
    const store = await open(t, 3);
    const log = newLog();
    const names = ["rare", "odd", "once", "only", "also", "common", "often", "usual"];
    for (const [i] of names.entries()) {
      const attributes = Object.fromEntries(names.slice(i).map((attribute) => [attribute, [i, `V${i}`]]));
      await write(t, store, [event(log, { attributes: JSON.stringify(attributes), text: `event ${i}` })]);
    }
    const asked = { ...ASKED, log, prefix: "@", values: 1 };
    const { fields, unlisted, withoutValues } = await store.fields(asked);
    t.deepEqual(
      fields.map((field) => [field.name, field.kind, field.count, field.values]),
      [
        ["@common", "mixed", 6, [{ value: "0", count: 1 }]],
        ["@often", "mixed", 7, [{ value: "0", count: 1 }]],
        ["@usual", "mixed", 8, [{ value: "0", count: 1 }]],
      ],
    );
    t.is(unlisted, 5);
    t.is(withoutValues, 0);
    t.is((await store.fields({ ...asked, prefix: "" })).unlisted, 5);
    t.deepEqual(new Set(await store.attributeNames(log)), new Set(["usual", "often", "common"]));

    // A prefix is applied first, so that it leads to each name.
    const byPrefix = await store.fields({ ...asked, prefix: "@o" });
    t.deepEqual([byPrefix.fields.map((field) => field.name), byPrefix.unlisted], [["@often", "@once", "@only"], 1]);
    const isPresent = { kind: "not", condition: { kind: "absent", field: "@rare" } } as const;
    const found = await store.list(listPlan(log, { where: isPresent }));
    t.deepEqual(
      found.rows.map(({ text, attributes }) => [text, JSON.parse(attributes!).rare]),
      [["event 0", [0, "V0"]]],
    );
  });

  test(`${name}: as many attributes are listed as may be, each with its values, none left out`, async (t) => {
    const store = await open(t, 40);
    const log = newLog();
    const attributes = (i: number): string =>
      JSON.stringify(Object.fromEntries(Array.from({ length: 40 }, (_, k) => [`${k % 2 === 0 ? "ä" : "a"}${k}`, i])));
    await write(
      t,
      store,
      Array.from({ length: 3 }, (_, i) => event(log, { attributes: attributes(i % 2) })),
    );
    const { fields, unlisted, withoutValues } = await store.fields({ ...ASKED, log, prefix: "@" });
    t.is(fields.length, 40);
    const values = [
      { value: "0", count: 2 },
      { value: "1", count: 1 },
    ];
    for (const field of fields) t.deepEqual([field.count, field.values], [3, values], field.name);
    t.deepEqual([unlisted, withoutValues], [0, 0]);
  });
}

async function fieldsOf(store: Store, query: FieldsQuery): Promise<readonly FieldSummary[]> {
  const { fields, unlisted, withoutValues } = await store.fields(query);
  if (unlisted > 0 || withoutValues > 0) throw new Error(`${unlisted} unlisted, ${withoutValues} without values`);
  return fields;
}

function differentialContract({ name, open }: StoreAdapter): void {
  test(`${name}: the fields equal those of the reference`, async (t) => {
    const store = await open(t);
    for (let round = 0; round < ROUNDS; round++) {
      const logs = [newLog(), newLog()];
      const events = fc.sample(storedEvents(logs, { minLength: 20, maxLength: 40 }), 1)[0]!;
      await write(t, store, events);
      const moments = [null, ...events.slice(0, 5).map(({ created }) => created)];
      const questions = fc.sample(
        fc.record({
          log: fc.constantFrom(...logs),
          from: fc.constantFrom(...moments),
          to: fc.constantFrom(...moments),
          prefix: fc.constantFrom("", "", "@", "t", "@h", "@H", "x"),
          values: fc.constantFrom(0, 1, 3, 10),
        }),
        12,
      );
      for (const question of questions) {
        const answer = await fieldsOf(store, question);
        const expected = evaluateFields(events, question);
        if (!isDeepStrictEqual(answer, expected)) return t.fail(differenceOf(question, answer, expected));
      }
    }
    t.pass();
  });
}

function differenceOf(
  question: FieldsQuery,
  answer: readonly FieldSummary[],
  expected: readonly FieldSummary[],
): string {
  const other = expected.find((field, i) => !isDeepStrictEqual(field, answer[i]));
  const found = answer.find((field, i) => !isDeepStrictEqual(field, expected[i]));
  return inspect({ question, found, expected: other }, { depth: 4, breakLength: 120 }).slice(0, 2_000);
}
