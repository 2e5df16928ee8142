import test from "ava";

import { judgeAnswer, readAnswer } from "../../src/pino/answer.mjs";
import { FINAL_ANSWERS, FOREIGN_ANSWERS, PASSING_ANSWERS } from "../support/answers.ts";

test("only Loggia's own refusals are final", (t) => {
  for (const { name, status, body } of FINAL_ANSWERS)
    t.like(judgeAnswer(status, body), { kind: "refused", status }, name);
  for (const { name, status, body } of PASSING_ANSWERS)
    t.like(judgeAnswer(status, body), { kind: "retry", isOwn: true }, name);
  for (const { name, status, body } of FOREIGN_ANSWERS)
    t.like(judgeAnswer(status, body), { kind: "retry", isOwn: false }, name);
});

test("a post is stored once Loggia says how many events it accepted", (t) => {
  t.deepEqual(judgeAnswer(201, '{"accepted":2}'), { kind: "stored", answer: { accepted: 2 } });
});

test("a foreign answer is described by its status, text and target", (t) => {
  const of = "not an answer of Loggia, but of a proxy or another server";
  const page = "<html><style>h1 { color: red }</style>\n<h1>404 Not Found</h1><hr>nginx</html>";
  t.like(judgeAnswer(404, page), { why: `404 Not Found nginx (${of})` });
  t.like(judgeAnswer(301, "", "https://in.example.org/"), {
    why: `301 (${of}, redirecting to https://in.example.org/)`,
  });
  t.like(judgeAnswer(502, "\u001b[2J\u0007bad\u202e \ud800gateway"), { why: `502 [2J bad gateway (${of})` });
  t.like(judgeAnswer(302, "", "/\u009b2J"), { why: `302 (${of}, redirecting to / 2J)` });
  t.like(judgeAnswer(503, ""), { why: `503 (${of})` });
  t.like(judgeAnswer(503, '{"error":{"status":503,"code":"overloaded","message":"wait"}}'), { why: "503 wait" });
});

test("an answer is read up to a length that none of Loggia has", async (t) => {
  const answer = '{"accepted":1,"text":"größer"}';
  const bytes = Buffer.from(answer);
  const split = ReadableStream.from([bytes.subarray(0, 26), bytes.subarray(26)]);
  t.is(await readAnswer(new Response(split)), answer);
  t.is(await readAnswer(new Response(null)), "");
  let poured = 0;
  const page = Buffer.alloc(8 * 1024 * 1024, "<");
  const endless = ReadableStream.from(
    (function* () {
      for (;;) {
        poured += 1;
        yield page;
      }
    })(),
  );
  await t.throwsAsync(readAnswer(new Response(endless)), { message: /^an answer of more than 64 MB$/ });
  t.true(poured < 20);
});
