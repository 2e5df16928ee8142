import test from "ava";
import * as fc from "fast-check";

import { compileNames } from "../../../pipelines/classify/names.ts";
import { fold } from "../../../src/events/text.ts";
import { finish } from "../../../pipelines/classify/steps.ts";

/** Maps folded names to values, as a matcher does. */
function indexOf(names: readonly string[]): Map<string, string> {
  return new Map(names.map((name) => [fold(name), `of ${fold(name)}`]));
}

/**
 * Difficult units: capitals and their neighbours, units that fold to ASCII or whose lower byte is
 * ASCII, zeros.
 */
const UNITS = [
  "a",
  "b",
  "z",
  "A",
  "Z",
  "@",
  "[",
  "`",
  "{",
  "0",
  "_",
  "\0",
  "é",
  "É",
  "\u212a",
  "\u017f",
  "š",
  "😀",
  "\ud83d",
];
const names = fc.array(
  fc.oneof(
    fc.string({ unit: fc.constantFrom(...UNITS), maxLength: 6 }),
    fc.string({ unit: fc.constantFrom("a", "b", "A", "\u212a"), minLength: 1, maxLength: 18 }),
    fc.string({ unit: "binary", maxLength: 20 }),
  ),
  { maxLength: 40 },
);

test("a name is found in any case, and no other is", (t) => {
  const property = fc.property(names, names, (given, others) => {
    const index = indexOf(given);
    const { find } = finish(compileNames(index));
    for (const name of [...given, ...others]) {
      for (const form of [name, name.toUpperCase(), name.toLowerCase()]) t.is(find(form), index.get(fold(form)));
    }
  });
  fc.assert(property, { numRuns: 1_000 });
});

test("a unit outside ASCII may fold to ASCII, at any position", (t) => {
  for (const name of ["k", "kk", "kkk", "kelvin", "unkind", "dark", "darks", "a-long-name-with-a-k-in-it"]) {
    const { find } = finish(compileNames(indexOf([name])));
    for (const form of [name, name.toUpperCase(), name.replaceAll("k", "\u212a"), name.replaceAll("s", "\u017f")]) {
      t.is(find(form), `of ${name}`, JSON.stringify(form));
    }
  }
});

test("a unit outside ASCII is not confused with its lower byte", (t) => {
  const { find } = finish(compileNames(indexOf(["ab\u0161ba"])));
  t.is(find("ab\u0161ba"), "of ab\u0161ba");
  t.is(find("ababa"), undefined);
});

test("names differ by each of their units and by their length", (t) => {
  const whole = "abcdefghijklmnopqr";
  for (let length = 1; length <= whole.length; length++) {
    const name = whole.slice(0, length);
    const { find } = finish(compileNames(indexOf([name])));
    for (const form of [name, name.toUpperCase()]) t.is(find(form), `of ${name}`);
    for (const other of [`${name}a`, `${name}\0`, `a${name}`, name.slice(1), name.slice(0, -1)]) {
      t.is(find(other), undefined, JSON.stringify(other));
    }
    for (let i = 0; i < length; i++) {
      // The last two share the lower five bits with it.
      const low = name.charCodeAt(i) & 31;
      for (const unit of `\x010123456789${String.fromCharCode(low, low | 32)}`)
        t.is(find(`${name.slice(0, i)}${unit}${name.slice(i + 1)}`), undefined);
    }
  }
});

for (const [title, nameOf] of [
  ["as one counts them", (i: number) => `host-${i}`],
  ["that end alike", (i: number) => `h${i}-eu`],
  ["that begin alike", (i: number) => `shop.${i.toString(36)}`],
  ["that differ in their last units", (i: number) => `a-shop-in-eu${i.toString(36).padStart(3, "0")}`],
  [
    "that differ in some bits",
    (i: number) => i.toString(2).padStart(14, "0").replaceAll("0", "p").replaceAll("1", "q"),
  ],
] as const) {
  test(`each of thousands of names is found, and no other: names ${title}`, (t) => {
    const given = Array.from({ length: 10_900 }, (_, i) => nameOf(i));
    const index = indexOf(given);
    const { find } = finish(compileNames(index));
    t.true(given.every((name) => find(name) === `of ${name}`));
    const others = Array.from({ length: 5_000 }, (_, i) => nameOf(10_900 + i));
    t.true(others.every((name) => find(name) === undefined));
  });
}

test("a name does not match its prefixes or extensions", (t) => {
  const whole = "abcdefghijklmnopqr";
  for (let length = 1; length <= whole.length; length++) {
    const name = whole.slice(0, length);
    const { find } = finish(compileNames(indexOf([name])));
    for (let other = 1; other <= whole.length; other++) {
      t.is(find(whole.slice(0, other)), other === length ? `of ${name}` : undefined, `${other} units of ${length}`);
    }
  }
});

test("a name that fills its slot does not match as the prefix of a longer one", (t) => {
  const { find } = finish(compileNames(indexOf(["a\0\0\0\x01\0\0\0"])));
  t.is(find("a\0\0\0\x01\0\0\0"), "of a\0\0\0\x01\0\0\0");
  t.is(find("a\0\0\0"), undefined);
});

test("names with the same hash under every factor are found", (t) => {
  const given = ["ndoovv1vgy0gm", "5cw4sj1o5aomm", "1ldyupe1e7tp37", "1pcdge1ekbe24"];
  const { find } = finish(compileNames(indexOf(given)));
  for (const name of given) t.is(find(name.toUpperCase()), `of ${name}`);
  t.is(find("5cw4sj1o5aomn"), undefined);
});

test("many names whose hashes share their upper half are found", (t) => {
  const given = `h1htx h2hxn h2laa h2mje h3qno h4ick h5j71 h5yv1 h60m4 h72t2 h7qd0 h862m h8w9n h9fzm hag1s hbf5t hbr4g
    hbugz hd1qf hfukq hhrcs hi3n3 hi6ps hiypv hl6zg hl9bx hlqit hmbsf hn17l hn1f6 hory4 hpij3 hs3qu hs9f6`.split(/\s+/);
  const { find } = finish(compileNames(indexOf([...given, "another"])));
  for (const name of [...given, "another"]) t.is(find(name.toUpperCase()), `of ${name}`);
  t.is(find("huatt"), undefined);
});

test("a numeric value is returned unchanged, among values of other types", (t) => {
  const all = [0, 1, 2, 10_000, 2 ** 31 - 1, "of another", 7, "of a last"];
  const nameOf = (i: number): string => (i % 2 === 0 ? `n${i}` : `a-name-as-long-as-no-slot-${i}`);
  const { find } = finish(compileNames<string>(new Map(all.map((value, i) => [nameOf(i), value]))));
  t.deepEqual(
    all.map((_, i) => find(nameOf(i).toUpperCase())),
    all,
  );
});

test("an empty set of names finds nothing", (t) => {
  const { find } = finish(compileNames(new Map<string, string>()));
  t.is(find(""), undefined);
  t.is(find("a"), undefined);
  t.is(find("a name that is longer than most"), undefined);
});
