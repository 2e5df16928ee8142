import { execFileSync, spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { StartError } from "../../src/errors.ts";

/** A process that may outlive its parent, identified by its pid and a mark in its command line. */
export type Detached = { readonly pid: number; readonly mark: string };

/**
 * Starts `command` in a new session. Its output goes to `log`, which is truncated first.
 * @throws StartError if it cannot be started
 */
export async function launch(command: string, args: readonly string[], mark: string, log: string): Promise<Detached> {
  mkdirSync(dirname(log), { recursive: true });
  const output = openSync(log, "w");
  try {
    const child = spawn(command, args, { detached: true, stdio: ["ignore", output, output] });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", reject);
    });
    child.unref();
    return { pid: child.pid!, mark };
  } catch (error) {
    throw new StartError(`Cannot start ${command}: ${(error as Error).message}`, { cause: error });
  } finally {
    closeSync(output);
  }
}

/** Returns whether the process runs. Its command line must contain the mark, as pids are reused. */
export function isRunning({ pid, mark }: Detached): boolean {
  return commandLine(pid).includes(mark);
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || process.platform === "linux") return "";
  }
  try {
    return execFileSync("ps", ["-ww", "-o", "command=", "-p", String(pid)], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
  } catch {
    return "";
  }
}

/** Sends a signal to the process, if it is still running. */
export function signal(detached: Detached, name: NodeJS.Signals): void {
  if (!isRunning(detached)) return;
  try {
    process.kill(detached.pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Stops the process with SIGTERM, and with SIGKILL after `grace_ms`. Resolves once it is gone. */
export async function stop(detached: Detached, grace_ms = 20_000): Promise<void> {
  // A process stopped with SIGSTOP receives SIGTERM only when it is continued.
  signal(detached, "SIGCONT");
  signal(detached, "SIGTERM");
  if (await isGone(detached, grace_ms)) return;
  signal(detached, "SIGKILL");
  if (!(await isGone(detached, 10_000))) throw new Error(`Process ${detached.pid} survived SIGKILL for 10 s.`);
}

/** Resolves with whether the process ended within `timeout_ms`. */
export async function isGone(detached: Detached, timeout_ms: number): Promise<boolean> {
  const deadline = performance.now() + timeout_ms;
  while (isRunning(detached)) {
    if (performance.now() > deadline) return false;
    await sleep(25);
  }
  return true;
}

/**
 * Waits until `ask`, a real request to the engine, resolves.
 * @throws StartError with the end of `log` if the process died or `timeout_ms` passed; the reason
 * of `signal` if that is aborted
 */
export async function waitUntilReady(
  engine: string,
  detached: Detached,
  log: string,
  ask: () => Promise<void>,
  { timeout_ms = 90_000, signal }: { timeout_ms?: number; signal?: AbortSignal | undefined } = {},
): Promise<void> {
  const deadline = performance.now() + timeout_ms;
  for (;;) {
    signal?.throwIfAborted();
    try {
      return await ask();
    } catch (cause) {
      const died = !isRunning(detached);
      if (died || performance.now() > deadline) {
        const what = died ? "ended while starting" : `was not ready after ${timeout_ms / 1000} s`;
        throw new StartError(`${engine} ${what}. The end of ${log}:\n${tail(log, 20)}`, { cause });
      }
    }
    await sleep(100);
  }
}

function tail(file: string, lines: number): string {
  try {
    return readFileSync(file, "utf8").trimEnd().split("\n").slice(-lines).join("\n");
  } catch {
    return "(nothing)";
  }
}
