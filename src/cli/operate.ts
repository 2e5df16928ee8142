import { resolve } from "node:path";

import { restore } from "../operations/restore.ts";
import { readSettings } from "../settings.ts";
import { call, type ServiceOptions } from "./call.ts";
import type { CommandOutput } from "./manage.ts";
import { CommandError } from "./request.ts";
import { printable, table } from "./terminal.ts";
import { untilEnded } from "./wait.ts";
import type { WaitedJob } from "./wait.ts";

type DeadLetterSummary = {
  readonly id: string;
  readonly time: string;
  readonly redriven: string | null;
  readonly stage: string;
  readonly reason: string;
  readonly origin: { readonly partition: number; readonly offset: number; readonly line: number };
  readonly key: string;
  readonly content: string;
};
type Page = { readonly letters: readonly DeadLetterSummary[]; readonly next: string | null; readonly open: number };

const SHOWN_CHARACTERS = 60;

export async function listDeadLetters(
  options: ServiceOptions & { readonly all?: unknown; readonly after?: string; readonly limit?: string },
): Promise<CommandOutput> {
  const query = new URLSearchParams({
    state: options.all === undefined ? "open" : "all",
    limit: options.limit ?? "100",
  });
  if (options.after !== undefined) query.set("after", options.after);
  const page = (await call(options, "GET", `/manage/1/deadletters?${query.toString()}`)) as Page;
  const rows = page.letters.map(({ id, time, redriven, stage, reason, origin, key, content }) => [
    id,
    showMoment(time),
    stage,
    shorten(reason),
    `${origin.partition}/${origin.offset}/${origin.line}`,
    key,
    redriven === null ? "" : showMoment(redriven),
    // The record's first line only names the log.
    shorten(content.slice(content.indexOf("\n") + 1)),
  ]);
  const headings = ["ID", "WHEN", "STAGE", "REASON", "PARTITION/OFFSET/LINE", "LOG", "REDRIVEN", "CONTENT"];
  const more = page.next === null ? "" : `\nThere are more: --after ${page.next}`;
  return { value: page, text: `${table(headings, rows)}\n${page.open} open${more}` };
}

/** @param words ids of dead letters, or `all` */
export async function redriveDeadLetters(options: ServiceOptions, words: readonly string[]): Promise<CommandOutput> {
  const json = words.length === 1 && words[0]?.toLowerCase() === "all" ? { all: true } : { ids: words };
  const value = (await call(options, "POST", "/manage/1/deadletters/redrive", { json })) as {
    redriven: number;
    missing: string[];
  };
  const missing =
    value.missing.length === 0 ? "" : `; there is no dead letter ${value.missing.map(printable).join(", ")}`;
  return { value, text: `${value.redriven} sent through the pipeline again${missing}` };
}

type Hold = { readonly name: string; readonly why: string; readonly todo: string };

export async function listHolds(options: ServiceOptions): Promise<CommandOutput> {
  const value = (await call(options, "GET", "/manage/1/holds")) as Hold[];
  const rows = value.map(({ name, why, todo }) => [name, why, todo]);
  return {
    value,
    text: rows.length === 0 ? "there are no holds" : table(["HOLD", "WHY", "WHAT TO DO"], rows),
  };
}

export async function acceptHold(options: ServiceOptions, name: string): Promise<CommandOutput> {
  const path = `/manage/1/holds/${encodeURIComponent(name)}/accept`;
  const value = (await call(options, "POST", path, { json: {} })) as Hold;
  return { value, text: `${printable(value.name)} accepted: ${printable(value.why)}` };
}

type Built = Record<"rebuilt" | "compared" | "copied" | "markers", number> & { readonly stage: string };
type Replay = WaitedJob &
  Record<"records" | "events" | "visits" | "expired" | "refused", number> & {
    readonly started: string;
    readonly ended: string | null;
    readonly oldest: string | null;
    readonly rebuild: Built | null;
  };
type Backup = WaitedJob & { readonly to: string; readonly files: readonly { name: string; size_bytes: number }[] };

export async function replay(
  options: ServiceOptions & { readonly into?: string },
  from: string,
  stderr: NodeJS.WriteStream,
): Promise<CommandOutput> {
  const order = { from, ...(options.into !== undefined && { into: options.into }) };
  const value = await waitFor<Replay>(options, "/manage/1/replay", order, showReplay, stderr);
  return { value, text: value.rebuild === null ? showRead(value) : showRebuilt(value, value.rebuild) };
}

function showReplay(replay: Replay): string {
  const { rebuild } = replay;
  if (rebuild === null || rebuild.stage === "reading") return showRead(replay);
  return `${rebuild.stage}: ${rebuild.rebuilt} rebuilt, ${rebuild.compared} of the old store compared`;
}

function showRead({ records, events, visits, expired, refused, oldest }: Replay): string {
  const reach = oldest === null ? "" : ` from ${showMoment(oldest)} on`;
  return (
    `read ${records} records${reach}: ${events} events and ${visits} visits, ` +
    `of which ${expired} had expired; ${refused} refused`
  );
}

function showRebuilt(replay: Replay, { rebuilt, copied, markers }: Built): string {
  const took_s = (msOf(replay.ended ?? "") - msOf(replay.started)) / 1000;
  const rows = [
    ["rebuilt from the bus", String(rebuilt)],
    ["oldest record of the bus", showMoment(replay.oldest ?? "none")],
    ["copied from the old store", String(copied)],
    ["markers of deletions kept", String(markers)],
    ["expired, left out", String(replay.expired)],
    ["refused lines of the bus", String(replay.refused)],
    ["took", `${took_s.toFixed(1)} s`],
  ];
  return table(["WHAT", "COUNT"], rows);
}

/** @param folder on the service's disk; relative to this command's working directory */
export async function backup(
  options: ServiceOptions,
  folder: string,
  stderr: NodeJS.WriteStream,
): Promise<CommandOutput> {
  const show = ({ files }: Backup): string => {
    const size_mb = files.reduce((sum, { size_bytes }) => sum + size_bytes, 0) / 1e6;
    return `copied ${files.map(({ name }) => name).join(", ") || "nothing yet"} (${size_mb.toFixed(1)} MB)`;
  };
  const value = await waitFor<Backup>(options, "/manage/1/backup", { to: resolve(folder) }, show, stderr);
  return { value, text: `${show(value)} to ${value.to}` };
}

/** Starts a job of the service and shows its progress until it ends. */
async function waitFor<T extends WaitedJob>(
  options: ServiceOptions,
  path: string,
  json: object,
  show: (job: T) => string,
  stderr: NodeJS.WriteStream,
): Promise<T> {
  const job = (await call(options, "POST", path, { json })) as T;
  const read = async (): Promise<T> => {
    const { last } = (await call(options, "GET", path)) as { last: T | null };
    if (last === null) throw new CommandError("The service was restarted meanwhile and no longer knows this job");
    return last;
  };
  return untilEnded(job, read, show, stderr);
}

/**
 * Restores a backup into the data folder named by the environment.
 * @throws CommandError, StartError
 */
export async function restoreBackup(folder: string, environment: NodeJS.ProcessEnv): Promise<string> {
  const { data, engines } = readSettings(environment);
  if (engines.kind === "cluster")
    throw new CommandError("Only embedded engines have backups to restore: unset KAFKA_BROKERS and ELASTICSEARCH_URL");
  const { begun, files } = await restore(resolve(folder), data);
  return `restored ${files.map(({ name }) => name).join(", ")} of ${begun} into ${data}`;
}

/** Formats `/Date(1308491673911)/` for people. */
function showMoment(text: string): string {
  const ms = msOf(text);
  return Number.isFinite(ms) ? new Date(ms).toISOString().replace("T", " ").slice(0, 19) : text;
}

function msOf(text: string): number {
  return Number(/-?\d+/.exec(text)?.[0]);
}

function shorten(text: string): string {
  const characters = Array.from(text);
  return characters.length <= SHOWN_CHARACTERS ? text : `${characters.slice(0, SHOWN_CHARACTERS - 1).join("")}…`;
}
