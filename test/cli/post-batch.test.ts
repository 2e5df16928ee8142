import test from "ava";

import { createOutage } from "../../src/cli/outage.ts";
import { encodeBatchBody, readBatchItems, postBatch } from "../../src/cli/post-batch.ts";
import { CommandError, type OutgoingRequest, type RequestSender } from "../../src/cli/request.ts";
import { type AnswerCase, errorBody, FINAL_ANSWERS, FOREIGN_ANSWERS, PASSING_ANSWERS } from "../support/answers.ts";

const URL_OF_LOG = new URL("http://127.0.0.1:8081/1/logs/shop/events");

type Sent = { readonly key: string; readonly texts: readonly string[] };

function stored({ texts }: Sent): AnswerCase {
  const items = texts.map(() => '{"id":"6b01546226800000168a1671"}').join(",");
  return { name: "stored", status: 201, body: `{"accepted":${texts.length},"rejected":0,"items":[${items}]}` };
}

/** Posts a batch of these texts to a service that answers as `answerOf` says. */
async function post(texts: readonly string[], answerOf: (sent: Sent, n: number) => AnswerCase, patience_s = 60) {
  const sent: Sent[] = [];
  const sender: RequestSender = {
    async send(_, { headers, body }: OutgoingRequest) {
      const isZipped = headers?.["Content-Encoding"] === "gzip";
      const items = await readBatchItems({ key: "", body: body as Buffer, isZipped });
      const one = {
        key: headers?.["Idempotency-Key"] ?? "",
        texts: items.map(({ json }) => (JSON.parse(json) as { text: string }).text),
      };
      sent.push(one);
      const answer = answerOf(one, sent.length);
      const { status } = answer;
      const location = answer.headers?.["Location"] ?? null;
      const retryAfter_s = answer.headers?.["Retry-After"];
      const retryAfter_ms = retryAfter_s === undefined ? null : Number(retryAfter_s) * 1000;
      return { status, body: answer.body, retryAfter_ms, hint: null, location };
    },
    close() {},
  };
  const counts = { posted: 0, failed: 0, kept: 0, retried: 0, unread: 0, isUnmatched: false };
  const failures: string[] = [];
  const notes: string[] = [];
  const outage = createOutage({ where: "http://in", patience_s, note: (text) => notes.push(text) });
  const batch = texts.map((text) => ({ line: text, json: JSON.stringify({ text }) }));
  const outcome = await postBatch(
    batch,
    { key: "k", ...(await encodeBatchBody(batch)) },
    {
      sender,
      url: URL_OF_LOG,
      options: { key: "secret", patience_s },
      counts,
      fail: (line, why) => failures.push(`${line}: ${why}`),
      outage,
      signal: new AbortController().signal,
      interrupted: new AbortController().signal,
    },
  );
  return { outcome, sent, counts, failures, notes };
}

for (const answer of [...FOREIGN_ANSWERS, ...PASSING_ANSWERS]) {
  test(`a batch is repeated under its key after ${answer.name}`, async (t) => {
    const { outcome, sent, counts, failures } = await post(["a", "b"], (one, n) => (n === 1 ? answer : stored(one)));
    t.is(outcome, null);
    t.deepEqual(sent, [
      { key: "k", texts: ["a", "b"] },
      { key: "k", texts: ["a", "b"] },
    ]);
    t.like(counts, { posted: 2, retried: 1 });
    t.deepEqual(failures, []);
  });
}

test("what answered is reported, and the batch given up after the patience", async (t) => {
  const { outcome, counts, failures, notes } = await post(["a"], () => FOREIGN_ANSWERS[0]!, 0.3);
  const why = "404 Not Found (not an answer of Loggia, but of a proxy or another server)";
  t.like(outcome, { unsent: [{ line: "a", json: '{"text":"a"}' }], why });
  t.is(counts.posted, 0);
  t.deepEqual(failures, []);
  t.deepEqual(notes, [`loggia: http://in accepts no posts: ${why}; retrying for 0.3 s`]);
});

test("all of the patience is used, however long a proxy asks to wait; Loggia's own wait ends it", async (t) => {
  const headers = { "Retry-After": "3600" };
  const proxy = await post(["a"], () => ({ name: "", status: 503, body: "maintenance", headers }), 0.3);
  t.true(proxy.sent.length > 1);
  t.regex(proxy.outcome?.why ?? "", /^503 maintenance /);
  const own = await post(["a"], () => ({ name: "", status: 503, body: errorBody(503, "overloaded"), headers }), 5);
  t.is(own.sent.length, 1);
  t.is(own.outcome?.why, "Loggia answered 503 overloaded it is, and asked to wait for 3600 s");
});

test("of a batch that was given up in halves, only the lines without an answer are left", async (t) => {
  const tooLarge = { name: "", status: 413, body: errorBody(413, "body_too_large") };
  const answerOf = (one: Sent): AnswerCase =>
    one.texts.length > 2 ? tooLarge : one.texts.includes("c") ? FOREIGN_ANSWERS[0]! : stored(one);
  const { outcome, counts } = await post(["a", "b", "c", "d", "e", "f", "g"], answerOf, 0.2);
  t.is(outcome?.unsent.map(({ line }) => line).join(""), "cdefg");
  t.is(counts.posted, 2);
});

for (const answer of FINAL_ANSWERS) {
  const { status, body, name } = answer;
  const { message } = (JSON.parse(body) as { error: { message: string } }).error;
  if ([401, 403, 404].includes(status)) {
    test(`the run ends with words after ${name}`, async (t) => {
      const error = await t.throwsAsync(
        post(["a"], () => answer),
        { instanceOf: CommandError },
      );
      t.regex(error.message, new RegExp(`: ${status} ${message}`));
    });
  } else {
    test(`a line fails after ${name}`, async (t) => {
      const { outcome, sent, failures } = await post(["a"], () => answer);
      t.is(outcome, null);
      t.is(sent.length, 1);
      t.deepEqual(failures, [`a: ${status} ${message}`]);
    });
  }
}

test("a batch that Loggia finds too large is posted in halves, down to the line that fails", async (t) => {
  const tooLarge = { name: "", status: 413, body: errorBody(413, "body_too_large") };
  const answerOf = (one: Sent): AnswerCase =>
    one.texts.length > 2 || one.texts.includes("large") ? tooLarge : stored(one);
  const { outcome, sent, counts, failures } = await post(["a", "b", "large", "c", "d"], answerOf);
  t.is(outcome, null);
  t.is(counts.posted, 4);
  t.deepEqual(failures, ["large: 413 body_too_large it is"]);
  t.deepEqual(
    sent.map(({ key, texts }) => `${key} ${texts.join(" ")}`),
    ["k a b large c d", "k.0 a b large", "k.0.0 a b", "k.0.1 large", "k.1 c d"],
  );
});
