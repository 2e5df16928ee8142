import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";

import { faultMessage } from "../../parts/api/client.ts";
import { parseMoment } from "../../parts/api/types.ts";
import type { EventRecord } from "../../parts/api/types.ts";
import type { App } from "../../state/app.ts";
import type { Results } from "../../state/results.ts";
import { Message } from "../../parts/controls/message.tsx";
import type { Search } from "../../state/search.ts";
import { formatsOfZone } from "../../parts/time/moments.ts";
import { GoneEvent, isGone } from "../../state/faults/gone-event.tsx";

export type MissingEventProperties = {
  readonly app: App;
  readonly search: Search;
  readonly results: Results;
  readonly id: string;
};

/** Explains why the list does not contain the event that its address names. */
export function MissingEvent({ app, search, results, id }: MissingEventProperties): JSX.Element | null {
  const event = useSignal<EventRecord | null>(null);
  const fault = useSignal<unknown>(null);
  const read = () => {
    fault.value = null;
    app.client.request<EventRecord>(`/1/logs/${search.log}/events/${id}`).then(
      ({ body }) => (event.value = body),
      (error: unknown) => (fault.value = error),
    );
  };
  useEffect(read, []);
  const { zone } = search.run.value;
  const formats = useMemo(() => formatsOfZone(zone), [zone]);
  if (isGone(fault.value)) return <GoneEvent app={app} search={search} id={id} />;
  const title = "The event of the link is not in this list";
  if (fault.value !== null) {
    return (
      <div class="pad">
        <Message kind="warn" title={title} actions={[{ label: "Try again", act: read }]}>
          {`Whether it is gone is not known: ${faultMessage(fault.value)}.`}
        </Message>
      </div>
    );
  }
  if (event.value === null) return null;
  const moment = parseMoment(event.value.created);
  const showContext = () => {
    results.contextTop = null;
    app.location.go({ screen: "context", part: id, parameters: app.location.place.peek().parameters });
  };
  return (
    <div class="pad">
      <Message title={title} actions={[{ label: "Show it among its neighbours", act: showContext }]}>
        {`It is of ${formats.date(moment)}, ${formats.time(moment).slice(0, 8)}: the query or the range leaves it out.`}
      </Message>
    </div>
  );
}
