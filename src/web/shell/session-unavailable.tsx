import type { JSX } from "preact";

import { ApiFault, faultMessage } from "../parts/api/client.ts";
import { useRetry } from "../parts/api/use-retry.ts";
import { Message } from "../parts/controls/message.tsx";
import "../css/blank.css";

export type SessionUnavailableProperties = {
  readonly fault: unknown;
  readonly isOpening: boolean;
  readonly retry: () => void;
};

/** Replaces the page when the session could not be read. */
export function SessionUnavailable({ fault, isOpening, retry }: SessionUnavailableProperties): JSX.Element {
  const isAway = fault instanceof ApiFault && fault.status === 0;
  const left_s = useRetry({ fault, isOn: !isOpening, retry });
  return (
    <main id="main" tabIndex={-1} class="away">
      <h1 class="sr">Loggia</h1>
      <p class="sr" role="status">
        The page could not be opened. It is tried again by itself.
      </p>
      <Message
        kind="warn"
        isQuiet
        title={isAway ? "No answer from the service" : "The page could not be opened"}
        actions={[{ label: "Try now", act: retry, solid: true }]}
      >
        {isAway ? "" : `${faultMessage(fault)}. `}
        {left_s === 0 ? "Trying again…" : `Trying again in ${left_s} s.`}
      </Message>
    </main>
  );
}
