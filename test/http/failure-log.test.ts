import test from "ava";
import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";

import { LoggiaError } from "../../src/errors.ts";
import { FailureLog } from "../../src/http/failure-log.ts";
import { createLog } from "../../src/log.ts";
import { until } from "../support/until.ts";

type Line = Readonly<Record<string, unknown>> & { readonly msg: string; readonly err?: { readonly stack: string } };

/** Returns a log of failures and the lines that it has written. */
function recorder(interval_ms = 60_000) {
  const lines: Line[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Line) };
  const log = createLog({ level: "info", secrets: [], destination });
  return {
    lines,
    failures: new FailureLog(log, { addressOf: ({ socket }) => socket.remoteAddress ?? "" }, interval_ms),
  };
}

const sender = { socket: { remoteAddress: "192.0.2.7" }, headers: {} };
const POST = { method: "POST", route: "/1/logs/{log}/events", sender };

test("failures of one code and route are one line at once, and one with the count of the others", (t) => {
  const { lines, failures } = recorder();
  const unavailable = new LoggiaError("bus_unavailable", "Kafka cannot be reached", {
    cause: new Error("connect ECONNREFUSED 127.0.0.1:9092"),
  });
  for (let i = 0; i < 1_000; i++) failures.note(unavailable, POST);
  failures.note(unavailable, { ...POST, route: "otlp" });
  failures.note(new LoggiaError("overloaded", "too much"), POST);
  t.is(lines.length, 3);
  const { level, time, pid, hostname, ...first } = lines[0]!;
  t.is(level, 50);
  t.deepEqual([typeof time, typeof pid, typeof hostname], ["number", "number", "string"]);
  t.deepEqual(first, {
    code: "bus_unavailable",
    method: "POST",
    route: "/1/logs/{log}/events",
    address: "192.0.2.7",
    reason: "Kafka cannot be reached: connect ECONNREFUSED 127.0.0.1:9092",
    count: 1,
    msg: "a request failed",
  });
  failures[Symbol.dispose]();
  t.is(lines.length, 4);
  t.like(lines[3], { code: "bus_unavailable", count: 999, msg: "999 requests failed" });
  failures[Symbol.dispose]();
  t.is(lines.length, 4);
});

test("each interval has a line of its own, and after a quiet one the next failure is logged at once", async (t) => {
  const { lines, failures } = recorder(20);
  const note = () => failures.note(new LoggiaError("overloaded", "too much"), POST);
  note();
  note();
  await until(() => lines.length === 2, { what: "the line of the interval" });
  t.deepEqual([lines[1]!["count"], lines[1]!.msg], [1, "a request failed"]);
  // A line at once means that the interval without failures has ended.
  await until(
    async () => {
      await sleep(50);
      const before = lines.length;
      note();
      return lines.length > before;
    },
    { what: "a line at once" },
  );
  failures[Symbol.dispose]();
});

test("what clients cause is not logged", (t) => {
  const { lines, failures } = recorder();
  for (const code of ["bad_event", "unauthorized", "too_many_requests", "event_not_found"] as const)
    failures.note(new LoggiaError(code, "no"), POST);
  t.deepEqual(lines, []);
});

for (const fault of [
  new Error("password is hunter2"),
  new LoggiaError("internal_error", "an engine says hunter2"),
  "a string",
  undefined,
  null,
  { status: 200 },
]) {
  test(`an unexpected ${inspect(fault, { depth: 0 }).split("\n")[0]} is logged with its stack`, (t) => {
    const { lines, failures } = recorder();
    failures.note(fault, POST);
    t.is(lines.length, 1);
    t.like(lines[0], { code: "internal_error", msg: "a request failed with an unexpected error" });
    if (fault instanceof Error) t.true(lines[0]!.err!.stack.includes(fault.message));
  });
}
