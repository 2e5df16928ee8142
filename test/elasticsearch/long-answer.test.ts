import { setImmediate as turn } from "node:timers/promises";

import { errors } from "@elastic/elasticsearch";
import test from "ava";
import fc from "fast-check";

import { AnswerSerializer, LongAnswer, parsed, parseInSteps } from "../../src/elasticsearch/long-answer.ts";
import { Scheduler } from "../../src/scheduling/scheduler.ts";

const { querying } = new Scheduler();

/** Longer than what is parsed at once. */
const LONG = 300_000;

test("a long answer is parsed as JSON.parse parses it, whatever its texts hold", async (t) => {
  const value = fc.jsonValue({ maxDepth: 4 });
  const text = fc.string({ unit: fc.constantFrom('"', "\\", "{", "]", ",", "ü", "😀", "\u0000", " ") });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(value, text), { minLength: 1 }), fc.boolean(), async (items, isSpaced) => {
      const filler = "f".repeat(LONG / 3);
      const answer = { filler: [filler, filler, filler], ["__proto__"]: items, hits: { hits: items, empty: {} } };
      const json = JSON.stringify(answer, null, isSpaced ? 2 : 0);
      t.deepEqual(await parseInSteps(Buffer.from(json), querying), JSON.parse(json));
    }),
    { numRuns: 60 },
  );
});

test("scalars and long texts alone are values", async (t) => {
  for (const json of ["1", " -2.5e3 ", "null", '"a"', "[]", "{}", JSON.stringify("x".repeat(LONG))]) {
    t.deepEqual(await parseInSteps(Buffer.from(json), querying), JSON.parse(json));
  }
});

test("malformed JSON is an error of the client, wherever it is cut", async (t) => {
  const json = JSON.stringify({
    hits: Array.from({ length: 20_000 }, (_, i) => ({ _id: `${i}`, n: [i, { a: null }] })),
  });
  for (let length = 1; length < json.length; length += 99_733) {
    await t.throwsAsync(parseInSteps(Buffer.from(json.slice(0, length)), querying), {
      instanceOf: errors.DeserializationError,
    });
  }
  for (const wrong of [`${json}x`, `{"a" ${json}}`, `[${json} ${json}]`, `[${json},]`, `{1:${json}}`, ""]) {
    await t.throwsAsync(
      parseInSteps(Buffer.from(wrong), querying),
      { instanceOf: errors.DeserializationError },
      wrong.slice(0, 20),
    );
  }
});

test("other work runs while a long answer is parsed, and may end it", async (t) => {
  const json = JSON.stringify(Array.from({ length: 100_000 }, (_, i) => ({ i, text: "some text" })));
  let turns = 0;
  const over = new AbortController();
  const counting = (async () => {
    for (; !over.signal.aborted; await turn()) turns += 1;
  })();
  const value = await parseInSteps(Buffer.from(json), querying);
  over.abort();
  await counting;
  t.is((value as unknown[]).length, 100_000);
  t.true(turns > 2, `${turns} turns`);

  const gone = new Error("gone");
  await t.throwsAsync(
    parseInSteps(Buffer.from(json), querying, () => {
      throw gone;
    }),
    { is: gone },
  );
});

test("the client hands long answers on unparsed, with and without their meta data", async (t) => {
  const value = { hits: ["x".repeat(LONG)] };
  const long = new AnswerSerializer().deserialize<LongAnswer>(JSON.stringify(value));
  t.true(long instanceof LongAnswer);
  t.deepEqual(await parsed(long, querying, () => {}), value);
  t.deepEqual(await parsed({ body: long, statusCode: 200 }, querying, () => {}), { body: value, statusCode: 200 });
  const short = { took: 1 };
  t.deepEqual(new AnswerSerializer().deserialize(JSON.stringify(short)), short);
  t.is(await parsed(short, querying, () => {}), short);
});
