import test from "ava";
import { setImmediate as turn } from "node:timers/promises";
import { parseLogKey } from "../../../src/events/event.ts";
import type { LogKey, StoredEvent } from "../../../src/events/event.ts";
import type { ClassFilter } from "../../../src/catalog/catalog.ts";
import { createClassifier } from "../../../pipelines/classify/classify.ts";
import { classByLoop } from "../../../pipelines/classify/loop.ts";
import { compileMatcher, matcherInSteps } from "../../../pipelines/classify/matcher.ts";
import type { Subject } from "../../../pipelines/classify/matcher.ts";
import { Matchers } from "../../../pipelines/classify/matchers.ts";
import type { Missing } from "../../../pipelines/classify/matchers.ts";
import { Scheduler } from "../../../src/scheduling/scheduler.ts";

function filter(i: number, conditions: Partial<ClassFilter> = { tag: `t${i}` }): ClassFilter {
  return { key: `k${i}`, display: "", color: "", tag: "", text: "", link: "", source: "", weight: 0, ...conditions };
}

function filters(count: number): ClassFilter[] {
  return Array.from({ length: count }, (_, i) => filter(i));
}

const logKey = (name: string): LogKey => parseLogKey(name)!;
const [A, B, C] = [logKey("a"), logKey("b"), logKey("c")];
const SUBJECT: Subject = { text: "", link: "", source: "", tags: [] };

/**
 * The worst filters that a log may have: texts and links of maximum length, many with a common
 * prefix, many short ones.
 */
const WORST: readonly { readonly name: string; readonly filters: readonly ClassFilter[] }[] = [
  { name: "long texts", of: (i: number) => ({ text: `${i} ${"long text ".repeat(20)}`.slice(0, 200) }) },
  { name: "long texts that begin alike", of: (i: number) => ({ text: `${"a".repeat(190)}${i}` }) },
  {
    name: "texts and links",
    of: (i: number) => ({ text: `${"x".repeat(50)}${i * 7}`, link: `${i % 97}${"y".repeat(90)}` }),
  },
  { name: "texts of a tag each", of: (i: number) => ({ tag: `t${i % 3000}`, text: `disk ${i} is full` }) },
  { name: "tags and sources", of: (i: number) => ({ tag: `t${i % 7}`, source: `source-${i}` }) },
  { name: "short texts", of: (i: number) => ({ text: i.toString(36) }) },
].map(({ name, of }) => ({
  name,
  filters: Array.from({ length: 10_000 }, (_, i) => filter(i, { ...of(i), weight: i % 11 })),
}));

/** A matcher with a step that takes a large part of the time has it in every run. */
const [LEAST_RUNS, MOST_RUNS] = [5, 25];

/** Returns the duration of each step of a generator, in milliseconds. */
function stepsOf(all: readonly ClassFilter[]): number[] {
  const lasted: number[] = [];
  const steps = matcherInSteps(all);
  for (;;) {
    const start_ms = performance.now();
    const { done } = steps.next();
    lasted.push(performance.now() - start_ms);
    if (done === true) return lasted;
  }
}

for (const { name, filters: all } of WORST) {
  test.serial(`no step of building a matcher takes a large part of the time: ${name}`, (t) => {
    // Other processes and collections of garbage delay any step, but not the same one in every run.
    let least: readonly number[] = [];
    let whole = 0;
    let longest = Infinity;
    for (let run = 1; run <= LEAST_RUNS || (run <= MOST_RUNS && longest >= whole / 12); run += 1) {
      const lasted = stepsOf(all);
      least = lasted.map((ms, i) => Math.min(ms, least[i] ?? Infinity));
      whole = least.reduce((sum, ms) => sum + ms, 0);
      longest = Math.max(...least);
    }
    t.log(`${least.length} steps, ${whole.toFixed(0)} ms, the longest ${longest.toFixed(2)} ms`);
    t.true(longest < whole / 12, `${longest} of ${whole} ms`);
  });
}

test("comparing filters one by one gives the same class as a matcher", async (t) => {
  const all = Array.from({ length: 400 }, (_, i) =>
    filter(i, {
      tag: i % 3 === 0 ? `T${i % 5}` : "",
      text: i % 4 === 0 ? "" : `İx${i % 9}`,
      link: i % 5 === 0 ? `L${i % 7}` : "",
      source: i % 7 === 0 ? `s${i % 2}` : "",
      weight: i % 13,
    }),
  );
  const match = compileMatcher(all);
  for (let i = 0; i < 200; i++) {
    const event = { text: `a i̇X${i % 11}b`, link: `/l${i % 8}`, tags: [`t${i % 6}`], source: `S${i % 3}` };
    let pauses = 0;
    t.is(await classByLoop(all, event, async () => void (pauses += 1)), match(event));
    t.is(pauses, 3, "in pieces");
  }
});

/** Classifies events of logs whose filters the test changes. */
function prepare(lists: Map<LogKey, readonly ClassFilter[]>) {
  const matchers = new Matchers({ pause: () => turn() });
  const catalog = {
    log: (key: LogKey) => ({ key }) as never,
    classFilters: (log: LogKey) => lists.get(log) ?? [],
    ownerOf: () => "ann" as never,
  };
  const classOf = createClassifier(catalog, new Scheduler(), matchers);
  const ask = (log: LogKey, tag: string) => classOf({ ...SUBJECT, log, tags: [tag] } as unknown as StoredEvent);
  return { matchers, ask };
}

test("events are classified without a matcher until it is ready, each by the filters of its moment", async (t) => {
  const lists = new Map([[A, filters(500) as readonly ClassFilter[]]]);
  const { matchers, ask } = prepare(lists);
  t.is(await ask(A, "t7"), "k7");
  for (let i = 0; i < 100; i++) t.is(await ask(A, `T${i}`), `k${i}`);
  await matchers.idle();
  t.is(ask(A, "t7"), "k7", "at once, by a matcher");
  lists.set(A, [filter(1, { tag: "t7" })]);
  const next = ask(A, "t7");
  lists.set(A, []);
  t.is(await next, "k1");
  t.is(ask(A, "t7"), null);
});

test("a change of a few filters applies at once, by the matcher of the others and one for the change", async (t) => {
  const some = (i: number, weight: number, change: Partial<ClassFilter> = {}) =>
    filter(1_000 + i, { tag: `t${i % 40}`, source: i % 3 === 0 ? "s" : "", weight, ...change });
  const list = Array.from({ length: 400 }, (_, i) => some(i, i % 7));
  const lists = new Map<LogKey, readonly ClassFilter[]>([[A, list]]);
  const { matchers, ask } = prepare(lists);
  want(matchers, { log: A, owner: "ann", filters: list });
  await matchers.idle();
  const changes: readonly ((now: ClassFilter[]) => void)[] = [
    (now) => void (now[5] = some(5, 9)),
    (now) => void now.splice(17, 1),
    (now) => void now.push(some(500, 9), some(501, 2, { key: "k0" })),
    (now) => void (now[5] = some(5, 0, { tag: "t39" })),
    (now) => void now.splice(40, 2, some(40, 8)),
  ];
  let atOnce = 0;
  for (const change of changes) {
    const now = [...lists.get(A)!];
    change(now);
    lists.set(
      A,
      now.toSorted((a, b) => (a.key < b.key ? -1 : 1)),
    );
    const whole = compileMatcher(now);
    for (let i = 0; i < 40; i++) {
      const found = ask(A, `t${i}`);
      if (!(found instanceof Promise)) atOnce += 1;
      t.is(await found, whole({ ...SUBJECT, tags: [`t${i}`] }));
    }
  }
  t.true(atOnce > 180, `${atOnce} of 200 at once`);
});

test("a new matcher is built after many changes, and no event waits for it", async (t) => {
  const list = filters(300);
  const lists = new Map<LogKey, readonly ClassFilter[]>([[A, list]]);
  const { matchers, ask } = prepare(lists);
  want(matchers, { log: A, owner: "ann", filters: list });
  await matchers.idle();
  const change = (from: number, to: number) => {
    const now = lists.get(A)!.map((one, i) => (i >= from && i < to ? filter(i, { tag: `changed-${i}` }) : one));
    lists.set(A, now);
  };
  change(0, 6);
  for (let i = 0; i < 1_000; i++) t.is(ask(A, "changed-5"), "k5");
  await matchers.idle();
  // One more change still counts as few only if the matcher has the previous one.
  change(6, 13);
  t.is(ask(A, "changed-12"), "k12");
  t.is(ask(A, "t20"), "k20");
  change(13, 40);
  t.true(ask(A, "t100") instanceof Promise, "too many");
});

test("logs with many filters and few events build no matcher", async (t) => {
  const logs = Array.from({ length: 50 }, (_, i) => logKey(`log-${i}`));
  const { matchers, ask } = prepare(new Map(logs.map((log) => [log, filters(1_000)])));
  for (const log of logs) t.is(await ask(log, "t999"), "k999");
  await matchers.idle();
  t.true(logs.every((log) => ask(log, "t1") instanceof Promise));
});

/** Requests a matcher often enough that it is built. */
function want(matchers: Matchers, missing: Missing): void {
  for (let i = 0; i < 1_000; i++) matchers.missed(missing);
}

test("the matcher of the owner with the least building time is built first", async (t) => {
  const order: LogKey[] = [];
  const lists = new Map<LogKey, readonly ClassFilter[]>();
  const matchers = new Matchers({
    pause: async () => {
      await turn();
      for (const [log, list] of lists) if (!order.includes(log) && matchers.find(log, list) !== null) order.push(log);
    },
  });
  for (let i = 0; i < 8; i++) lists.set(logKey(`eve-${i}`), filters(3_000));
  lists.set(A, filters(3_000));
  for (const [log, list] of lists) want(matchers, { log, owner: log === A ? "ann" : "eve", filters: list });
  await matchers.idle();
  t.true(order.includes(A) && order.indexOf(A) <= 1, `after at most the one that was being built: ${order.join(", ")}`);
});

test("matchers are limited in total and per owner; the least recently used are evicted first", async (t) => {
  const matchers = new Matchers({ maxSize: { all: 1_000, owner: 450 }, pause: () => turn() });
  const lists = new Map<LogKey, readonly ClassFilter[]>();
  const add = async (log: LogKey, owner: string): Promise<void> => {
    lists.set(log, filters(10));
    want(matchers, { log, owner, filters: lists.get(log)! });
    await matchers.idle();
  };
  const has = (log: LogKey): boolean => matchers.find(log, lists.get(log)!) !== null;
  // Ten filters by tag have a size of 200.
  await add(A, "ann");
  await add(B, "ann");
  t.true(has(A) && has(B));
  t.true(has(A));
  await add(C, "ann");
  t.true(has(A) && !has(B) && has(C), "an owner's own go, though all have room");
  for (const name of ["d", "e", "f"]) await add(logKey(name), `owner-of-${name}`);
  t.is([...lists.keys()].filter(has).length, 5);
  await add(logKey("g"), "owner-of-g");
  t.true(has(logKey("d")) && has(logKey("g")), "of the owner who has the most");
  t.is([A, C].filter(has).length, 1);
});

test("matchers count for the account that owns their logs", async (t) => {
  const matchers = new Matchers({ maxSize: { all: 1_000, owner: 450 }, pause: () => turn() });
  const lists = new Map([A, B, C].map((log) => [log, filters(10)]));
  const catalog = {
    log: (key: LogKey) => ({ key }) as never,
    classFilters: (log: LogKey) => lists.get(log)!,
    ownerOf: () => "ann" as never,
  };
  const classOf = createClassifier(catalog, new Scheduler(), matchers);
  for (const log of lists.keys()) {
    for (let i = 0; i < 10; i++) await classOf({ ...SUBJECT, log } as unknown as StoredEvent);
    await matchers.idle();
  }
  t.deepEqual(
    [A, B, C].filter((log) => matchers.find(log, lists.get(log)!) !== null),
    [B, C],
  );
});

test("a log with more filters than the total limit still gets a matcher", async (t) => {
  const matchers = new Matchers({ maxSize: { all: 60, owner: 60 }, pause: () => turn() });
  const many = filters(10);
  want(matchers, { log: A, owner: "ann", filters: many });
  await matchers.idle();
  t.is(matchers.find(A, many)?.({ ...SUBJECT, tags: ["T3"] }), "k3");
});
