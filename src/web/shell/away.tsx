import type { JSX } from "preact";

import { wordsOf } from "../api/client.ts";
import { Message } from "../parts/message.tsx";

/** In place of the page, where not even the session could be asked for. */
export function Away({ fault, retry }: { fault: unknown; retry: () => void }): JSX.Element {
  return (
    <main id="main" tabIndex={-1} class="door">
      <Message kind="warn" title="No answer from the service" acts={[{ label: "Try now", act: retry, solid: true }]}>
        {wordsOf(fault)}
      </Message>
    </main>
  );
}
