import type { JSX } from "preact";

import { ApiFault } from "../api/client.ts";

/** What is said of a fault: the service's own words, or what to do where it could not be reached. */
export function explain(fault: unknown): string {
  if (fault instanceof ApiFault && fault.status === 0) return "The service did not answer.";
  return fault instanceof Error ? fault.message : String(fault);
}

const LINES = [..."cdedce"].map((width, line) => ({ width, line }));

/** Rows in outline, where there is no list yet. */
export function Outline(): JSX.Element {
  return (
    <div class="list outline" aria-hidden="true">
      {LINES.map(({ width, line }) => (
        <div key={line} class="row">
          <span class="ghost a" />
          <span class="ghost b" />
          <span />
          <span class={`ghost ${width}`} />
        </div>
      ))}
    </div>
  );
}
