import { setTimeout as delay } from "node:timers/promises";

import { followFile, readFileLines, readLines } from "./lines.ts";
import { CommandError, createSender, messageOf, parseBase, type Sender } from "./request.ts";
import { printable } from "./terminal.ts";

export type ShipOptions = {
  readonly url: string;
  readonly log: string;
  readonly key: string;
  readonly tags?: string;
  readonly source?: string;
  readonly user?: string;
  /** An expression whose named groups become fields of the event; lines that it does not match are posted as they are. */
  readonly pattern?: string;
  readonly follow?: boolean;
  /** Posts under way at once. */
  readonly inFlight: number;
  /** A line longer than this many characters is posted cut, with the whole line as data; 0: never. */
  readonly cut: number;
  /** How long one line is tried again before it counts as failed. */
  readonly patience_s: number;
};

export type ShipCounts = { posted: number; failed: number; retried: number };

type Terminal = { readonly stderr: NodeJS.WriteStream; readonly stdin: NodeJS.ReadStream };

const FIELDS: ReadonlySet<string> = new Set(["text", "tags", "source", "user", "value", "geo", "link", "data"]);
const FIRST_BACKOFF_MS = 100;
const LAST_BACKOFF_MS = 5_000;
const PROGRESS_MS = 200;
/** Faults shown one by one; the rest are only counted. */
const SHOWN_FAULTS = 10;

/**
 * Posts each line of the files (of standard input where there are none) as an event, many at once, until they end or `signal` fires.
 * A line is retried while the service is busy or away; then it, and each line that the service refuses, counts as failed.
 *
 * A post whose answer got lost is retried too, so a line may then be there twice, but never not at all.
 */
export async function ship(
  files: readonly string[],
  options: ShipOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<ShipCounts> {
  const base = parseBase("--url", options.url);
  const url = new URL(
    `${base.origin}${base.pathname.replace(/\/$/, "")}/1/logs/${encodeURIComponent(options.log)}/events`,
  );
  const pattern = options.pattern === undefined ? null : compilePattern(options.pattern);
  const counts: ShipCounts = { posted: 0, failed: 0, retried: 0 };
  const sender = createSender(options.inFlight);
  const progress = showProgress(counts, terminal.stderr);
  const fail = (line: string, why: string): void => {
    counts.failed += 1;
    if (counts.failed <= SHOWN_FAULTS) progress.note(`not posted: ${printable(line.slice(0, 80))}: ${printable(why)}`);
  };
  const running = new Set<Promise<void>>();
  const given_up: CommandError[] = [];
  try {
    for await (const line of allLines(files, options, terminal, signal)) {
      if (line.trim() === "") continue;
      const post = postLine(line, { sender, url, pattern, options, counts, fail, signal })
        .catch((error: unknown) => void given_up.push(asCommandError(error)))
        .finally(() => running.delete(post));
      running.add(post);
      if (running.size >= options.inFlight) await Promise.race(running);
      if (signal.aborted || given_up.length > 0) break;
    }
    await Promise.all(running);
    if (given_up[0] !== undefined) throw given_up[0];
  } finally {
    progress.close();
    sender.close();
  }
  return counts;
}

function asCommandError(error: unknown): CommandError {
  return error instanceof CommandError ? error : new CommandError("Shipping failed", { cause: error });
}

async function* allLines(
  files: readonly string[],
  options: ShipOptions,
  terminal: Terminal,
  signal: AbortSignal,
): AsyncGenerator<string> {
  if (files.length === 0) {
    signal.addEventListener("abort", () => terminal.stdin.destroy(), { once: true });
    try {
      yield* readLines(terminal.stdin);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    return;
  }
  if (options.follow === true && files.length > 1)
    throw new CommandError("--follow takes one file; start one command for each");
  for (const file of files) {
    try {
      yield* options.follow === true ? followFile(file, signal) : readFileLines(file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === undefined) throw error;
      throw new CommandError(`${file} can't be read: ${(error as Error).message}`, { cause: error });
    }
  }
}

function compilePattern(text: string): RegExp {
  const names = [...text.matchAll(/\(\?<([A-Za-z_$][\w$]*)>/g)].map(([, name]) => name ?? "");
  const strange = names.find((name) => !FIELDS.has(name));
  if (strange !== undefined)
    throw new CommandError(`--pattern names a group ${strange}; groups can be ${[...FIELDS].join(", ")}`);
  if (names.length === 0)
    throw new CommandError("--pattern has no named group, such as (?<text>.*), that could become a field");
  try {
    return new RegExp(text, "u");
  } catch (error) {
    throw new CommandError(`--pattern is no regular expression: ${(error as Error).message}`, { cause: error });
  }
}

/** The form that posts one line. */
export function formOf(line: string, pattern: RegExp | null, options: ShipOptions): URLSearchParams {
  const form = new URLSearchParams({ apikey: options.key });
  for (const name of ["tags", "source", "user"] as const) {
    const value = options[name];
    if (value !== undefined && value !== "") form.set(name, value);
  }
  const groups = pattern?.exec(line)?.groups ?? {};
  for (const [name, value] of Object.entries(groups)) if (value !== undefined && value !== "") form.set(name, value);
  const text = form.get("text") ?? line;
  const characters = Array.from(text);
  const long = options.cut > 0 && characters.length > options.cut;
  form.set("text", long ? characters.slice(0, options.cut).join("") : text);
  if (long && !form.has("data")) form.set("data", line);
  return form;
}

type Posting = {
  readonly sender: Sender;
  readonly url: URL;
  readonly pattern: RegExp | null;
  readonly options: ShipOptions;
  readonly counts: ShipCounts;
  readonly fail: (line: string, why: string) => void;
  readonly signal: AbortSignal;
};

async function postLine(line: string, { sender, url, pattern, options, counts, fail, signal }: Posting): Promise<void> {
  const body = formOf(line, pattern, options).toString();
  const until_ms = performance.now() + options.patience_s * 1000;
  for (let backoff_ms = FIRST_BACKOFF_MS; ; backoff_ms = Math.min(backoff_ms * 2, LAST_BACKOFF_MS)) {
    const outcome = await attempt(sender, url, body);
    if (outcome.kind === "posted") {
      counts.posted += 1;
      return;
    }
    if (outcome.kind === "refused") return fail(line, outcome.why);
    const wait_ms = Math.max(backoff_ms * (0.5 + Math.random() / 2), outcome.retryAfter_ms ?? 0);
    if (signal.aborted || performance.now() + wait_ms > until_ms) return fail(line, outcome.why);
    counts.retried += 1;
    await delay(wait_ms, undefined, { signal }).catch(() => {});
  }
}

type Outcome =
  | { readonly kind: "posted" }
  | { readonly kind: "busy"; readonly why: string; readonly retryAfter_ms: number | null }
  | { readonly kind: "refused"; readonly why: string };

async function attempt(sender: Sender, url: URL, body: string): Promise<Outcome> {
  try {
    const headers = { "Content-Type": "application/x-www-form-urlencoded" };
    const reply = await sender.send(url, { method: "POST", headers, body });
    if (reply.status === 201) return { kind: "posted" };
    const why = `${reply.status} ${messageOf(reply.body)}`;
    if (reply.status === 401 || reply.status === 403) throw new CommandError(`The service refuses the key: ${why}`);
    if (reply.status === 429 || reply.status >= 500) return { kind: "busy", why, retryAfter_ms: reply.retryAfter_ms };
    return { kind: "refused", why };
  } catch (error) {
    if (error instanceof CommandError) throw error;
    return { kind: "busy", why: (error as Error).message, retryAfter_ms: null };
  }
}

function showProgress(counts: ShipCounts, stderr: NodeJS.WriteStream) {
  const started_ms = performance.now();
  const line = (): string => {
    const perSecond = counts.posted / Math.max((performance.now() - started_ms) / 1000, 0.001);
    return `posted ${counts.posted}, failed ${counts.failed}, retried ${counts.retried}, ${perSecond.toFixed(0)}/s`;
  };
  const erase = stderr.isTTY ? "\r\u001b[K" : "";
  const timer = stderr.isTTY ? setInterval(() => stderr.write(`${erase}${line()}`), PROGRESS_MS) : null;
  return {
    note: (text: string) => stderr.write(`${erase}${text}\n`),
    close: () => {
      if (timer !== null) clearInterval(timer);
      stderr.write(erase);
    },
  };
}
