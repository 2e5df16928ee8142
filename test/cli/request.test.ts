import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import test, { type ExecutionContext } from "ava";

import { createSender } from "../../src/cli/request.ts";

/** Posts to a server that answers as `answer` does. */
async function post(t: ExecutionContext, answer: (response: ServerResponse) => void, reply_ms = 500) {
  const server = createServer((request, response) => void request.resume().on("end", () => answer(response)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close().closeAllConnections());
  const sender = createSender(1);
  t.teardown(() => sender.close());
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return sender.send(url, { method: "POST", body: "a", timeout_ms: 60_000, reply_ms });
}

test("an answer that goes on and on is not waited for", async (t) => {
  const drip = (response: ServerResponse): void => {
    const timer = setInterval(() => response.write("<p>"), 20);
    response.on("close", () => clearInterval(timer));
  };
  await t.throwsAsync(post(t, drip), { message: "no complete answer within 500 ms" });
});

test("an answer without an end is not kept in memory", async (t) => {
  const page = Buffer.alloc(4 * 1024 * 1024, "<");
  const pour = (response: ServerResponse): void => {
    while (!response.destroyed && response.write(page));
    response.once("drain", () => pour(response));
  };
  await t.throwsAsync(post(t, pour, 60_000), { message: /^an answer of more than 64 MB/ });
});
