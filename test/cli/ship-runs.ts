import { spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { type ExecutionContext } from "ava";

import { get, KEY, LOG, type Service } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const LOGGIA = new URL("../../src/cli/loggia.mjs", import.meta.url).pathname;

/** Warnings that the command prints if the service is slow, as on a busy machine. */
const SLOW = /^loggia: (?:http\S+ accepts (?:no posts: it does not answer.*|posts again)|posted \d+, .*\/s)\n/gm;

type Run = { readonly code: number | null; readonly out: string; readonly err: string };

type Input = {
  readonly input?: string | Buffer;
  readonly stopWhen?: () => Promise<unknown>;
  readonly keepsNotes?: boolean;
  /** Zone of the machine that ships. */
  readonly machineZone?: string;
  /** Interrupts the command once it has written this to standard error. */
  readonly stopOn?: string;
};

/**
 * Each run has positions of its own: files of other tests may have had the same inode and the same
 * lines.
 */
const STATE = temporaryFolder({ teardown: (remove) => test.after.always(remove) });

export function run(
  words: readonly string[],
  { input, stopWhen, stopOn, keepsNotes = false, machineZone }: Input = {},
): Promise<Run> {
  const env = {
    ...process.env,
    LOGGIA_KEY: KEY,
    XDG_STATE_HOME: mkdtempSync(join(STATE, "run-")),
    ...(machineZone !== undefined && { TZ: machineZone }),
  };
  const child = spawn(process.execPath, [LOGGIA, ...words], { env });
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
    if (stopOn !== undefined && err.includes(stopOn)) child.kill("SIGINT");
  });
  // A command that gives up does not read the rest.
  child.stdin.on("error", () => {}).end(input ?? "");
  void stopWhen?.().finally(() => child.kill("SIGINT"));
  return new Promise((resolve) =>
    child.on("close", (code) => resolve({ code, out, err: keepsNotes ? err : err.replaceAll(SLOW, "") })),
  );
}

/** Returns the arguments of a command that posts to the tests' log. */
export function shipTo(url: string, ...more: string[]): string[] {
  return ["ship", "--url", url, "--log", LOG, ...more];
}

export type Row = { text: string; tags: string[]; source: string; user: string; value: number | null; data: boolean };

export async function rows(service: Service, count: number): Promise<Row[]> {
  return until(
    async () => {
      const { body } = await get(service, `/1/logs/${LOG}/events?pagesize=500`);
      return (body as Row[]).length >= count ? (body as Row[]) : null;
    },
    { what: `${count} events` },
  );
}

export function file(t: ExecutionContext, content: string | Buffer): string {
  const path = join(temporaryFolder(t), "a.log");
  writeFileSync(path, content);
  return path;
}
