import test, { type ExecutionContext } from "ava";
import { randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";

import { openSqliteBus } from "../../../src/bus/sqlite/sqlite.ts";
import { collect, record, texts } from "../../contract/bus.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { until } from "../../support/until.ts";

const log = pino({ level: "silent" });
const LINE = JSON.stringify({ id: "66361c9c000001b53f928e6e", text: "GET /orders answered 200", tags: ["http"] });
const MB = 1024 * 1024;

function busFile(t: ExecutionContext): string {
  return join(temporaryFolder(t), "bus.sqlite");
}

test("records of many events take a fraction of their size and are delivered unchanged", async (t) => {
  const file = busFile(t);
  const values = Array.from({ length: 40 }, (_, i) => `${i} ${LINE.repeat(500)}`);
  {
    await using bus = await openSqliteBus({ file, log });
    await bus.append(
      "events",
      values.map((value) => record("k", value)),
    );
    const { records } = await collect(bus, { group: "g" });
    await until(() => records.length === values.length, { what: "all records" });
    t.deepEqual(texts(records), values);
    t.is((await bus.last("events"))[0]?.value.toString(), values.at(-1));
  }
  t.true(statSync(file).size * 5 < values.join("").length);
});

test("a file shrinks once its records are removed", async (t) => {
  const file = busFile(t);
  {
    await using bus = await openSqliteBus({ file, log });
    for (let i = 0; i < 40; i++) await bus.append("events", [{ key: "k", value: randomBytes(MB) }]);
    const { records } = await collect(bus, { group: "g" });
    await until(() => records.length === 40, { what: "all records" });
  }
  t.true(statSync(file).size > 40 * MB);
  await using bus = await openSqliteBus({ file, log, keep_ms: 0 });
  await until(() => statSync(file).size < 20 * MB, { what: "the file to become smaller" });
  await bus.append("events", [record("k", "further")]);
  t.is((await bus.last("events"))[0]?.value.toString(), "further");
});
