/**
 * Starts children that must not outlive it, reports them, and waits for its own end. Runs in a
 * process of its own, or in a thread of the test.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { parentPort } from "node:worker_threads";
import { killAfterExit } from "../../infra/engines/guard.ts";
import { launch } from "../../infra/engines/processes.ts";
import type { Detached } from "../../infra/engines/processes.ts";
import { markOf } from "../../infra/engines/processes-of.ts";
import { updateState } from "../../infra/engines/state.ts";
import { guardEngineFolder, temporaryEngineFolder } from "../../infra/engines/temporary.ts";

export type Owned = { readonly folder: string; readonly engine: Detached; readonly child: Detached };

const IDLE = ["-e", "setInterval(() => {}, 1000)", "--"];

const folder = temporaryEngineFolder();
guardEngineFolder(folder);
const mark = markOf(folder, "kafka");
const engine = await launch(process.execPath, [...IDLE, mark], mark, join(folder, "log"));
updateState(folder, { way: "processes", kafka: { brokers: [], pid: engine.pid, ready: true } });
const child = killAfterExit(spawn(process.execPath, [...IDLE, folder]));
// A stopped process receives no signal.
child.kill("SIGSTOP");

const owned: Owned = { folder, engine, child: { pid: child.pid!, mark: folder } };
if (parentPort === null) console.log(JSON.stringify(owned));
else parentPort.postMessage(owned, []);
setInterval(() => {}, 1000);
