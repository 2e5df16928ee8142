import test from "ava";

import { jsonFields } from "../../src/cli/json-lines.ts";

const MOMENT = "2026-11-20T10:00:00.000Z";

/** Lines of loggers, with the text, time and severity that they have by other ways in, too. */
const LINES: readonly (readonly [line: object, text: string, created: string, tags: string, timeNs?: string])[] = [
  [
    { "@t": "2026-11-20T10:00:00.1234567Z", "@m": "Order 17 failed", "@l": "Error", OrderId: 17 },
    "Order 17 failed",
    "2026-11-20T10:00:00.123Z",
    "error",
    "1795168800123456700",
  ],
  [{ "@timestamp": MOMENT, "log.level": "error", message: "ecs" }, "ecs", MOMENT, "error"],
  [{ "@timestamp": MOMENT, log: { level: "error" }, message: "nested ecs" }, "nested ecs", MOMENT, "error"],
  [{ severity: "ERROR", timestamp: MOMENT, message: "gcp" }, "gcp", MOMENT, "error"],
  [{ Timestamp: MOMENT, LogLevel: "Error", Message: "net" }, "net", MOMENT, "error"],
  [{ time: MOMENT, levelname: "ERROR", name: "shop", message: "py" }, "py", MOMENT, "error"],
  [{ ts: MOMENT, lvl: "ERROR", msg: "lvl" }, "lvl", MOMENT, "error"],
  [{ level: "info", time: MOMENT, msg: "user loaded", created: "2015-03-01T00:00:00Z" }, "user loaded", MOMENT, "info"],
  [{ level: "info", "@timestamp": MOMENT, message: "note", text: "hello" }, "note", MOMENT, "info"],
  [{ level: 30, time: 1_795_168_800_000, msg: "pino" }, "pino", MOMENT, "info"],
  [{ level: 30, time: 1_795_168_800, msg: "seconds" }, "seconds", MOMENT, "info"],
];

for (const [line, text, created, tags, timeNs] of LINES) {
  test(`a line of JSON has the names of other ways in: ${text}`, (t) => {
    const { fields, others } = jsonFields(JSON.stringify(line))!;
    t.like(fields, { text, created, tags });
    t.is((others as Record<string, unknown>)["time_ns"], timeNs);
  });
}

test("what is not the text or the time stays an attribute", (t) => {
  const line = { time: MOMENT, msg: "user loaded", created: "2015-03-01T00:00:00Z", text: "hello", level: "info" };
  t.deepEqual(jsonFields(JSON.stringify(line))!.others, {
    created: "2015-03-01T00:00:00Z",
    text: "hello",
    level: "info",
  });
});

test("small numbers in a line of JSON are no times", (t) => {
  for (const time of [0, 0.005, 12.345678, 20_190_501, -1_700_000_000]) {
    const { fields, others } = jsonFields(JSON.stringify({ msg: "a", time }))!;
    t.is(fields.created, undefined);
    t.deepEqual(others, { time });
  }
});
