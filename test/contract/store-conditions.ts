import test from "ava";

import { hashText } from "../../src/events/hash.ts";
import type { LogKey, StoredEvent } from "../../src/events/event.ts";
import type { AttributeField, Condition, NumberField, TextField } from "../../src/query/plan.ts";
import { EVERYTHING } from "../../src/query/plan.ts";
import { hostileText } from "../support/hostile-text.ts";
import { holdOfBest_ms } from "../support/turns.ts";
import { event, listPlan, MORNING, newLog, texts, write } from "./store-fixture.ts";
import type { StoreAdapter } from "./store-fixture.ts";

/** How long a search may block the event loop, in processor time. */
const HOLD_LIMIT_MS = 150;

/** Returns the events that the conditions below select from, each identified by its text. */
function examples(log: LogKey): StoredEvent[] {
  const hour = 3_600_000;
  return [
    event(log, {
      text: "Disk full",
      tags: ["Error", "disk"],
      source: "Web-1",
      user: "Ann",
      class: "errors",
      value: 10,
    }),
    event(log, {
      created: MORNING + hour,
      text: "disk\nread slow",
      tags: ["warn"],
      source: "web-2",
      link: "HTTP://x.org/A?b",
      value: -1,
    }),
    event(log, {
      created: MORNING + 2 * hour,
      text: "STRASSE ſalt",
      tags: ["straße"],
      source: "ΣΑΣ",
      user: "ÅSA",
      value: 2.5,
      data: "{}",
    }),
    event(log, { created: MORNING + 3 * hour, text: "50% a.b*c [x]", geo: { lat: 1, lon: 2 }, value: 0 }),
    event(log, { created: MORNING + 4 * hour, text: "bare\u0000end", geo: { ip: "203.0.113.9" } }),
  ];
}

const [DISK, SLOW, STREET, SIGNS, BARE] = [
  "Disk full",
  "disk\nread slow",
  "STRASSE ſalt",
  "50% a.b*c [x]",
  "bare\u0000end",
];
const ALL = [DISK, SLOW, STREET, SIGNS, BARE];

type Example = readonly [what: string, where: Condition, found: readonly (string | undefined)[]];

const text = (field: TextField, op: "=" | "<" | "<=" | ">" | ">=", value: string): Condition => ({
  kind: "text",
  field,
  op,
  value,
});
const oneOf = (field: TextField, ...values: string[]): Condition => ({ kind: "in", field, values });
const number = (field: NumberField, op: "=" | "<" | "<=" | ">" | ">=", value: number): Condition => ({
  kind: "number",
  field,
  op,
  value,
});
const contains = (field: TextField, value: string): Condition => ({ kind: "contains", field, value });
const matches = (field: TextField | AttributeField, pattern: string): Condition => ({
  kind: "matches",
  field,
  pattern,
});
const absent = (field: TextField | NumberField | "geo" | "data"): Condition => ({ kind: "absent", field });
const not = (condition: Condition): Condition => ({ kind: "not", condition });
const and = (...conditions: Condition[]): Condition => ({ kind: "and", conditions });
const or = (...conditions: Condition[]): Condition => ({ kind: "or", conditions });

const EXAMPLES: readonly Example[] = [
  ["everything", EVERYTHING, ALL],
  ["nothing", or(), []],
  ["all but nothing", not(or()), ALL],
  ["and", and(text("tags", "=", "error"), text("source", "=", "web-1")), [DISK]],
  ["or", or(text("tags", "=", "warn"), text("user", "=", "ann")), [DISK, SLOW]],
  ["not of or", not(or(text("tags", "=", "warn"), text("user", "=", "ann"))), [STREET, SIGNS, BARE]],
  ["not inside and", and(not(text("tags", "=", "error")), not(absent("value"))), [SLOW, STREET, SIGNS]],

  ["a source, ignoring case", text("source", "=", "web-1"), [DISK]],
  ["a Greek source, ignoring case and final sigma", text("source", "=", "σασ"), [STREET]],
  ["a user beyond ASCII", text("user", "=", "åsa"), [STREET]],
  ["a class", text("class", "=", "errors"), [DISK]],
  ["a link", text("link", "=", "http://x.org/a?b"), [SLOW]],
  ["a whole text", text("text", "=", "disk full"), [DISK]],
  ["a whole text with a NUL", text("text", "=", "bare\u0000end"), [BARE]],
  ["no more than the beginning of a text", text("text", "=", "disk"), []],
  ["a tag", text("tags", "=", "disk"), [DISK]],
  ["a tag beyond ASCII", text("tags", "=", "straße"), [STREET]],
  ["not a tag", not(text("tags", "=", "disk")), [SLOW, STREET, SIGNS, BARE]],

  ["a source before", text("source", "<", "web-2"), [DISK]],
  ["a source up to", text("source", "<=", "web-2"), [DISK, SLOW]],
  ["a source after", text("source", ">", "web-2"), [STREET]],
  ["a source from", text("source", ">=", "web-2"), [SLOW, STREET]],
  ["not a source before: also none at all", not(text("source", "<", "web-2")), [SLOW, STREET, SIGNS, BARE]],
  ["any source", text("source", ">=", ""), [DISK, SLOW, STREET]],
  ["no source is up to nothing", text("source", "<=", ""), []],
  ["no class is up to nothing", text("class", "<=", ""), []],
  ["a tag before, of several", text("tags", "<", "e"), [DISK]],
  ["a tag after", text("tags", ">", "t"), [SLOW]],
  ["a class from", text("class", ">=", "a"), [DISK]],

  ["no source", text("source", "=", ""), [SIGNS, BARE]],
  ["no class", text("class", "=", ""), [SLOW, STREET, SIGNS, BARE]],
  ["no tag", text("tags", "=", ""), [SIGNS, BARE]],
  ["some link", not(text("link", "=", "")), [SLOW]],
  ["absent link", absent("link"), [DISK, STREET, SIGNS, BARE]],
  ["absent tags", absent("tags"), [SIGNS, BARE]],
  ["absent class", absent("class"), [SLOW, STREET, SIGNS, BARE]],
  ["absent user", absent("user"), [SLOW, SIGNS, BARE]],
  ["absent value", absent("value"), [BARE]],
  ["absent geo", absent("geo"), [DISK, SLOW, STREET]],
  ["absent data", absent("data"), [DISK, SLOW, SIGNS, BARE]],
  ["absent text, id, log, hash, created", or(...(["text", "id", "log", "hash", "created"] as const).map(absent)), []],
  ["present geo", not(absent("geo")), [SIGNS, BARE]],

  ["one of some sources", oneOf("source", "web-2", "σασ", "db"), [SLOW, STREET]],
  ["one of some sources or none", oneOf("source", "web-2", ""), [SLOW, SIGNS, BARE]],
  ["one of no sources", oneOf("source"), []],
  ["one of some tags", oneOf("tags", "error", "disk", "warn"), [DISK, SLOW]],
  ["one of some tags or none", oneOf("tags", "", "warn"), [SLOW, SIGNS, BARE]],
  ["not one of some classes", not(oneOf("class", "errors", "x")), [SLOW, STREET, SIGNS, BARE]],

  ["value =", number("value", "=", 2.5), [STREET]],
  ["value <", number("value", "<", 0), [SLOW]],
  ["value <=", number("value", "<=", 0), [SLOW, SIGNS]],
  ["value >", number("value", ">", 2.5), [DISK]],
  ["value >=", number("value", ">=", 2.5), [DISK, STREET]],
  ["not value >=: also none at all", not(number("value", ">=", 2.5)), [SLOW, SIGNS, BARE]],
  ["created =", number("created", "=", MORNING), [DISK]],
  ["created >=", number("created", ">=", MORNING + 3_600_000), [SLOW, STREET, SIGNS, BARE]],
  ["created <", number("created", "<", MORNING + 3_600_000), [DISK]],
  ["created <= a fraction", number("created", "<=", MORNING + 3_600_000.5), [DISK, SLOW]],
  ["created = a fraction", number("created", "=", MORNING + 0.5), []],
  ["created > beyond all time", number("created", ">", 1e300), []],
  ["created > before all time", number("created", ">", -1e300), ALL],
  [
    "created between",
    and(number("created", ">=", MORNING + 3_600_000), number("created", "<", MORNING + 10_800_000)),
    [SLOW, STREET],
  ],

  ["contained, ignoring case", contains("text", "DISK"), [DISK, SLOW]],
  ["contained long s and sharp s", contains("text", "Salt"), [STREET]],
  ["a sharp s does not contain two", contains("tags", "ss"), []],
  ["contained signs", contains("text", "% A.B*C ["), [SIGNS]],
  ["signs mean nothing", contains("text", "a.c"), []],
  ["contained percent alone", contains("text", "%"), [SIGNS]],
  ["contained underscore", contains("text", "_"), []],
  ["contained line break", contains("text", "K\nR"), [SLOW]],
  ["contained NUL", contains("text", "\u0000E"), [BARE]],
  ["contained in a tag", contains("tags", "ERR"), [DISK]],
  ["contained in a link", contains("link", "X.ORG"), [SLOW]],
  ["contained in a class", contains("class", "ERR"), [DISK]],
  ["contained in a source", contains("source", "ας"), [STREET]],
  ["not contained: also none at all", not(contains("class", "err")), [SLOW, STREET, SIGNS, BARE]],

  ["matched, ignoring case", matches("text", "^disk"), [DISK, SLOW]],
  ["the end is the end of the text", matches("text", "disk$"), []],
  ["the beginning is the beginning of the text", matches("text", "^read"), []],
  ["a dot is no line break", matches("text", "disk.(full|read)"), [DISK]],
  ["with the flag s a dot matches a line break", matches("text", "(?s)disk.(full|read)"), [DISK, SLOW]],
  ["with the flag m, at the beginning of a line", matches("text", "(?m)^read"), [SLOW]],
  ["a plain word", matches("text", "salt"), [STREET]],
  ["a class of characters", matches("text", "[0-9]{2}%"), [SIGNS]],
  ["with the flag i off, case counts", matches("text", "(?-i)disk"), [SLOW]],
  ["letters of any script", matches("source", "^\\pL+$"), [STREET]],
  ["word borders", matches("text", "\\bread\\b"), [SLOW]],
  ["matched tag, each by itself", matches("tags", "^error$|^warn$"), [DISK, SLOW]],
  ["matched link", matches("link", "\\?b$"), [SLOW]],
  ["matched class", matches("class", "^err"), [DISK]],
  ["matched user", matches("user", "^a.a$"), []],
  ["everything matches but what is absent", matches("class", ".*"), [DISK]],
  ["what is absent has no tag to match", matches("tags", "x*"), [DISK, SLOW, STREET]],
  ["not matched: also none at all", not(matches("source", "web")), [STREET, SIGNS, BARE]],
  ["quotes and other SQL", matches("text", "'; drop table events; --"), []],
];

/** Tests every kind of condition on every kind of field. */
export function conditionContract({ name, open }: StoreAdapter): void {
  test(`${name}: substrings match in any case, with and without characters that have no case`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const all = [
      "Job 4711-Ab done",
      "job 4711-aB",
      "JOB 4711",
      "\u212aey 123\u017f",
      "KEY 123S",
      "\u0661\u0662\u0663",
      "k 12 3",
    ];
    await write(
      t,
      store,
      all.map((each, i) => event(log, { text: each, created: MORNING + i })),
    );
    const among = (...places: number[]): string[] => places.map((place) => all[place]!);
    const cases: readonly (readonly [string, readonly string[]])[] = [
      ["4711", among(0, 1, 2)],
      ["4711-", among(0, 1)],
      ["4711-AB", among(0, 1)],
      ["b 4711-ab D", among(0)],
      ["key 123s", among(3, 4)],
      ["123", among(3, 4)],
      [" 12", among(3, 4, 6)],
      ["k 12 3", among(6)],
      ["   ", []],
      ["\u0661\u0662\u0663", among(5)],
    ];
    for (const [value, expected] of cases) {
      const where: Condition = { kind: "contains", field: "text", value };
      t.deepEqual(await texts(store, listPlan(log, { where })), expected, value);
    }
  });

  test(`${name}: conditions match the expected events`, async (t) => {
    const store = await open(t);
    const log = newLog();
    await write(t, store, examples(log));
    for (const [what, where, found] of EXAMPLES) {
      t.deepEqual(await texts(store, listPlan(log, { where })), found as string[], what);
      t.is((await store.list(listPlan(log, { where, take: 1 }))).total, found.length, what);
    }
  });

  test(`${name}: events are found by id, hash and log, ignoring case`, async (t) => {
    const store = await open(t);
    const [log, other] = [newLog(), newLog()];
    const events = examples(log);
    const elsewhere = event(other, { created: MORNING + 18_000_000, text: "Elsewhere" });
    await write(t, store, [...events, elsewhere]);
    const [first, second, third] = events as [StoredEvent, StoredEvent, StoredEvent];
    const find = (where: Condition): Promise<string[]> => texts(store, listPlan([log, other], { where }));
    t.deepEqual(await find(text("id", "=", second.id)), [SLOW]);
    t.deepEqual(await find(text("id", "=", "no id")), []);
    t.deepEqual(await find(text("id", "<", second.id)), [DISK]);
    t.deepEqual(await find(and(text("id", ">=", second.id), text("id", "<=", third.id))), [SLOW, STREET]);
    t.deepEqual(await find(oneOf("id", second.id, first.id, "x")), [DISK, SLOW]);
    t.deepEqual(await find(contains("id", second.id.slice(3, 20))), [SLOW]);
    t.deepEqual(await find(matches("id", `^${second.id}$`)), [SLOW]);
    t.deepEqual(await find(text("hash", "=", hashText(first.text).toLowerCase())), [DISK]);
    t.deepEqual(await find(oneOf("hash", hashText(first.text).toLowerCase())), [DISK]);
    t.deepEqual(await find(text("log", "=", other)), ["Elsewhere"]);
    t.deepEqual(await find(not(text("log", "=", log))), ["Elsewhere"]);
    t.deepEqual(await find(contains("log", other.slice(2).toUpperCase())), ["Elsewhere"]);
    t.deepEqual(await texts(store, listPlan(log)), ALL);
    t.deepEqual(await texts(store, listPlan([])), []);
  });

  test(`${name}: unassigned code points are not in category C`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const characters = ["\u00ad", "\u0378", "\ue000", "\u{10ffff}", "a"];
    const events = characters.map((source, i) => event(log, { created: MORNING + i, text: source, source }));
    await write(t, store, events);
    const find = (pattern: string): Promise<string[]> =>
      texts(store, listPlan(log, { where: matches("source", pattern) }));
    for (const pattern of ["\\pC", "^\\p{C}$", "[\\pC]", "\\P{^C}", "[^\\PC]"])
      t.deepEqual(await find(pattern), ["\u00ad", "\ue000"], pattern);
    for (const pattern of ["\\PC", "^\\P{C}$", "[\\PC]", "\\p{^C}", "[^\\pC]"])
      t.deepEqual(await find(pattern), ["\u0378", "\u{10ffff}", "a"], pattern);
  });

  test(`${name}: events accepted after an id are returned by id, whether or not the id exists`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const second = Math.floor(MORNING / 1000).toString(16);
    const events = ["00000", "00001", "00002"].map((count) =>
      event(log, { text: count, id: `${second}000${count}80000000` as StoredEvent["id"] }),
    );
    await write(t, store, events);
    const after = (id: string): Promise<string[]> =>
      texts(store, listPlan(log, { where: { kind: "accepted-after", id: id as StoredEvent["id"] } }));
    const prefix = events[0]!.id.slice(0, 11);
    t.deepEqual(await after(events[0]!.id), ["00001", "00002"]);
    t.deepEqual(await after(`${prefix}0000100000000`), ["00001", "00002"]);
    t.deepEqual(await after(`${prefix}00001ffffffff`), ["00002"]);
    t.deepEqual(await after("0".repeat(24)), ["00000", "00001", "00002"]);
    t.deepEqual(await after("f".repeat(24)), []);
    t.deepEqual(await after(events[2]!.id), []);
  });

  test(`${name}: conditions may be deep and long`, async (t) => {
    const store = await open(t);
    const log = newLog();
    await write(t, store, examples(log));
    let deep: Condition = text("source", "=", "web-1");
    for (let i = 0; i < 64; i++) deep = not(deep);
    t.deepEqual(await texts(store, listPlan(log, { where: deep })), [DISK]);
    const many = Array.from({ length: 500 }, (_, i) => `source ${i}`);
    t.deepEqual(await texts(store, listPlan(log, { where: oneOf("source", ...many, "web-1") })), [DISK]);
    t.deepEqual(
      await texts(
        store,
        listPlan(log, { where: or(...many.map((each) => contains("text", each)), contains("text", "FULL")) }),
      ),
      [DISK],
    );
  });

  test(`${name}: the most expensive expressions match the same events and block no other work`, async (t) => {
    const store = await open(t);
    const log = newLog();
    const events = Array.from({ length: 12 }, (_, i) =>
      event(log, {
        created: MORNING + i,
        text: `${hostileText(i, 500)}${i === 7 ? "c" : "-"}`,
        source: `${i}`,
        attributes: JSON.stringify({ trace: [hostileText(i, 4090), i === 9 ? `a${"b".repeat(990)}x` : "none"] }),
      }),
    );
    await write(t, store, events);
    const found = async (where: Condition): Promise<string[]> =>
      (await store.list(listPlan(log, { where }))).rows.map(({ source }) => source);
    const hold_ms = await holdOfBest_ms(HOLD_LIMIT_MS, async () => {
      t.deepEqual(await found(matches("text", "[ab]{400}[cx]")), ["7"]);
      t.deepEqual(await found(matches("@trace", "a[ab]{990}[cx]")), ["9"]);
      t.deepEqual(await found(or(matches("text", "(?:\\w?\\w){200}c"), matches("@trace", "^a[ab]{990}[^ab]"))), [
        "7",
        "9",
      ]);
      t.deepEqual(await found(matches("@trace", "(?:\\b|c)(?:a|\\bb|\\Bb){200}x")), []);
    });
    t.true(hold_ms < HOLD_LIMIT_MS, `the process was held for ${Math.round(hold_ms)} ms`);
  });
}
