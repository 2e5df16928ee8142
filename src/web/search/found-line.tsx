import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import { ApiFault } from "../api/client.ts";
import type { App } from "../app.ts";
import type { Run, Search } from "../state/search.ts";

/** How many events were found, in which range, and how long it took; the title of the page says it too. */
export function FoundLine({ app, search }: { app: App; search: Search }): JSX.Element {
  const run = search.run.value;
  const found = useSignal<{ readonly text: string; readonly took_ms: number | null }>({ text: "", took_ms: null });
  useEffect(() => {
    found.value = { text: "Searching…", took_ms: null };
    countEvents(app, run).then(
      (counted) => (found.value = counted),
      (error: unknown) => {
        if (!run.signal.aborted) found.value = { text: error instanceof ApiFault ? "No result" : "", took_ms: null };
      },
    );
  }, [run]);
  const { text, took_ms } = found.value;
  const unseen = app.unseen.value;
  useEffect(() => {
    document.title = `${unseen > 0 ? `(${unseen}) ` : ""}${text}, ${search.log}, Loggia`;
  }, [text, unseen]);
  return (
    <div class="found">
      <h1 id="found">{text}</h1>
      <span class="note">
        {rangeWords(run)}
        {took_ms !== null && `, ${took_ms.toFixed(0)} ms`}
      </span>
      <span class="space" />
    </div>
  );
}

async function countEvents({ client }: App, run: Run): Promise<{ text: string; took_ms: number }> {
  const range = `OCCURS('${new Date(run.moments.from).toISOString()}', '${new Date(run.moments.to).toISOString()}')`;
  const answer = await client.ask<readonly { count: string }[]>(`/1/logs/${run.log}/query`, {
    query: { query: `${run.query}\n${range} COLUMNS(COUNT)`, tz: run.zone },
    signal: run.signal,
  });
  const count = Number(answer.body[0]?.count ?? 0);
  const text = `${count.toLocaleString("en")} ${count === 1 ? "event" : "events"}`;
  return { text, took_ms: answer.took_ms };
}

function rangeWords({ moments, zone }: Run): string {
  const format = new Intl.DateTimeFormat("en-GB", {
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
    timeZone: zone,
  });
  const place = zone.slice(zone.lastIndexOf("/") + 1).replaceAll("_", " ");
  return `${format.format(moments.from).replace(",", "")} to ${format.format(moments.to).replace(",", "")} ${place}`;
}
