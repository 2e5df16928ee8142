/**
 * What finding an event's class costs, by number of class filters: the indexed matcher beside the plain loop over the filters.
 *
 *     node bench/classify.ts
 *
 * The goal is that 10,000 filters cost at most {@link LIMIT} times what 10 cost. Up to four patterns are looked for one by one, so that the passes over
 * text and link begin to count somewhere between 10 and 100 filters; from there on the cost is level. Exits with 1 where matcher and loop disagree.
 */
import { fold } from "../src/events/text.ts";
import type { ClassFilter } from "../src/catalog/catalog.ts";
import { compileMatcher } from "../pipelines/classify/matcher.ts";
import type { Matcher, Subject } from "../pipelines/classify/matcher.ts";

const LIMIT = 2;
const COUNTS = [10, 100, 1_000, 10_000];
const EVENTS = 2_000;
/** Each measurement: runs of at least this long, at least so many, for at least as long in all. */
const RUN_MS = 5;
const RUNS = 20;
const CASE_MS = 250;

/** Mulberry32: the same filters and events in each run. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

const random = createRandom(7);
const WORDS = Array.from({ length: 20_000 }, () =>
  Array.from({ length: 4 + random(8) }, () => String.fromCharCode(97 + random(26))).join(""),
);
const word = (): string => WORDS[random(WORDS.length)]!;
const words = (count: number): string => Array.from({ length: count }, word).join(" ");

type Conditions = Partial<ClassFilter>;

function filter(i: number, conditions: Conditions): ClassFilter {
  return {
    key: `class-${i}`,
    display: "",
    color: "",
    tag: "",
    text: "",
    link: "",
    source: "",
    weight: random(1_000),
    ...conditions,
  };
}

/** An event of nine words, three tags and a link that meets the conditions of `filter`, so that with any number of filters as many events have a class. */
function event({ tag, text, link, source }: ClassFilter): Subject {
  return {
    text: `${words(4)} ${text} ${words(4)}`,
    link: `https://example.com/${word()}${link}/${word()}`,
    tags: [word(), tag === "" ? word() : tag, word()],
    source: source === "" ? word() : source,
  };
}

type Case = {
  readonly name: string;
  readonly conditions: (i: number, count: number) => Conditions;
  readonly event: (filter: ClassFilter) => Subject;
};

const MIXED: readonly ((i: number) => Conditions)[] = [
  (i) => ({ tag: WORDS[i]! }),
  (i) => ({ source: WORDS[i]! }),
  () => ({ text: words(2) }),
  () => ({ link: `/${word()}/${word()}` }),
  (i) => ({ tag: WORDS[i]!, text: word() }),
  (i) => ({ text: WORDS[i]!, link: word() }),
];
const LETTERS = "ab".repeat(250);
const CASES: readonly Case[] = [
  { name: "each its own tag", conditions: (i) => ({ tag: WORDS[i]! }), event },
  { name: "each its own text", conditions: () => ({ text: words(2) }), event },
  { name: "all kinds of conditions", conditions: (i) => MIXED[i % MIXED.length]!(i), event },
  { name: "one tag shared by all, each its own text", conditions: () => ({ tag: "error", text: words(2) }), event },
  {
    name: "every text matches, none of them best at once",
    conditions: (i, count) => {
      const length = 1 + Math.floor((i / count) * 490);
      return { text: LETTERS.slice(i % 2, (i % 2) + length), weight: length };
    },
    event: () => event(filter(0, { text: LETTERS })),
  },
  {
    name: "each a text that all events have and a link that none has",
    conditions: () => ({ text: "a", link: `${word()}#` }),
    event: () => event(filter(0, { text: "a" })),
  },
];

type Folded = {
  readonly key: string;
  readonly tag: string;
  readonly text: string;
  readonly link: string;
  readonly source: string;
};

/** The loop as one would write it: filters folded and ordered beforehand, the event folded once, the first that matches wins. */
function compileLoop(filters: readonly ClassFilter[]): Matcher {
  const ordered: Folded[] = filters
    .toSorted((a, b) => b.weight - a.weight || (a.key < b.key ? -1 : 1))
    .map(({ key, tag, text, link, source }) => ({
      key,
      tag: fold(tag),
      text: fold(text),
      link: fold(link),
      source: fold(source),
    }));
  return (event) => {
    const text = fold(event.text);
    const link = fold(event.link);
    const source = fold(event.source);
    const tags = new Set(event.tags.map(fold));
    const first = ordered.find(
      (filter) =>
        (filter.tag === "" || tags.has(filter.tag)) &&
        (filter.source === "" || filter.source === source) &&
        text.includes(filter.text) &&
        link.includes(filter.link),
    );
    return first?.key ?? null;
  };
}

/** The time of one event, in microseconds: the best of many short runs, because whatever else the machine does only ever adds to it. */
function time_us(match: Matcher, events: readonly Subject[]): number {
  let best = Infinity;
  let at = 0;
  const end = performance.now() + CASE_MS;
  for (let run = 0; run < RUNS || performance.now() < end; run++) {
    const start = performance.now();
    let done = 0;
    let elapsed_ms = 0;
    do {
      for (let i = 0; i < 50; i++) match(events[at++ % events.length]!);
      done += 50;
      elapsed_ms = performance.now() - start;
    } while (elapsed_ms < RUN_MS);
    best = Math.min(best, (elapsed_ms * 1000) / done);
  }
  return best;
}

let failed = false;
for (const { name, conditions, event } of CASES) {
  console.log(`\n${name}\n  filters   matcher    loop       loop/matcher   compile`);
  const costs: number[] = [];
  for (const count of COUNTS) {
    const filters = Array.from({ length: count }, (_, i) => filter(i, conditions(i, count)));
    const events = Array.from({ length: EVENTS }, () => event(filters[random(count)]!));
    const start = performance.now();
    const match = compileMatcher(filters);
    const compile_ms = performance.now() - start;
    const loop = compileLoop(filters);
    if (events.slice(0, 200).some((one) => match(one) !== loop(one))) {
      console.error(`  ${count}: the matcher and the loop disagree`);
      failed = true;
    }
    const matcher_us = time_us(match, events);
    const loop_us = time_us(loop, events);
    costs.push(matcher_us);
    const columns = [
      String(count).padStart(9),
      `${matcher_us.toFixed(2)} µs`.padStart(10),
      `${loop_us.toFixed(2)} µs`.padStart(12),
      (loop_us / matcher_us).toFixed(1).padStart(10),
      `${compile_ms.toFixed(1)} ms`.padStart(14),
    ];
    console.log(columns.join(" "));
  }
  const ratio = costs.at(-1)! / costs[0]!;
  console.log(`  ${COUNTS.at(-1)} filters cost ${ratio.toFixed(2)} times what ${COUNTS[0]} cost (goal: ${LIMIT})`);
}
process.exitCode = failed ? 1 : 0;
