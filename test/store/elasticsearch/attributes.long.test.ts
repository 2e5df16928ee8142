import type { LogKey } from "../../../src/events/event.ts";
import { event, MORNING, newLog, write } from "../../contract/store-fixture.ts";
import { fields } from "../../../src/store/elasticsearch/read/fields.ts";
import { evaluateFields } from "../../reference/fields.ts";
import { client, serially, open, attributes, COUNT, listsAgree, agreeOnGroups } from "./attributes-fixture.ts";
import { Scheduler } from "../../../src/scheduling/scheduler.ts";

serially("attributes: ten thousand names in one log do not fail and leave columns for other logs", async (t) => {
  const { store, names, reopen } = await open(t);
  const [wild, calm] = [newLog(), newLog()];
  const events = Array.from({ length: 200 }, (_, i) => {
    const odd = Array.from(
      { length: 50 },
      (_, k) => [`name ${i * 50 + k}`, k % 2 === 0 ? i * 50 + k : `V${k}`] as const,
    );
    return event(wild, { created: MORNING + i, attributes: attributes({ common: i % 7, ...Object.fromEntries(odd) }) });
  });
  await write(t, store, events.slice(0, 100));
  // Another process sees the names that this one has stored.
  const other = await reopen();
  await write(t, other, events.slice(100));
  const calmEvents = Array.from({ length: 20 }, (_, i) =>
    event(calm, {
      created: MORNING + i,
      attributes: attributes({ "calm.took": i * 1.5, "calm.kind": i % 3 === 0 ? "A" : "b" }),
    }),
  );
  await write(t, other, calmEvents);

  const [mapping] = Object.values(await client.indices.getMapping({ index: names.events }));
  const mapped = JSON.stringify(mapping).match(/name%20\d+/g) ?? [];
  t.true(mapped.length > 100 && new Set(mapped).size <= 256, `${mapped.length} columns`);
  t.true(JSON.stringify(mapping).includes("calm%2Etook"));

  // The last names have no columns, the first one has.
  for (const name of ["@name 0", "@name 9998", "@name 9999", "@common"] as const) {
    for (const where of [
      { kind: "number", field: name, op: ">=", value: 4 },
      { kind: "text", field: name, op: "=", value: "v49" },
      { kind: "contains", field: name, value: "v4" },
      { kind: "not", condition: { kind: "absent", field: name } },
    ] as const) {
      await listsAgree(t, store, events, { where });
    }
    await listsAgree(t, store, events, { sort: [{ field: name, direction: "desc" }] });
    await agreeOnGroups(t, store, events, { by: [{ kind: "field", field: name }] });
    await agreeOnGroups(t, store, events, {
      by: [{ kind: "bands", of: name, bounds: [3, 9_998] }],
      aggregates: [COUNT, { kind: "sum", of: name }, { kind: "distinct", field: name }, { kind: "last", field: name }],
    });
  }
  const known = await store.attributeNames(wild);
  t.is(known.length, 10_000);
  t.true(known.includes("common"));
  const asked = { log: wild, from: null, to: null, prefix: "@name 99", values: 2 };
  t.deepEqual((await store.fields(asked)).fields, evaluateFields(events, asked));
  // Too many events without columns are not read. The values of complete columns are still listed.
  const all = { log: wild, from: null, to: null, prefix: "@name 10", values: 2 };
  const { fields: some, withoutValues } = await fields(client, names, all, {
    most: 10_000,
    mostRest: 10,
    querying: new Scheduler().querying,
  });
  const expected = new Map(evaluateFields(events, all).map((each) => [each.name, each]));
  t.is(some.length, 111);
  for (const field of some) {
    const whole = expected.get(field.name)!;
    t.deepEqual(field, { ...whole, values: field.values.length === 0 ? [] : whole.values }, field.name);
  }
  const listed = some.filter(({ values }) => values.length > 0).length;
  t.true(listed >= 10 && listed < 111, `${listed} fields with values`);
  t.is(withoutValues, 111 - listed);
  await agreeOnGroups(t, store, calmEvents, {
    by: [{ kind: "field", field: "@calm.kind" }],
    aggregates: [COUNT, { kind: "avg", of: "@calm.took" }, { kind: "percentile", of: "@calm.took", percent: 95 }],
  });
});

serially("attributes: the logs of one account leave room in an index for those of others", async (t) => {
  const mine = new Set(Array.from({ length: 14 }, newLog));
  const ownerOf = (log: LogKey): string => (mine.has(log) ? "ann" : log);
  const { store, names, reopen } = await open(t, client, ownerOf);
  const wild = [...mine].flatMap((log, of) =>
    Array.from({ length: 2 }, (_, i) => {
      const odd = Array.from({ length: 256 }, (_, k) => [`of ${of} ${k}`, k % 2 === 0 ? k + i : `V${k}`] as const);
      return event(log, { created: MORNING + i, attributes: attributes(Object.fromEntries(odd)) });
    }),
  );
  await write(t, store, wild.slice(0, 14));
  // A process that starts later knows the account's names.
  const other = await reopen();
  await write(t, other, wild);
  const calm = newLog();
  const events = Array.from({ length: 20 }, (_, i) =>
    event(calm, {
      created: MORNING + i,
      attributes: attributes({ one: i, two: `T${i % 3}`, three: i % 2 === 0, four: i / 2, "five.six": `${i}x` }),
    }),
  );
  await write(t, other, events);
  const [mapping] = Object.values(await client.indices.getMapping({ index: names.events }));
  const mapped = JSON.stringify(mapping);
  const ofAnn = new Set(mapped.match(/of%20\d+%20\d+/g)).size;
  t.true(ofAnn >= 256 && ofAnn <= 500, `${ofAnn} of the person's names`);
  for (const key of ["one", "two", "three", "four", "five%2Esix"]) t.true(mapped.includes(`"${key}":{"type"`), key);
  const columnless = { bool: { filter: { term: { log: calm } }, must: { exists: { field: "indexed.rest" } } } };
  t.is((await client.count({ index: names.events, query: columnless })).count, 0);
  t.is((await client.count({ index: names.events, query: { exists: { field: "_ignored" } } })).count, 0);
  for (const field of ["@one", "@two", "@three", "@five.six"] as const) {
    await agreeOnGroups(t, other, events, { by: [{ kind: "field", field }] });
    await listsAgree(t, other, events, { sort: [{ field, direction: "desc" }] });
  }
  const some = wild.filter(({ log }) => log === wild.at(-1)!.log);
  for (const field of ["@of 13 0", "@of 13 255"] as const) {
    await agreeOnGroups(t, other, some, { by: [{ kind: "field", field }] });
    await listsAgree(t, other, some, { where: { kind: "not", condition: { kind: "absent", field } } });
  }
});

serially("attributes: queries on attributes without room in an index are answered too", async (t) => {
  const { store, names } = await open(t);
  const log = newLog();
  const made = event(log, { attributes: attributes({ first: 1 }) });
  await write(t, store, [made]);
  const [index] = Object.keys(await client.indices.get({ index: names.events }));
  await client.indices.putSettings({ index: index!, settings: { "index.mapping.total_fields.limit": 60 } });
  const events = Array.from({ length: 60 }, (_, i) =>
    event(log, {
      created: MORNING + i,
      attributes: attributes({ first: i, [`of ${i % 12}`]: i % 5 === 0 ? `T${i}` : i }),
    }),
  );
  await write(t, store, events);
  const all = [made, ...events];
  const { count } = await client.count({ index: names.events, query: { exists: { field: "_ignored" } } });
  t.true(count > 0);
  for (let i = 0; i < 12; i++) {
    const field = `@of ${i}` as const;
    await listsAgree(t, store, all, { where: { kind: "number", field, op: "<", value: 40 } });
    await listsAgree(t, store, all, { sort: [{ field, direction: "asc" }] });
    await agreeOnGroups(t, store, all, {
      by: [{ kind: "field", field }],
      aggregates: [COUNT, { kind: "max", of: field }],
    });
  }
  const asked = { log, from: null, to: null, prefix: "@", values: 3 };
  t.deepEqual((await store.fields(asked)).fields, evaluateFields(all, asked));
});
