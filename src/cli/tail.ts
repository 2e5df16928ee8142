import { setTimeout as sleep } from "node:timers/promises";

import { parseBase } from "./addresses.ts";
import { authorizationHeader, type ServiceOptions } from "./call.ts";
import { readMessages, type StreamMessage } from "./event-stream.ts";
import { readMoment } from "./manage.ts";
import { painter } from "./paint.ts";
import { readClassColors, show } from "./queries.ts";
import { CommandError, answerMessage } from "./request.ts";
import { printable, printableLines } from "./terminal.ts";

export type TailOptions = ServiceOptions & {
  readonly log: string;
  /** LQL query; undefined: all events. */
  readonly query: string | undefined;
  readonly last: number;
  /** Print the service's JSON, one event per line. */
  readonly json: boolean;
};

type Fields = Readonly<Record<string, unknown>>;
type Print = (line: string) => void;

/** Delay before the next connection, after a broken one or the end of a stream. */
const RECONNECT_DELAY_MS = 1_000;

/**
 * Prints events as they are stored, until `signal` aborts. After a broken connection it resumes
 * after the last printed event. It reads the event stream, whose messages carry the id to resume
 * after whatever columns are shown.
 * @throws CommandError if the service refuses
 */
export async function tail(options: TailOptions, print: Print, signal: AbortSignal): Promise<void> {
  const line = options.json ? jsonLine : await lineOf(options);
  let last: string | null = null;
  while (!signal.aborted) {
    try {
      for await (const { id, event, data } of read(options, last, signal)) {
        if (data !== null) print(line(recordOf(event, data)));
        last = id ?? last;
      }
    } catch (error) {
      if (error instanceof CommandError) throw error;
      // The connection broke, or the service is unreachable for a while: try again.
    }
    await sleep(RECONNECT_DELAY_MS, undefined, { signal }).catch(() => undefined);
  }
}

function recordOf(event: string, data: string): Fields {
  const record = JSON.parse(data) as Fields;
  return event === "skipped" ? { skipped: record["count"] } : record;
}

/** In JSON, the escapes of {@link printable} are escapes of the same characters. */
function jsonLine(record: Fields): string {
  return printable(JSON.stringify(withIsoTime(record)));
}

function withIsoTime(record: Fields): Fields {
  const { created } = record;
  return typeof created === "string" ? { ...record, created: readMoment(created) } : record;
}

/** Formats an event for people, in the colour of its class if the output is a terminal. */
async function lineOf(options: TailOptions): Promise<(record: Fields) => string> {
  const isColored = process.stdout.isTTY && process.stdout.hasColors();
  const colors = isColored ? await readClassColors(options, options.log) : new Map<unknown, string>();
  return (record) => {
    if ("skipped" in record) return `(${show(record["skipped"])} events were skipped)`;
    const { created, source, text, ...rest } = record;
    const shown = "alerts" in rest ? [created, source, text] : Object.values(record);
    return painter(colors.get(record["class"]))(printable(shown.map(show).join("  ")));
  };
}

async function* read(options: TailOptions, last: string | null, signal: AbortSignal): AsyncGenerator<StreamMessage> {
  const base = parseBase("LOGGIA_API", options.api);
  const url = new URL(
    `${base.origin}${base.pathname.replace(/\/$/, "")}/1/logs/${encodeURIComponent(options.log)}/tail`,
  );
  url.searchParams.set("last", String(options.last));
  if (options.query !== undefined) url.searchParams.set("query", options.query);
  const headers: Record<string, string> = { ...authorizationHeader(options), Accept: "text/event-stream" };
  if (last !== null) headers["Last-Event-ID"] = last;
  const response = await fetch(url, { headers, signal });
  if (!response.ok) {
    const message = printableLines(answerMessage(await response.text()));
    if (response.status < 500 && response.status !== 429) {
      throw new CommandError(`GET ${url.pathname} was refused with ${response.status}: ${message}`);
    }
    throw new Error(message);
  }
  if (response.body !== null) yield* readMessages(response.body);
}
