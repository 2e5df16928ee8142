import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";

import type { App } from "../app.ts";
import { Message } from "../../parts/controls/message.tsx";
import type { MessageAction } from "../../parts/controls/message.tsx";
import type { Search } from "../search.ts";
import { formatsOfZone } from "../../parts/time/moments.ts";
import { messageForFault } from "./fault-message.ts";
import type { FaultMessage } from "./fault-message.ts";
import { shorterRange } from "./other-ranges.ts";
import { showInQuery } from "./show-in-query.ts";
import { useRetry } from "../../parts/api/use-retry.ts";
import "../../css/blank.css";

export type ListFaultProperties = {
  readonly app: App;
  readonly search: Search;
  readonly fault: unknown;
  /** Whether a retry is running. */
  readonly isAsking: boolean;
  /** When the data shown was loaded, in milliseconds since the Unix epoch; null if nothing is. */
  readonly loaded_ms: number | null;
  /** Noun for the items that could not be read. */
  readonly what?: string;
  readonly onRetry: () => void;
  readonly onCancel: () => void;
};

/** Shows why something could not be read, beside the last data. Temporary faults are retried. */
export function ListFault(properties: ListFaultProperties): JSX.Element {
  const { app, search, fault, isAsking, loaded_ms, what = "events", onRetry } = properties;
  const root = useRef<HTMLDivElement>(null);
  const message = useMemo(() => messageForFault(fault, search.log), [fault]);
  const passes = message.help === "count down" || message.help === "wait";
  const isHeldBack = message.help === "wait";
  const left_s = useRetry({ fault, isOn: passes && !isAsking, retry: onRetry, isHeldBack });
  const { zone } = search.run.value;
  const clock = useMemo(() => formatsOfZone(zone).time, [zone]);
  useAfterSignIn(app, message, onRetry);
  useLayoutEffect(() => () => void (hasFocus(root.current) && document.getElementById("main")?.focus()), []);
  const lines: string[] = [];
  if (message.help === "count down") lines.push(left_s === 0 ? "Trying again…" : `Trying again in ${left_s} s.`);
  if (message.text !== "") lines.push(message.text);
  if (passes && !isHeldBack && loaded_ms !== null)
    lines.push(`The ${what} shown were loaded at ${clock(loaded_ms).slice(0, 8)}.`);
  return (
    <div ref={root} class="pad">
      <Message
        kind={message.kind}
        isQuiet={passes}
        {...(message.icon !== undefined && { icon: message.icon })}
        title={message.title}
        actions={actionsFor(message, properties)}
      >
        {lines.length === 0 ? undefined : lines.join(" ")}
      </Message>
      {passes && <Announcement text={`${message.title}. It is tried again by itself.`} />}
    </div>
  );
}

/** Announces something to screen readers once, not at each second of a countdown. */
export function Announcement({ text }: { readonly text: string }): JSX.Element {
  const said = useSignal("");
  // Text that is present from the start is not announced.
  useEffect(() => {
    said.value = text;
  }, [text]);
  return (
    <p class="sr" role="status">
      {said.value}
    </p>
  );
}

function hasFocus(element: HTMLElement | null): boolean {
  return element?.contains(document.activeElement) === true;
}

/** Retries once there is a session again, which may be before this is drawn. */
function useAfterSignIn({ session }: App, { help }: FaultMessage, onRetry: () => void): void {
  const isIn = session.state.value === "in";
  useEffect(() => {
    if (help === "sign in" && isIn) onRetry();
  }, [isIn, help]);
}

function actionsFor({ help, title }: FaultMessage, properties: ListFaultProperties): readonly MessageAction[] {
  const { app, search, onRetry, onCancel } = properties;
  switch (help) {
    case "count down":
      return [{ label: "Try now", act: onRetry }];
    case "wait":
      return [{ label: "Cancel this one", act: onCancel }];
    case "sign in":
      return [];
    case "show query":
      return [{ label: "Show in the query", act: () => showInQuery(title, search.run.peek().typed) }];
    case "shorten": {
      const shorter = shorterRange(search.run.peek(), search.range.peek());
      if (shorter === null) return [{ label: "Try again", act: onRetry }];
      const act = () => {
        search.range.value = shorter.range;
        search.start();
      };
      return [{ label: shorter.name, act }];
    }
    case "other log": {
      const other = app.logs.value?.find(({ key }) => key !== search.log);
      if (other === undefined) return [{ label: "Try again", act: onRetry }];
      const act = () => app.location.go({ screen: "search", log: other.key, part: "", parameters: new Map() });
      return [{ label: `Open ${other.key}`, act }];
    }
    case "try":
      return [{ label: "Try again", act: onRetry }];
  }
  throw help satisfies never;
}
