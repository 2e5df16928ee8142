import type { JSX } from "preact";

import { ApiFault } from "../api/client.ts";
import { Message } from "../parts/message.tsx";

/** What is said of a fault: the service's own words, or what to do where it could not be reached. */
export function explain(fault: unknown): string {
  if (fault instanceof ApiFault && fault.status === 0) return "The service did not answer.";
  return fault instanceof Error ? fault.message : String(fault);
}

/** Why a run found nothing, above what the last one found. */
export function ListFault({ fault, onRetry }: { readonly fault: unknown; readonly onRetry: () => void }): JSX.Element {
  const status = fault instanceof ApiFault ? fault.status : null;
  const isAway = status === 0 || (status !== null && status >= 500) || status === 429;
  const title = isAway ? "The service did not answer this query" : "This query could not be answered";
  return (
    <div class="pad">
      <Message kind={isAway ? "warn" : "bad"} title={title} acts={[{ label: "Try again", act: onRetry }]}>
        {explain(fault)}
      </Message>
    </div>
  );
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
