import { ApiFault } from "../../parts/api/client.ts";
import type { Client } from "../../parts/api/client.ts";
import { readEvents } from "../../parts/api/stream.ts";
import type { EventRecord } from "../../parts/api/types.ts";
import { textWithoutClauses } from "../../parts/query/clauses.ts";
import { rowOfRecord } from "../../parts/rows/row.ts";
import type { OpenStream, StreamEvents } from "./tail.ts";

/**
 * Longest silence, in milliseconds. The service writes at least every 15 s, so a longer silence
 * means a lost connection or a proxy that buffers the stream.
 */
const SILENCE_MS = 40_000;

type Followed = { readonly log: string; readonly query: string; readonly zone: string };

/** Returns a function that opens tails of a query. */
export function tailStreams(client: Client, { log, query, zone }: Followed): OpenStream {
  const conditions = textWithoutClauses(query, ["sort", "take", "skip", "columns", "occurs"]);
  return (start, events) => {
    const abort = new AbortController();
    const isAfter = "after" in start;
    const opening = client.open(`/1/logs/${log}/tail`, {
      query: { query: conditions, tz: zone, attributes: true, last: isAfter ? undefined : start.last },
      headers: { Accept: "text/event-stream", ...(isAfter && { "Last-Event-ID": start.after }) },
      signal: abort.signal,
    });
    read(opening, events, abort).then(
      () => abort.signal.aborted || events.ended(null),
      (fault: unknown) => abort.signal.reason instanceof LeftSignal || events.ended(fault),
    );
    return () => abort.abort(new LeftSignal());
  };
}

/** The reader left: no callback is called any more. */
class LeftSignal extends Error {}

async function read(opening: Promise<Response>, events: StreamEvents, abort: AbortController): Promise<void> {
  const { body } = await opening;
  if (body === null)
    throw new ApiFault({ status: 0, code: "empty", message: "The stream is empty", retryAfter_s: null });
  events.opened();
  const watch = watchFor(() => abort.abort(new Error("Nothing arrived for 40 s; something may hold the stream back")));
  try {
    const watched = body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>({ transform: watch.pass }));
    for await (const { event, data } of readEvents(watched)) {
      if (event === "event") events.event(rowOfRecord(JSON.parse(data) as EventRecord));
      else if (event === "skipped") events.skipped((JSON.parse(data) as { count: number }).count);
    }
  } finally {
    watch.end();
  }
}

/** Calls `onSilence` if no data passes for `SILENCE_MS`. */
function watchFor(onSilence: () => void) {
  let timer = setTimeout(onSilence, SILENCE_MS);
  return {
    pass: (chunk: Uint8Array, controller: TransformStreamDefaultController<Uint8Array>): void => {
      clearTimeout(timer);
      timer = setTimeout(onSilence, SILENCE_MS);
      controller.enqueue(chunk);
    },
    end: (): void => clearTimeout(timer),
  };
}

/** Reports whether a fault is permanent for the query, so that it is not sent again. */
export function isFinalFault(fault: unknown): boolean {
  return (
    fault instanceof ApiFault && fault.status >= 400 && fault.status < 500 && ![401, 408, 429].includes(fault.status)
  );
}
