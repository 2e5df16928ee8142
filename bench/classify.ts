/**
 * Cost of finding an event's class, by number of class filters. Events are decoded right before, a
 * record at a time, as in the pipeline: a Map has to hash strings that it has not seen before, and
 * tables share the processor's caches with the data that decoding touches. Reusing the same strings
 * would hide both.
 */
import type { ClassFilter } from "../src/catalog/catalog.ts";
import { createIdSource } from "../src/events/id.ts";
import { decodeRecord, encodeLine, encodeRecord } from "../src/events/record.ts";
import { fold } from "../src/events/text.ts";
import { compileMatcher } from "../pipelines/classify/matcher.ts";
import type { Matcher, Subject } from "../pipelines/classify/matcher.ts";
import { interleaved, median, show } from "./frame.ts";
import type { Bench, Benchmark } from "./frame.ts";
import { batchesOf } from "./support/batches.ts";
import { createRandom, LOG } from "./support/events.ts";

const LIMIT = 2;
const COUNTS = [10, 100, 1_000, 10_000];
const EVENTS = 2_048;
/** Number of events per record, as many as the pipeline takes through a stage at a time. */
const RECORD_EVENTS = 256;
/**
 * Least duration of a run, so that the cache contents left by the previous one matter little. The
 * loop over 10,000 filters takes longer for its first record.
 */
const RUN_MS = 20;

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

/**
 * Makes an event of nine words, three tags and a link that matches `filter`, so that the share of
 * events with a class does not depend on the number of filters.
 */
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
  { name: "distinct tags", conditions: (i) => ({ tag: WORDS[i]! }), event },
  { name: "distinct texts", conditions: () => ({ text: words(2) }), event },
  { name: "mixed conditions", conditions: (i) => MIXED[i % MIXED.length]!(i), event },
  { name: "one shared tag, distinct texts", conditions: () => ({ tag: "error", text: words(2) }), event },
  {
    name: "every text matches, none of them best at once",
    conditions: (i, count) => {
      const length = 1 + Math.floor((i / count) * 490);
      return { text: LETTERS.slice(i % 2, (i % 2) + length), weight: length };
    },
    event: () => event(filter(0, { text: LETTERS })),
  },
  {
    name: "a text that all events have, a link that none has",
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

/**
 * Compiles the obvious loop: filters are folded and sorted in advance, the event is folded once,
 * and the first match wins.
 */
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

/** Encodes events as bus records. */
function recordsOf(events: readonly Subject[]): Buffer[] {
  const give = createIdSource();
  const absent = { log: LOG, user: "", value: null, geo: null, data: null, attributes: null };
  const lines = events.map((event) => encodeLine({ ...absent, ...event, ...give() }));
  return batchesOf(lines, RECORD_EVENTS).map((batch) => encodeRecord(LOG, batch));
}

function eventsOf(record: Buffer): Subject[] {
  return decodeRecord(record).map((line) => {
    if (line.kind !== "event") throw new Error(`unexpected kind of line: ${line.kind}`);
    return line.event;
  });
}

/** Returns a function that measures the time per event in microseconds, excluding decoding. */
function timer(match: Matcher, records: readonly Buffer[]): () => Promise<number> {
  let at = 0;
  return async () => {
    let done = 0;
    let elapsed_ms = 0;
    do {
      const events = eventsOf(records[at++ % records.length]!);
      const start_ms = performance.now();
      for (const event of events) match(event);
      elapsed_ms += performance.now() - start_ms;
      done += events.length;
    } while (elapsed_ms < RUN_MS);
    return (elapsed_ms * 1000) / done;
  };
}

async function measure({ report, quick }: Bench, { name, conditions, event }: Case): Promise<void> {
  const variants = [];
  const compile_ms: number[] = [];
  let same = true;
  for (const count of COUNTS) {
    const filters = Array.from({ length: count }, (_, i) => filter(i, conditions(i, count)));
    const records = recordsOf(Array.from({ length: EVENTS }, () => event(filters[random(count)]!)));
    const start_ms = performance.now();
    const match = compileMatcher(filters);
    compile_ms.push(performance.now() - start_ms);
    const loop = compileLoop(filters);
    same &&= records.every((record) => eventsOf(record).every((one) => match(one) === loop(one)));
    variants.push({ name: `${count} filters`, once: timer(match, records) });
    variants.push({ name: `loop over ${count}`, once: timer(loop, records) });
  }
  const figures = await interleaved(variants, quick ? { least: 3 } : { least: 15 });
  report.line(`  ${name}`);
  const cells = COUNTS.map((count, i) => {
    const [matcher_us, loop_us] = [median(figures[2 * i]!.rounds), median(figures[2 * i + 1]!.rounds)];
    const cells = [`${show(matcher_us, "µs")} µs`, `${show(loop_us, "µs")} µs`, show(loop_us / matcher_us, "×")];
    return [String(count), ...cells, `${show(compile_ms[i]!, "ms")} ms`];
  });
  report.table([["filters", "matcher", "loop", "loop/matcher", "compile"], ...cells]);
  report.fact(`same result as the loop, ${name}`, same);
  const [ours, limit] = [figures.at(-2)!, figures[0]!];
  const target = { kind: "at most", value: LIMIT } as const;
  report.ratio({ name: `cost of ${COUNTS.at(-1)} relative to ${COUNTS[0]}, ${name}`, unit: "µs", ours, limit, target });
}

export const benchmark: Benchmark = {
  name: "classify",
  // Runs once, as no engine is involved.
  kind: "embedded",
  about:
    "the class of an event among 10, 100, 1,000 and 10,000 class filters | a loop over the filters; the cost of 10",
  async run(bench) {
    for (const one of CASES) await measure(bench, one);
  },
};
