import { fork, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { nodeFlags } from "../../src/cli/node-flags.ts";
import { killAfterExit } from "../../infra/engines/guard.ts";

const PROJECT = resolve(import.meta.dirname, "../..");
const STOP_TIMEOUT_MS = 20_000;

/** A process of the service. */
export type ServiceProcess = AsyncDisposable & {
  readonly pid: number;
  /** Ports on 127.0.0.1; NaN if the process does not have that role. */
  readonly apiPort: number;
  readonly postPort: number;
  /** Returns the ports of other listeners by `protocol transport`, in the order of the settings. */
  listenerPorts(): ReadonlyMap<string, number>;
  /** Returns the resident memory in bytes. */
  residentBytes(): number;
  /** Returns the processor time of all threads so far, in milliseconds. */
  cpuTime_ms(): number;
  /** Stops it gracefully. */
  stop(): Promise<void>;
};

/**
 * Starts the service as an operator does, on free ports.
 * @param environment its settings; no other LOGGIA_, KAFKA_ or ELASTICSEARCH_ variables are passed
 * @param flags flags of Node.js
 */
export async function startServiceProcess(
  environment: Readonly<Record<string, string>>,
  flags: readonly string[] = [],
): Promise<ServiceProcess> {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(LOGGIA|KAFKA|ELASTICSEARCH)_/.test(name));
  // A profiler's signal ends a process that replaces itself to take its flags.
  const given = flags.length === 0 ? [] : (nodeFlags(environment, flags) ?? flags);
  const child = spawn(process.execPath, [...given, resolve(PROJECT, "src/cli/loggia.mjs"), "start"], {
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      ...Object.fromEntries(inherited),
      LOGGIA_API: "127.0.0.1:0",
      LOGGIA_POST: "127.0.0.1:0",
      LOGGIA_LOG_LEVEL: "fatal",
      ...(flags.length > 0 && { MALLOC_ARENA_MAX: "2" }),
      ...environment,
    },
  });
  killAfterExit(child);
  const stop = (): Promise<void> => end(child);
  const exited = once(child, "exit").then(([code]) => {
    throw new Error(`the service exited with code ${String(code)} before it was ready`);
  });
  exited.catch(() => {});
  // A first start prints more lines before the addresses.
  let output = "";
  while (!/^\S+ +http:\/\//m.test(output)) {
    const [chunk] = (await Promise.race([once(child.stdout, "data"), exited])) as [Buffer];
    output += String(chunk);
  }
  const port = (role: string): number => Number(new RegExp(`^${role} +http://[^/]*:(\\d+)/`, "m").exec(output)?.[1]);
  return {
    pid: child.pid!,
    apiPort: port("API"),
    postPort: port("posting"),
    listenerPorts: () =>
      new Map(
        Array.from(
          output.matchAll(/^(syslog|gelf|forward) +(tcp|udp):\/\/[^/]*:(\d+)/gm),
          ([, protocol, transport, at]) => [`${protocol} ${transport}`, Number(at)],
        ),
      ),
    residentBytes: () => residentOf(child.pid!),
    cpuTime_ms: () => cpuTimeOf_ms(child.pid!),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** A server that the service is compared with. */
export type OtherServer = AsyncDisposable & { readonly port: number };

/** Starts the server that is the limit of posting. */
export function startLimitServer(): Promise<OtherServer> {
  return startOther(new URL("./limit-server.ts", import.meta.url));
}

/** Starts the server that forwards searches to Elasticsearch at `url`. */
export function startPlainProxy(url: string): Promise<OtherServer> {
  return startOther(new URL("./plain-proxy.ts", import.meta.url), url);
}

async function startOther(file: URL, ...parameters: string[]): Promise<OtherServer> {
  const child = killAfterExit(fork(fileURLToPath(file), parameters));
  const [port] = (await once(child, "message")) as [number];
  return { port, [Symbol.asyncDispose]: () => end(child) };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  const kill = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
  await exited;
  clearTimeout(kill);
}

/** Returns the resident memory in bytes, on Linux only, as all measurements of processes here. */
export function residentOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024;
}

/** Returns a process's processor time so far: main thread, and all others, ended ones included. */
export function cpuTimeOfThreads(pid: number): { readonly main_ms: number; readonly others_ms: number } {
  const main_ms = cpuTimeOf_ms(`${pid}/task/${pid}`);
  return { main_ms, others_ms: cpuTimeOf_ms(pid) - main_ms };
}

/** Returns the processor time of a task, which Linux counts in hundredths of a second. */
function cpuTimeOf_ms(task: number | string): number {
  const [, fields = ""] = readFileSync(`/proc/${task}/stat`, "utf8").split(") ");
  const [user, system] = fields.split(" ").slice(11, 13).map(Number);
  return (user! + system!) * 10;
}
