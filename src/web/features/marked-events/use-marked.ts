import { useEffect, useMemo } from "preact/hooks";

import type { App } from "../../state/app.ts";
import { MarkedEvents } from "./marked-events.ts";
import type { Narrowing } from "./marked.ts";
import { readMarked } from "./read-marked.ts";

/** Reads the account's bookmarks or unread alerts, again whenever `version` changes. */
export function useMarked({ client }: App, kind: "alerts" | "bookmarks", version: unknown): MarkedEvents {
  const marked = useMemo(() => new MarkedEvents((after) => readMarked(client, kind, after)), []);
  useEffect(() => void marked.read(), [version]);
  return marked;
}

/** Returns how the address narrows a list across logs. */
export function narrowingInAddress({ location }: App): Narrowing {
  const { parameters } = location.place.value;
  return { log: parameters.get("log") ?? null, class: parameters.get("class") ?? null };
}
