import test from "ava";
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

import { realEngines } from "../../support/engine-kinds.ts";
import { kafkaBrokers } from "../../support/engines.ts";
import { temporaryFolder, uniqueName } from "../../support/temporary.ts";

const run = promisify(execFile);
const HOUSE = resolve(import.meta.dirname, "../../..");

/** Posts, receives and acknowledges a record after the client's files have been removed. */
const UPGRADED = `
import { rmSync } from "node:fs";
import { openKafkaBus } from "./src/bus/kafka/kafka.ts";

const [, , broker, namespace] = process.argv;
const silent = () => {};
const log = { child: () => log, debug: silent, info: silent, warn: silent, error: silent, fatal: silent };
const bus = await openKafkaBus({ brokers: [broker], namespace, log });
rmSync(new URL("node_modules", import.meta.url), { recursive: true });
await bus.append("events", [{ key: "k", value: Buffer.from("taken") }], { deadline_ms: 120_000 });
const taken = Promise.withResolvers();
await bus.subscribe({ topic: "events", group: "g", maxRecords: 10, maxBytes: 1e6 }, async (batch) => {
  await batch.ack();
  taken.resolve(String(batch.records[0].value));
});
console.log(await taken.promise);
console.log(await bus.lag("events", "g").then((lags) => lags.every(({ end, next }) => end === next)));
for await (const records of bus.read({ topic: "events", maxRecords: 10, maxBytes: 1e6 })) console.log(records.length);
await bus[Symbol.asyncDispose]();
`;

const declare = realEngines ? test : test.skip;

declare("a process keeps working when its files are replaced", async (t) => {
  t.timeout(300_000);
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, "src"));
  cpSync(join(HOUSE, "src/bus"), join(folder, "src/bus"), { recursive: true });
  cpSync(join(HOUSE, "src/errors.ts"), join(folder, "src/errors.ts"));
  cpSync(join(HOUSE, "node_modules/kafkajs"), join(folder, "node_modules/kafkajs"), { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(join(folder, "upgraded.ts"), UPGRADED);
  const args = ["upgraded.ts", kafkaBrokers()[0]!, uniqueName("bus")];
  const { stdout } = await run(process.execPath, args, { cwd: folder, timeout: 240_000 });
  t.is(stdout, "taken\ntrue\n1\n");
});
