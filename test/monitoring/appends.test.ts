import test from "ava";
import { randomBytes } from "node:crypto";
import { pino } from "pino";

import { openSqliteBus } from "../../src/bus/sqlite/sqlite.ts";
import { LoggiaError } from "../../src/errors.ts";
import { watchAppends } from "../../src/monitoring/appends.ts";
import { temporaryFolder } from "../support/temporary.ts";

const log = pino({ level: "silent" });
const RECORDS = [{ key: "k", value: randomBytes(50_000) }];

test("a full disk is reported until an append succeeds, or for 10 s", async (t) => {
  const file = `${temporaryFolder(t)}/bus.sqlite`;
  await using bus = await openSqliteBus({ file, log, maxFile_bytes: 512 * 1024 });
  let now_ms = 1_000;
  let isRoom = false;
  const small = { append: () => (isRoom ? Promise.resolve() : bus.append("events", RECORDS)) };
  const watch = watchAppends(small, () => now_ms);
  const fill = async (): Promise<void> => {
    for (let i = 0; i < 100; i++) await watch.append("events", RECORDS);
  };
  t.is(watch.fault(), null);
  await t.throwsAsync(fill, { instanceOf: LoggiaError, message: /disk is full/ });
  // A bus that accepts no appends still answers.
  await bus.ping();
  t.regex(watch.fault() ?? "", /^failed the last append: .*disk is full$/);

  // Nothing is posted while the bus is not ready, so the next posts must show its state.
  now_ms += 9_999;
  t.truthy(watch.fault());
  now_ms += 1;
  t.is(watch.fault(), null);
  await t.throwsAsync(watch.append("events", RECORDS));
  t.truthy(watch.fault());
  isRoom = true;
  await watch.append("events", RECORDS);
  t.is(watch.fault(), null);
});

test("an append that fails late does not count if a later one has succeeded", async (t) => {
  const first = Promise.withResolvers<void>();
  const answers = [first.promise, Promise.resolve()];
  const watch = watchAppends({ append: () => answers.shift()! });
  const late = watch.append("events", RECORDS);
  await watch.append("events", RECORDS);
  first.reject(new LoggiaError("bus_unavailable", "too late"));
  await t.throwsAsync(late, { message: "too late" });
  t.is(watch.fault(), null);
});

test("appends that are too large or exceed the queue do not count as failures of the bus", async (t) => {
  const errors = [new LoggiaError("body_too_large", "too large"), new LoggiaError("overloaded", "too much")];
  for (const error of errors) {
    const watch = watchAppends({ append: () => Promise.reject(error) });
    t.is(await t.throwsAsync(watch.append("events", RECORDS)), error);
    t.is(watch.fault(), null);
  }
});

test("details of an unexpected failure are not public", async (t) => {
  const watch = watchAppends({ append: () => Promise.reject(new TypeError("password is hunter2")) });
  await t.throwsAsync(watch.append("events", RECORDS));
  t.regex(watch.fault() ?? "", /^failed the last append: unexpected error; see the log of the service$/);
});
