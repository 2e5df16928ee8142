import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "ava";
import { markOf, processesOf, stopProcessesOf } from "../../infra/engines/processes-of.ts";
import { readState, updateState } from "../../infra/engines/state.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const KAFKA = { brokers: ["127.0.0.1:9092"], ready: true };
const ELASTICSEARCH = { url: "http://127.0.0.1:9200", ready: true };

test("writing the state of one engine keeps that of the other", (t) => {
  const folder = join(temporaryFolder(t), "not there yet");
  updateState(folder, { way: "processes", kafka: { ...KAFKA, pid: 11, ready: false } });
  updateState(folder, { way: "processes", elasticsearch: { ...ELASTICSEARCH, pid: 12 } });
  updateState(folder, { way: "processes", kafka: { ...KAFKA, pid: 11 } });
  t.deepEqual(readState(folder), {
    way: "processes",
    kafka: { ...KAFKA, pid: 11 },
    elasticsearch: { ...ELASTICSEARCH, pid: 12 },
  });
});

test("a state that is missing, truncated or foreign reads as none", (t) => {
  const folder = temporaryFolder(t);
  t.is(readState(folder), null);
  for (const text of ["", '{"way": "proc', "null", "[]", '{"way":"by hand"}']) {
    writeFileSync(join(folder, "state.json"), text);
    t.is(readState(folder), null, text);
    t.deepEqual(processesOf(folder), {}, text);
  }
});

test("a pid reused by another program is not ours and is not stopped", async (t) => {
  const folder = temporaryFolder(t);
  const stranger = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
  t.teardown(() => stranger.kill("SIGKILL"));
  await once(stranger, "spawn");
  updateState(folder, { way: "processes", kafka: { ...KAFKA, pid: stranger.pid! } });
  t.deepEqual(processesOf(folder), {});
  await stopProcessesOf(folder);
  t.is(stranger.exitCode, null);
  t.is(stranger.signalCode, null);
});

test("a pid without a process is handled", async (t) => {
  const folder = temporaryFolder(t);
  const gone = spawn(process.execPath, ["-e", ""]);
  await once(gone, "exit");
  updateState(folder, { way: "processes", elasticsearch: { ...ELASTICSEARCH, pid: gone.pid! } });
  t.deepEqual(processesOf(folder), {});
  await t.notThrowsAsync(stopProcessesOf(folder));
});

test("a process with our mark is found through the state and stopped, one of another folder is not", async (t) => {
  const folder = join(temporaryFolder(t), "engines");
  mkdirSync(folder);
  const engine = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)", "--", markOf(folder, "kafka")]);
  t.teardown(() => engine.kill("SIGKILL"));
  await once(engine, "spawn");
  updateState(folder, { way: "processes", kafka: { ...KAFKA, pid: engine.pid! } });
  const beside = `${folder}-beside`;
  updateState(beside, { way: "processes", kafka: { ...KAFKA, pid: engine.pid! } });

  await until(() => processesOf(folder).kafka, { what: "the process to carry its command line" });
  t.deepEqual(processesOf(beside), {});
  const exited = once(engine, "exit");
  await stopProcessesOf(folder);
  t.deepEqual(await exited, [null, "SIGTERM"]);
});
