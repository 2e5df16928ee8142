import { useSignal } from "@preact/signals";
import type { ReadonlySignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { wordsOf } from "../api/client.ts";
import type { App } from "../app.ts";
import type { MarkedEvent, Narrowing } from "./marked.ts";
import { readMarked } from "./read-marked.ts";

export type Marked = {
  /** null until they are there. */
  readonly events: ReadonlySignal<readonly MarkedEvent[] | null>;
  readonly total: ReadonlySignal<number>;
  readonly fault: ReadonlySignal<string | null>;
  readonly read: () => Promise<void>;
  readonly readMore: () => Promise<void>;
  /** Takes events out of what is shown, ahead of the service's answer. */
  readonly without: (ids: ReadonlySet<string>) => void;
};

/** The account's bookmarks or unread alerts; read again where `version` is another one. */
export function useMarked({ client }: App, kind: "alerts" | "bookmarks", version: unknown): Marked {
  const events = useSignal<readonly MarkedEvent[] | null>(null);
  const total = useSignal(0);
  const fault = useSignal<string | null>(null);
  const keep = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
      fault.value = null;
    } catch (error) {
      fault.value = wordsOf(error);
    }
  };
  const read = () =>
    keep(async () => {
      const page = await readMarked(client, kind);
      events.value = page.events;
      total.value = page.total;
    });
  const readMore = () =>
    keep(async () => {
      events.value = (await readMarked(client, kind, events.peek() ?? [])).events;
    });
  useEffect(() => void read(), [version]);
  return {
    events,
    total,
    fault,
    read,
    readMore,
    without(ids) {
      const before = events.peek() ?? [];
      events.value = before.filter(({ id }) => !ids.has(id));
      total.value -= before.length - events.value.length;
    },
  };
}

/** What the address narrows a list across logs to. */
export function narrowingOf({ location }: App): Narrowing {
  const { parameters } = location.place.value;
  return { log: parameters.get("log") ?? null, class: parameters.get("class") ?? null };
}
