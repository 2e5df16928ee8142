import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import { hasOwnRange, rangeName } from "../../parts/query/range.ts";
import { readQuery } from "../../parts/query/compose.ts";
import { Message } from "../../parts/controls/message.tsx";
import type { Search } from "../search.ts";
import { lengthText } from "../../parts/time/lengths.ts";
import { formatsOfZone } from "../../parts/time/moments.ts";
import { Announcement } from "./list-fault.tsx";
import { shorterRange } from "./other-ranges.ts";
import { SLOW_MS } from "../../parts/controls/use-wait.ts";

/** Reports a slow query, its duration, and what would be faster. */
export function SlowNote({ search }: { readonly search: Search }): JSX.Element {
  const run = search.run.value;
  const passed_s = useSignal(SLOW_MS / 1000);
  useEffect(() => {
    const started_ms = performance.now() - SLOW_MS;
    const timer = setInterval(() => (passed_s.value = Math.round((performance.now() - started_ms) / 1000)), 1000);
    return () => clearInterval(timer);
  }, []);
  const shorter = shorterRange(run, search.range.value);
  const shorten = () => {
    search.range.value = shorter!.range;
    search.start();
  };
  return (
    <div class="pad">
      <Message
        icon="clock"
        isQuiet
        title={`Still searching, ${passed_s.value} s`}
        actions={[
          ...(shorter === null ? [] : [{ label: shorter.name, act: shorten }]),
          { label: "Cancel", act: search.cancel },
        ]}
      >
        {lengthOf(search)}
        {shorter !== null && " A shorter one is faster."}
      </Message>
      <Announcement text="Still searching" />
    </div>
  );
}

function lengthOf(search: Search): string {
  const { typed, moments, zone } = search.run.value;
  const parsed = readQuery(typed);
  if (parsed !== null && hasOwnRange(parsed)) return "The range is the one in the query.";
  const range = search.range.value;
  const name = rangeName(range, moments, formatsOfZone(zone));
  const isNamed = !/^-?\d+$/.test(range.from) && range.to === "now";
  if (!isNamed) return `The range is ${lengthText(moments.to - moments.from)}.`;
  return `The range is ${name.replace(/^Last (?:hour$)?/, "").toLowerCase() || "an hour"}.`;
}
