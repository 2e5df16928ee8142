import test from "ava";
import * as fc from "fast-check";
import { fold } from "../../../src/events/text.ts";
import type { ClassFilter } from "../../../src/catalog/catalog.ts";
import { compileMatcher } from "../../../pipelines/classify/matcher.ts";
import type { Subject } from "../../../pipelines/classify/matcher.ts";

function filter(key: string, conditions: Partial<ClassFilter>): ClassFilter {
  return { key, display: key, color: "red", tag: "", text: "", link: "", source: "", weight: 0, ...conditions };
}

function subject(fields: Partial<Subject>): Subject {
  return { text: "", link: "", tags: [], source: "", ...fields };
}

/** The meaning of a matcher as a plain loop. */
function classByLoop(filters: readonly ClassFilter[], event: Subject): string | null {
  const matching = filters.filter(
    ({ tag, text, link, source }) =>
      (tag === "" || event.tags.some((own) => fold(own) === fold(tag))) &&
      (source === "" || fold(event.source) === fold(source)) &&
      fold(event.text).includes(fold(text)) &&
      fold(event.link).includes(fold(link)),
  );
  const first = matching.sort((a, b) => b.weight - a.weight || (a.key < b.key ? -1 : 1))[0];
  return first?.key ?? null;
}

test("every condition that is not empty must hold", (t) => {
  const match = compileMatcher([filter("all", { tag: "error", source: "Web", text: "disk full", link: "/host/" })]);
  const event = subject({ text: "Disk FULL on a", link: "http://x/HOST/1", tags: ["a", "ERROR"], source: "web" });
  t.is(match(event), "all");
  t.is(match({ ...event, text: "disk ful" }), null);
  t.is(match({ ...event, link: "" }), null);
  t.is(match({ ...event, tags: ["errors"] }), null);
  t.is(match({ ...event, source: "web2" }), null);
});

test("the highest weight wins, and the smaller key among equal weights", (t) => {
  const match = compileMatcher([
    filter("low", { tag: "a", weight: -1 }),
    filter("second", { text: "x", weight: 5 }),
    filter("first", { link: "l", weight: 5 }),
    filter("heavy", { source: "s", weight: 6 }),
  ]);
  t.is(match(subject({ tags: ["a"], text: "x", link: "l", source: "s" })), "heavy");
  t.is(match(subject({ tags: ["a"], text: "x", link: "l" })), "first");
  t.is(match(subject({ tags: ["a"], text: "x" })), "second");
  t.is(match(subject({ tags: ["a"] })), "low");
  t.is(match(subject({})), null);
});

test("a pattern inside another is found where the longer one fails to match", (t) => {
  const match = compileMatcher([
    filter("long", { text: "abcdx" }),
    filter("inner", { text: "bc" }),
    filter("suffix", { text: "cd", weight: -1 }),
  ]);
  t.is(match(subject({ text: "zabcdz" })), "inner");
  t.is(match(subject({ text: "acd" })), "suffix");
  t.is(match(subject({ text: "abcdx" })), "inner");
});

test("no filter gives no class", (t) => {
  t.is(compileMatcher([])(subject({ text: "a", tags: ["b"] })), null);
});

/**
 * Few letters, so that patterns overlap and are prefixes and suffixes of one another; they include
 * the difficult cases of case folding and UTF-16.
 */
const letters = fc.constantFrom(
  "a",
  "A",
  "b",
  "ß",
  "ẞ",
  "İ",
  "ı",
  "K",
  "k",
  "K",
  "σ",
  "ς",
  "😀",
  "😁",
  "𐐀",
  "𐐨",
  "\ufffd",
  " ",
);
const word = (maxLength: number): fc.Arbitrary<string> =>
  fc.oneof(
    fc.string({ unit: letters, maxLength }),
    fc.string({ unit: fc.constantFrom("a", "b"), maxLength }),
    fc.string({ unit: "binary", maxLength }),
  );
const tag = fc.oneof(fc.constantFrom("", "a", "A", "b", "K", "k"), word(2));

const filters = fc
  .array(fc.record({ tag, source: tag, text: word(4), link: word(3), weight: fc.integer({ min: -2, max: 2 }) }), {
    maxLength: 30,
  })
  .map((all) => all.map((conditions, i) => filter(`k${i}`, conditions)));
const events = fc.record({ text: word(20), link: word(12), tags: fc.array(tag, { maxLength: 4 }), source: tag });

test("the matcher agrees with the plain loop over the filters", (t) => {
  fc.assert(
    fc.property(filters, fc.array(events, { minLength: 1, maxLength: 5 }), (filters, events) => {
      const match = compileMatcher(filters);
      for (const event of events) t.is(match(event), classByLoop(filters, event));
    }),
    { numRuns: 2000 },
  );
  t.pass();
});

/**
 * Cuts texts into the filters themselves, so that most filters match and their patterns overlap in
 * every way.
 */
test("the matcher agrees with the loop if filters are pieces of the event", (t) => {
  const cut = fc.record({
    of: fc.nat(20),
    to: fc.nat(20),
    linkOf: fc.nat(12),
    linkTo: fc.nat(12),
    weight: fc.integer({ min: 0, max: 3 }),
    shape: fc.nat(15),
  });
  fc.assert(
    fc.property(events, fc.array(cut, { maxLength: 30 }), events, (event, cuts, other) => {
      const filters = cuts.map(({ of, to, linkOf, linkTo, weight, shape }, i) =>
        filter(`k${i}`, {
          text: shape & 1 ? Array.from(event.text).slice(of, to).join("") : "",
          link: shape & 2 ? Array.from(event.link).slice(linkOf, linkTo).join("") : "",
          tag: shape & 4 ? (event.tags[0] ?? "a") : "",
          source: shape & 8 ? event.source : "",
          weight,
        }),
      );
      const match = compileMatcher(filters);
      for (const one of [event, other]) t.is(match(one), classByLoop(filters, one));
    }),
    { numRuns: 2000 },
  );
  t.pass();
});

test("the matcher agrees with the loop over thousands of filters", (t) => {
  const shapes = fc.record({
    text: word(9),
    link: fc.oneof(fc.constant(""), word(6)),
    weight: fc.integer({ min: 0, max: 9 }),
  });
  const [many = []] = fc.sample(fc.array(shapes, { minLength: 6_000, maxLength: 6_000, size: "max" }), {
    numRuns: 1,
    seed: 5,
  });
  const filters = many.map((conditions, i) => filter(`k${i}`, conditions)).filter(({ text }) => text.length >= 3);
  const match = compileMatcher(filters);
  for (let i = 0; i < 300; i++) {
    const [one, two, three] = [i, i * 7, i * 13].map((at) => filters[at % filters.length]!);
    const event = subject({ text: `b ${one!.text}a${two!.text}`, link: `${three!.link}${two!.link}x` });
    t.is(match(event), classByLoop(filters, event));
  }
});

test("a tag may be combined with any number of sources", (t) => {
  for (const count of [1, 4, 5, 40]) {
    const match = compileMatcher(
      Array.from({ length: count }, (_, i) => filter(`s${i}`, { tag: "a", source: `host-${i}.example.net` })),
    );
    for (let i = 0; i < count; i++) t.is(match(subject({ tags: ["A"], source: `HOST-${i}.example.net` })), `s${i}`);
    t.is(match(subject({ tags: ["a"], source: `host-${count}.example.net` })), null);
    t.is(match(subject({ tags: ["b"], source: "host-0.example.net" })), null);
  }
});

test("many patterns of less weight do not win over the class of a tag alone", (t) => {
  const texts = Array.from({ length: 40 }, (_, i) =>
    filter(`t${i}`, { text: `pattern ${i} of all`, weight: i === 0 ? 9 : 1 }),
  );
  const match = compileMatcher([...texts, filter("tagged", { tag: "a", weight: 5 })]);
  t.is(match(subject({ text: "pattern 7 of all", tags: ["a"] })), "tagged");
  t.is(match(subject({ text: "pattern 0 of all", tags: ["a"] })), "t0");
});
