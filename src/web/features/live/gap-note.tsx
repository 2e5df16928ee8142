import { useSignal } from "@preact/signals";
import type { JSX } from "preact";

import { faultMessage } from "../../parts/api/client.ts";
import { Message } from "../../parts/controls/message.tsx";
import { formatNumber } from "../../parts/text/numbers.ts";
import type { SkippedEvents } from "../../state/live/live-rows.ts";
import type { LiveTail } from "../../state/live/live.ts";

type GapProperties = {
  readonly live: LiveTail;
  readonly gap: SkippedEvents;
  readonly clock: (ms: number) => string;
};

/** Marks a gap left by the service, and loads its events. */
export function GapNote({ live: { rows, tail }, gap, clock }: GapProperties): JSX.Element {
  const state = useSignal<"idle" | "loading" | { readonly fault: unknown }>("idle");
  const load = (): void => {
    state.value = "loading";
    tail.fill(gap).catch((fault: unknown) => (state.value = { fault }));
  };
  const moment = (id: string): string => clock(rows.at(rows.indexOf(id))?.created ?? 0).slice(0, 8);
  const count = formatNumber(gap.count);
  const isLoading = state.value === "loading";
  return (
    <Message
      kind="warn"
      title={`${count} events were skipped between ${moment(gap.after)} and ${moment(gap.before)}`}
      actions={isLoading ? [] : [{ label: "Load them", act: load }]}
    >
      {typeof state.value === "object" ? `They could not be loaded: ${faultMessage(state.value.fault)}.` : WORDS}
      {isLoading && " Loading…"}
    </Message>
  );
}

const WORDS = "They arrived faster than this page reads. They are stored.";
