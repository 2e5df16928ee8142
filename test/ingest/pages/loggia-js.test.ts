import { readFileSync } from "node:fs";
import { createContext, runInContext } from "node:vm";
import test from "ava";

import { type AnswerCase, errorBody, FINAL_ANSWERS, FOREIGN_ANSWERS, PASSING_ANSWERS } from "../../support/answers.ts";
import { until } from "../../support/until.ts";

const SCRIPT = readFileSync(new URL("../../../src/ingest/pages/loggia.min.js", import.meta.url), "utf8");
const STORED: AnswerCase = { name: "stored", status: 201, body: '{"accepted":1,"rejected":0,"items":[{}]}' };

type PostedEvent = { readonly text: string; readonly data?: string; readonly tags?: readonly string[] };
type Post = {
  readonly key: string;
  readonly events: readonly PostedEvent[];
  readonly texts: readonly string[];
  readonly redirect: string;
};

/** Runs the script in a page whose posts are answered by `answerOf`. Its timers fire at once. */
function openPage(answerOf: (post: Post) => AnswerCase | "silence") {
  const posts: Post[] = [];
  type Init = { headers: Record<string, string>; body: string; redirect: string; signal?: AbortSignal };
  const fetch = (_: URL, { headers, body, redirect, signal }: Init) => {
    const lines = body.trimEnd().split("\n");
    const events = lines.map((line) => JSON.parse(line) as PostedEvent);
    const post = { key: headers["Idempotency-Key"]!, events, texts: events.map(({ text }) => text), redirect };
    posts.push(post);
    const answer = answerOf(post);
    if (answer === "silence")
      return new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(new Error("late"))));
    const { status, body: text } = answer;
    return Promise.resolve({ status, text: () => Promise.resolve(text) });
  };
  const window: { loggia?: (text: string, fields?: object) => void } = {};
  const script = { src: "http://127.0.0.1:8081/loggia.js", dataset: { log: "shop", key: "k", errors: "" } };
  const listeners = new Map<string, (event: object) => void>();
  const context = createContext({
    window,
    fetch,
    AbortSignal: { timeout: () => AbortSignal.timeout(10) },
    URL,
    URLSearchParams,
    Blob,
    location: { origin: "http://shop", pathname: "/" },
    document: { currentScript: script, addEventListener() {} },
    navigator: {},
    addEventListener: (name: string, listener: (event: object) => void) => listeners.set(name, listener),
    setTimeout: (work: () => void) => setTimeout(work, 0),
  });
  runInContext(SCRIPT, context);
  const reject = (reason: unknown): void => listeners.get("unhandledrejection")!({ reason });
  return { posts, loggia: window.loggia!, reject };
}

test("a page repeats its events, under one key, until Loggia itself answers", async (t) => {
  for (const answer of [...FOREIGN_ANSWERS, ...PASSING_ANSWERS]) {
    const { posts, loggia } = openPage(() => (posts.length < 3 ? answer : STORED));
    loggia("kept");
    await until(() => posts.length === 3, { what: `posts after ${answer.name}`, interval_ms: 2 });
    t.is(new Set(posts.map(({ key }) => key)).size, 1, answer.name);
    t.true(
      posts.every(({ texts, redirect }) => texts[0] === "kept" && redirect === "manual"),
      answer.name,
    );
  }
});

test("a page does not wait for ever for an answer", async (t) => {
  const { posts, loggia } = openPage(() => (posts.length < 3 ? "silence" : STORED));
  loggia("kept");
  await until(() => posts.length === 3, { what: "posts without an answer", interval_ms: 2 });
  t.is(new Set(posts.map(({ key }) => key)).size, 1);
});

test("a long message is cut at the limit of a text, not within a character, and kept as data", async (t) => {
  const { posts, loggia } = openPage(() => STORED);
  const long = `x${"\u{1f600}".repeat(20_000)}`;
  loggia(long);
  loggia("short");
  await until(() => posts.flatMap(({ events }) => events).length === 2, { what: "the events", interval_ms: 2 });
  const [cut, whole] = posts.flatMap(({ events }) => events);
  t.is(cut!.text, long.slice(0, 7_999));
  t.true(cut!.data!.isWellFormed() && long.startsWith(cut!.data!) && cut!.data!.length >= 9_999);
  t.deepEqual(cut!.tags, ["cut"]);
  t.is(whole!.data, undefined);
});

test("a long reason of a rejection is kept as data, and fits a beacon", async (t) => {
  const { posts, reject } = openPage(() => STORED);
  reject("я".repeat(70_000));
  await until(() => posts.length === 1, { what: "the event", interval_ms: 2 });
  const [event] = posts[0]!.events;
  t.is(event!.data, "я".repeat(10_000));
  t.deepEqual(event!.tags, ["error", "cut"]);
  t.true(Buffer.byteLength(JSON.stringify(event)) < 60_000);
});

test("fields that JSON cannot express are an error of the call, and hold up no other event", async (t) => {
  const { posts, loggia } = openPage(() => STORED);
  const ring: { self?: object } = {};
  ring.self = ring;
  for (const fields of [{ value: 1n }, { attributes: ring }]) {
    t.throws(() => loggia("broken", fields), { any: true, name: "TypeError" });
  }
  loggia("whole", { attributes: { n: 1 } });
  await until(() => posts.length === 1, { what: "a post", interval_ms: 2 });
  t.deepEqual(posts[0]!.texts, ["whole"]);
});

test("a page drops events that Loggia refuses", async (t) => {
  for (const answer of FINAL_ANSWERS) {
    const { posts, loggia } = openPage(({ texts }) => (texts.includes("bad") ? answer : STORED));
    loggia("bad");
    await until(() => posts.length === 1, { what: "a post", interval_ms: 2 });
    loggia("good");
    await until(() => posts.at(-1)!.texts[0] === "good", { what: `a post after ${answer.name}`, interval_ms: 2 });
    t.is(posts.length, 2, answer.name);
  }
});

test("a batch that Loggia finds too large is posted in halves, under keys of their own", async (t) => {
  const tooLarge = { name: "", status: 413, body: errorBody(413, "body_too_large") };
  const stored: string[] = [];
  const { posts, loggia } = openPage(({ texts }) => {
    if (texts.length > 2 || texts.includes("large")) return tooLarge;
    stored.push(...texts);
    return STORED;
  });
  for (const text of ["a", "b", "large", "c", "d"]) loggia(text);
  await until(() => stored.length === 4, { what: "the events", interval_ms: 2 });
  t.deepEqual(stored, ["a", "b", "c", "d"]);
  t.is(new Set(posts.map(({ key }) => key)).size, posts.length);
});
