import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";

import { messageText } from "../../ingest/kit/message-text.ts";
import { severityOfSyslog } from "../../ingest/kit/severity.ts";
import { CommandError } from "../request.ts";
import type { LineMetadata } from "./events.ts";
import { PLAIN_LINES } from "./framing.ts";
import type { ShipPosition, ShipState } from "./state.ts";
import { readStreamRecords } from "./streams.ts";

export type JournalEntry = { readonly text: string; readonly metadata: LineMetadata };
export type JournalPiece = { readonly entries: readonly JournalEntry[]; readonly position: ShipPosition | null };

type Mark = { readonly cursor: string };
type Fields = Readonly<Record<string, unknown>>;

/** Journal fields that do not become attributes: positions, and those mapped to event fields. */
const LEFT_OUT = new Set([
  "MESSAGE",
  "__REALTIME_TIMESTAMP",
  "__MONOTONIC_TIMESTAMP",
  "__CURSOR",
  "__SEQNUM",
  "__SEQNUM_ID",
]);

/**
 * Yields the entries of systemd's journal after the stored cursor, or all entries without one. It
 * runs journalctl as a child process.
 *
 * @param more arguments of journalctl, such as `-u nginx`
 * @throws CommandError if journalctl cannot be run, or exits with an error
 */
export async function* readJournal(
  more: readonly string[],
  { state, isFollowed, signal }: { state: ShipState; isFollowed: boolean; signal: AbortSignal },
): AsyncGenerator<JournalPiece> {
  const [stored] = state.marks("journal") as { id: number; mark: Mark }[];
  const id = stored?.id ?? state.addMark("journal", { cursor: "" });
  const cursor = stored?.mark.cursor ?? "";
  const words = ["--output=json", "--all", "--no-pager", "--quiet", ...(isFollowed ? ["--follow", "--no-tail"] : [])];
  const from = cursor === "" ? [] : [`--after-cursor=${cursor}`];
  const child = spawn("journalctl", [...words, ...from, ...more], { stdio: ["ignore", "pipe", "pipe"], signal });
  const failed = new Promise<Error>((resolve) => child.once("error", resolve));
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const faults = text(child.stderr);
  faults.catch(() => {});
  try {
    for await (const records of readStreamRecords(child.stdout, PLAIN_LINES)) {
      const read = records.map(({ text }) => entryOf(text));
      const last = read.findLast(({ cursor }) => cursor !== "");
      const position = last === undefined ? null : { source: "journal", id, mark: { cursor: last.cursor } };
      yield { entries: read, position };
    }
    const outcome = await Promise.race([failed, ended]);
    if (signal.aborted) return;
    if (outcome instanceof Error) throw new CommandError(`journalctl can't be run: ${outcome.message}`);
    if (outcome !== 0) throw new CommandError(`journalctl exited with ${outcome}: ${(await faults).trim()}`);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    child.kill();
  }
}

/** Converts a line of `journalctl --output=json`. */
function entryOf(line: string): JournalEntry & { readonly cursor: string } {
  const fields = (parse(line) as Fields | null) ?? fieldsBeforeCut(line);
  const field = (name: string): string => textOf(fields[name]);
  const source = field("SYSLOG_IDENTIFIER") || field("_SYSTEMD_UNIT") || field("_COMM") || field("_HOSTNAME");
  const created = /^\d+$/.test(field("__REALTIME_TIMESTAMP"))
    ? Number(field("__REALTIME_TIMESTAMP").slice(0, -3))
    : null;
  const others = Object.entries(fields).filter(([name]) => !LEFT_OUT.has(name));
  const attributes = Object.fromEntries(others.map(([name, value]) => [name, valueOf(value)]));
  const messages = [valueOf(fields["MESSAGE"])].flat().map(textOf);
  // As with journald's own upload, the first of several is the text.
  if (messages.length > 1) attributes["MESSAGE"] = messages.slice(1);
  return {
    text: messages[0]!.trim() === "" ? line : messages[0]!,
    metadata: { source, created, severity: severityOfSyslog(field("PRIORITY")), attributes },
    cursor: field("__CURSOR"),
  };
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

/** A member of an object whose values are texts or bytes. The last one may have been cut. */
const MEMBER =
  /[{,]\s*"(?<name>\w{1,200})"\s*:\s*(?:(?<text>"(?:[^"\\]|\\.)*)(?:"|$)|\[(?<bytes>[\d,\s]*)(?<end>\]|$)|null)\s*/suy;

/** Returns the fields of a line that exceeded the limit and was cut. */
function fieldsBeforeCut(line: string): Fields {
  const fields: Record<string, unknown> = {};
  // An escape that was cut would leave the text without its end.
  const whole = line.replace(/\\(?:u[\da-f]{0,3})?$/iu, "");
  MEMBER.lastIndex = 0;
  for (let groups = MEMBER.exec(whole)?.groups; groups !== undefined; groups = MEMBER.exec(whole)?.groups) {
    const { name = "", text, bytes, end } = groups;
    if (text === undefined && bytes === undefined) continue;
    // The last number may have been cut, too.
    const list = end === "" ? bytes?.slice(0, Math.max(0, bytes.lastIndexOf(","))) : bytes;
    const value = parse(text === undefined ? `[${list}]` : `${text}"`);
    if (value !== null) fields[name] = value;
  }
  return fields;
}

/** Decodes a value. Binary fields are arrays of bytes; repeated fields are arrays of values. */
function valueOf(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return value.every((one) => typeof one === "number") ? messageText(Buffer.from(value)) : value.map(textOf);
}

function textOf(value: unknown): string {
  const one: unknown = valueOf(value);
  return Array.isArray(one) ? textOf(one[0]) : typeof one === "string" ? one : "";
}
