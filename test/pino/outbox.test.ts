import { once } from "node:events";
import { readdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import test, { type ExecutionContext } from "ava";

import { Outbox } from "../../src/pino/outbox.mjs";
import { type AnswerCase, errorBody, FOREIGN_ANSWERS, PASSING_ANSWERS } from "../support/answers.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

// Each test would print a warning.
process.emitWarning = () => {};

const STORED: AnswerCase = { name: "stored", status: 201, body: '{"accepted":1}' };

type Post = { readonly method: string; readonly key: string; readonly lines: readonly string[] };

/** Opens a queue for a service that answers as `answerOf` says. */
async function openOutbox(t: ExecutionContext, answerOf: (post: Post, n: number) => AnswerCase) {
  const posts: Post[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    request.on("end", () => {
      const key = String(request.headers["idempotency-key"]);
      const post = { method: request.method ?? "", key, lines: text.trimEnd().split("\n") };
      posts.push(post);
      const { status, body, headers } = answerOf(post, posts.length);
      response.writeHead(status, headers).end(body);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close().closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const folder = temporaryFolder(t);
  const outbox = await Outbox.open({ url, log: "shop", key: "k", folder, interval: 1 });
  return { outbox, posts, folder };
}

for (const answer of [...FOREIGN_ANSWERS, ...PASSING_ANSWERS]) {
  test(`lines are sent again under their key after ${answer.name}`, async (t) => {
    const { outbox, posts, folder } = await openOutbox(t, (_, n) => (n === 1 ? answer : STORED));
    outbox.add('{"msg":"kept"}');
    await until(() => posts.length === 2, { what: "two posts", interval_ms: 5 });
    await outbox.close();
    t.is(new Set(posts.map(({ key }) => key)).size, 1);
    t.true(posts.every(({ method, lines }) => method === "POST" && lines[0] === '{"msg":"kept"}'));
    t.deepEqual(readdirSync(folder), []);
  });
}

test("lines that Loggia finds too many are sent in halves, down to the line that is refused", async (t) => {
  const tooLarge = { name: "", status: 413, body: errorBody(413, "body_too_large") };
  const stored: string[] = [];
  const { outbox, posts, folder } = await openOutbox(t, ({ lines }) => {
    if (lines.length > 2 || lines.includes("large")) return tooLarge;
    stored.push(...lines);
    return STORED;
  });
  for (const line of ["a", "b", "large", "c", "d"]) outbox.add(line);
  await until(() => stored.length === 4, { what: "the lines", interval_ms: 5 });
  await outbox.close();
  t.deepEqual(stored, ["a", "b", "c", "d"]);
  t.is(new Set(posts.map(({ key }) => key)).size, posts.length);
  t.true(posts.every(({ key }) => /^[0-9a-f-]{36}$/.test(key)));
  t.deepEqual(readdirSync(folder), []);
});
