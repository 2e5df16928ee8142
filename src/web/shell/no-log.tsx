import type { JSX } from "preact";

import type { App } from "../state/app.ts";
import "../css/blank.css";

export type NoLogProperties = {
  readonly app: App;
  /** The log that the address names; "" if the account has none. */
  readonly log: string;
};

/** Replaces a log's screen: says that there is no log, and what can be done. */
export function NoLog({ app, log }: NoLogProperties): JSX.Element {
  const first = app.logs.value?.[0]?.key;
  return (
    <main id="main" tabIndex={-1} class="blank">
      <h1>{log === "" ? "No logs yet" : `There is no log “${log}”, or it is not shared with you`}</h1>
      <p>
        {first !== undefined ? (
          <a href={app.location.link({ screen: "search", log: first })}>Open {first}</a>
        ) : (
          <>
            <a href={app.location.link({ screen: "account", log: "", part: "logs" })}>Make a log</a>, or ask the admin
            of one to share it with you.
          </>
        )}
      </p>
    </main>
  );
}
