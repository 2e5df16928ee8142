import type { JSX } from "preact";

import { Message } from "../parts/message.tsx";
import type { Search } from "../state/search.ts";

/** In place of an answer: why there is none, in the service's words. */
export function QueryFailed({ search, fault }: { search: Search; fault: string }): JSX.Element {
  return (
    <div class="pad">
      <Message kind="bad" title="This query could not be answered" acts={[{ label: "Try again", act: search.start }]}>
        {fault}
      </Message>
    </div>
  );
}
