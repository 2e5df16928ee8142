import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";

import { MINUTE_MS } from "../../../query/calendar.ts";
import { acceptedAt, isEventId } from "../../../events/id.ts";
import { ApiFault } from "../../parts/api/client.ts";
import type { App } from "../app.ts";
import { exactRange } from "../../parts/query/range.ts";
import { Message } from "../../parts/controls/message.tsx";
import type { Search } from "../search.ts";
import { formatsOfZone } from "../../parts/time/moments.ts";
import "../../css/blank.css";

/** Reports whether a fault means that the event does not exist or was deleted. */
export function isGone(fault: unknown): boolean {
  return fault instanceof ApiFault && fault.code === "event_not_found";
}

export type GoneEventProperties = { readonly app: App; readonly search: Search; readonly id: string };

/** Length of the range shown on either side of a deleted event, in milliseconds. */
const AROUND_MS = 5 * MINUTE_MS;

/** Reports a missing event with possible reasons, and leads to the events around its time. */
export function GoneEvent({ app, search, id }: GoneEventProperties): JSX.Element {
  const days = useRetention(app, search.log);
  const { zone } = search.run.value;
  const clock = useMemo(() => formatsOfZone(zone).time, [zone]);
  if (!isEventId(id)) {
    return (
      <div class="pad">
        <Message title={`There is no event “${id}”`}>The address may have been cut off: ids have 24 digits.</Message>
      </div>
    );
  }
  const moment = acceptedAt(id);
  const showAround = () => {
    const { from, to } = exactRange({ from: moment - AROUND_MS, to: moment + AROUND_MS });
    app.location.go({
      screen: "search",
      log: search.log,
      part: "",
      parameters: new Map([
        ["from", from],
        ["to", to],
      ]),
    });
  };
  const deleted = "Someone with the role admin deleted it";
  return (
    <div class="pad">
      <Message
        title="This event is gone"
        actions={[{ label: `Events around ${clock(moment).slice(0, 8)}`, act: showAround }]}
      >
        {days.value === null ? `${deleted}.` : `${deleted}, or its retention of ${days.value} days ended.`}
      </Message>
    </div>
  );
}

/** Returns the retention of the log in days; null if unlimited or unknown. */
function useRetention({ client }: App, log: string) {
  const days = useSignal<number | null>(null);
  useEffect(() => {
    type Managed = { readonly key: string; readonly retentionDays: number | null };
    client.request<readonly Managed[]>("/manage/1/logs").then(
      ({ body }) => (days.value = body.find(({ key }) => key === log)?.retentionDays ?? null),
      // The message is correct without it.
      () => undefined,
    );
  }, [log]);
  return days;
}
