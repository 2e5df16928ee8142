import test from "ava";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

import { until } from "../support/until.ts";

const LOGGIA = new URL("../../src/cli/loggia.mjs", import.meta.url).pathname;

test("interrupting a replay with Ctrl-C says that it continues", async (t) => {
  let asked = 0;
  const counts = { records: 1, events: 1, visits: 0, expired: 0, refused: 0, rebuild: null };
  const running = { state: "running", started: "/Date(0)/", ended: null, reason: null, ...counts };
  const server = createServer((request, response) => {
    asked += 1;
    response.end(JSON.stringify(request.method === "POST" ? running : { last: running }));
  }).listen(0, "127.0.0.1");
  t.teardown(() => server.close());
  await once(server, "listening");
  const api = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const child = spawn(process.execPath, [LOGGIA, "replay", "start", "--api", api, "--as", "a@b:c"]);
  const message = text(child.stderr);
  await until(() => Promise.resolve(asked > 2), { what: "some looks at the replay" });
  child.kill("SIGINT");
  t.deepEqual(await once(child, "exit"), [130, null]);
  t.regex(await message, /The service continues the job; run the same command again to see its progress/);
});
