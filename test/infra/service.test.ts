import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import test from "ava";

import { describeService } from "../../infra/engines/service.ts";
import { environmentOf, post, startService } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

/** Longer than a machine may stall. */
const PATIENT_MS = 60_000;

function addressOf(server: Server): URL[] {
  return [new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)];
}

test("a running service reports its lag and its dead letters, at either address", async (t) => {
  const service = await startService({
    ...environmentOf("embedded", temporaryFolder(t)),
    LOGGIA_OPS: "127.0.0.1:0",
  });
  t.teardown(() => service.close());
  await post(service, { text: "Hello" });
  await service.ports.bus.append("events", [{ key: "first", value: Buffer.from("no record") }]);
  const own = `127.0.0.1:${service.monitoring?.port}`;
  const expected = [`Loggia         http://${own} is ready`, "lag            0 events, 0.0 s", "dead letters   1 open"];
  const lines = await until(
    async () => {
      const body = await describeService([new URL(`http://${own}`)], PATIENT_MS);
      return body.slice(0, 3).join("\n") === expected.join("\n") ? body : null;
    },
    { what: "one dead letter, and no lag" },
  );
  t.deepEqual(lines.slice(0, 3), expected);
  t.regex(lines.slice(3).join("\n"), /^bus {12}0\.\d MB of records, from 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ on$/);
  const api = `http://127.0.0.1:${service.api?.port}`;
  const ready = `Loggia         ${api} is ready`;
  const described = await until(
    async () => {
      const found = await describeService([new URL(api)], PATIENT_MS);
      return found[0] === ready ? found : null;
    },
    { what: "the service at its API" },
  );
  t.deepEqual(described, [ready, "               serves no metrics here; they are at the address of LOGGIA_OPS"]);
});

test("a running replay is reported", async (t) => {
  const server = createServer(({ url }, response) => {
    const metrics = "loggia_pipeline_lag_events 5\nloggia_pipeline_lag_seconds 1\nloggia_replay_running 1\n";
    response.end(url === "/metrics" ? metrics : JSON.stringify({ status: "ready", dependencies: {} }));
  }).listen(0, "127.0.0.1");
  t.teardown(() => server.close());
  await once(server, "listening");
  const lines = await describeService(addressOf(server), PATIENT_MS);
  t.deepEqual(lines.slice(1), [
    "lag            5 events, 1.0 s",
    "dead letters   unknown open",
    "replay         running",
  ]);
});

test("responses cannot control the terminal", async (t) => {
  const why = "\u001b]0;pwned\u0007\u009b31m\r\n\u202e\u061cgone";
  const body = JSON.stringify({ status: why, dependencies: { [why]: { ok: false, why } } });
  const server = createServer((_, response) => response.end(body)).listen(0, "127.0.0.1");
  t.teardown(() => server.close());
  await once(server, "listening");
  const [line = ""] = await describeService(addressOf(server), PATIENT_MS);
  t.true(line.includes("pwned") && line.includes("gone"));
  t.notRegex(line, /[\p{Cc}\p{Bidi_Control}]/u);
});

test("anything else on the port, or nothing, is not mentioned", async (t) => {
  const server = createServer((_, response) => response.end("[1]")).listen(0, "127.0.0.1");
  t.teardown(() => server.close());
  await once(server, "listening");
  t.deepEqual(await describeService(addressOf(server), PATIENT_MS), []);
  t.deepEqual(await describeService([new URL("http://127.0.0.1:1")]), []);
});
