import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { killAfterExit } from "../../infra/engines/guard.ts";

export const LAUNCHER = resolve(import.meta.dirname, "../../src/cli/loggia.mjs");
const START_TIMEOUT_MS = 180_000;

export type ProgramOptions = {
  readonly name: string;
  /** Folder of its log. */
  readonly folder: string;
  readonly environment: Record<string, string>;
  /** Modules loaded into the process before the service. */
  readonly preloads?: readonly string[];
  /** Longest time of a start, in milliseconds; by default that of a busy machine. */
  readonly startTimeout_ms?: number;
};

/**
 * A process of the service as an operator starts it, which can be killed and restarted at the same
 * addresses.
 */
export class Program implements AsyncDisposable {
  readonly name: string;
  readonly #options: ProgramOptions;
  #environment: Record<string, string>;
  #child: ChildProcess | null = null;
  #log: string;
  starts = 0;

  private constructor(options: ProgramOptions) {
    this.name = options.name;
    this.#options = options;
    this.#environment = options.environment;
    this.#log = join(options.folder, `${options.name}.log`);
  }

  static async start(options: ProgramOptions): Promise<Program> {
    const program = new Program(options);
    await program.start();
    return program;
  }

  get isRunning(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined || !this.isRunning) throw new Error(`${this.name} does not run:\n${this.tail()}`);
    return pid;
  }

  /**
   * Starts it, or restarts it, and resolves once it has printed its addresses.
   * @param changed changes of its environment from now on
   * @throws Error with the end of its log if it does not start
   */
  async start(changed: Record<string, string> = {}): Promise<void> {
    const { preloads = [], startTimeout_ms = START_TIMEOUT_MS } = this.#options;
    this.#environment = { ...this.#environment, ...changed };
    const log = openSync(this.#log, "a");
    try {
      const child = spawn(process.execPath, [...preloads.map((file) => `--import=${file}`), LAUNCHER, "start"], {
        env: { PATH: process.env["PATH"], ...this.#environment },
        stdio: ["ignore", "pipe", log],
      });
      this.#child = killAfterExit(child);
      const ready = started(child);
      const timeout = AbortSignal.timeout(startTimeout_ms);
      const ended = once(child, "exit", { signal: timeout }) as Promise<[number | null, NodeJS.Signals | null]>;
      const end = await Promise.race([ready.then(() => null), ended]);
      ended.catch(() => {});
      ready.catch(() => {});
      if (end !== null) throw new Error(`${this.name} ended (${end.join(" ").trim()}) while starting:\n${this.tail()}`);
      child.stdout!.resume();
      this.starts += 1;
    } finally {
      closeSync(log);
    }
  }

  signal(name: NodeJS.Signals): void {
    process.kill(this.pid, name);
  }

  /** Sends SIGKILL and waits until it is gone. */
  async kill(): Promise<void> {
    if (this.isRunning) await this.#end("SIGKILL");
  }

  /** Sends SIGTERM and waits as long as it takes. */
  async terminate(): Promise<{ code: number | null; took_ms: number }> {
    const start_ms = performance.now();
    const code = await this.#end("SIGTERM");
    return { code, took_ms: performance.now() - start_ms };
  }

  async #end(name: NodeJS.Signals): Promise<number | null> {
    const child = this.#child!;
    const exit = once(child, "exit") as Promise<[number | null]>;
    this.signal(name);
    const [code] = await exit;
    return code;
  }

  /** Returns present and peak resident memory in MB, and the number of open descriptors. */
  usage(): { rss_mb: number; peak_mb: number; descriptors: number } {
    const status = readFileSync(`/proc/${this.pid}/status`, "utf8");
    const read = (name: string): number =>
      Math.round(Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) / 1024);
    return {
      rss_mb: read("VmRSS"),
      peak_mb: read("VmHWM"),
      descriptors: readdirSync(`/proc/${this.pid}/fd`).length,
    };
  }

  tail(lines = 15): string {
    return this.log().trimEnd().split("\n").slice(-lines).join("\n");
  }

  log(): string {
    return readFileSync(this.#log, "utf8");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

/** What a first start prints before its addresses. */
const FIRST = /^(First start|An earlier first start)[^]*?\n\n/;

/** Resolves once a process has printed its addresses. */
async function started({ stdout }: ChildProcess): Promise<void> {
  let said = "";
  while (/^$|^(First start|An earlier first start)/.test(said.replace(FIRST, ""))) {
    const [chunk] = (await once(stdout!, "data")) as [Buffer];
    said += chunk.toString("utf8");
  }
}
