import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import { wordsOf } from "../api/client.ts";
import type { EventRecord } from "../api/types.ts";
import { momentOf } from "../api/types.ts";
import type { App } from "../app.ts";
import { Message } from "../parts/message.tsx";
import type { Run, Search } from "../state/search.ts";

/** The events that a run found. */
export function ResultList({ app, search }: { app: App; search: Search }): JSX.Element {
  const run = search.run.value;
  const rows = useSignal<readonly EventRecord[]>([]);
  const fault = useSignal<unknown>(null);
  useEffect(() => {
    fault.value = null;
    readFirst(app, run).then(
      (read) => (rows.value = read),
      (error: unknown) => {
        if (!run.signal.aborted) fault.value = error;
      },
    );
  }, [run]);
  if (fault.value !== null)
    return (
      <div class="pad">
        <Message kind="bad" title="This query could not be answered" acts={[{ label: "Try again", act: search.start }]}>
          {wordsOf(fault.value)}
        </Message>
      </div>
    );
  return (
    <div id="list" class="list" role="list" tabIndex={0} aria-label="Events">
      {rows.value.map((row) => (
        <div class="row" role="listitem" key={row.id} data-class={row.class ?? undefined}>
          <time class="t">{new Date(momentOf(row.created)).toISOString().slice(11, 23)}</time>
          <span class="k">{row.class}</span>
          <span class="s">{row.source}</span>
          <span class="x">{row.text}</span>
          <span class="g">{row.tags.join(" ")}</span>
        </div>
      ))}
    </div>
  );
}

async function readFirst({ client }: App, run: Run): Promise<readonly EventRecord[]> {
  const range = `OCCURS('${new Date(run.moments.from).toISOString()}', '${new Date(run.moments.to).toISOString()}')`;
  const { body } = await client.ask<readonly EventRecord[]>(`/1/logs/${run.log}/query`, {
    query: { query: `${run.query}\n${range} SORT created ${run.order.toUpperCase()}`, tz: run.zone, attributes: true },
    signal: run.signal,
  });
  return body;
}
