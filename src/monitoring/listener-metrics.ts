import type { Registry } from "@prometheus-io/client";

import { LISTENER_COUNTS } from "../ingest/listeners/tally.ts";
import type { ListenerCount, ListenerTally } from "../ingest/listeners/tally.ts";
import { readCounters, readGauges } from "./families.ts";
import { createTally } from "./tally.ts";
import type { Tally } from "./tally.ts";

const HELP: Readonly<Record<ListenerCount, string>> = {
  stored: "Events received by each listener and stored durably on the bus",
  cut: "Events of each listener that were truncated to the limits",
  dropped: "Events and datagrams dropped by each listener for lack of room, including drops by the operating system",
  malformed: "Frames and messages received by each listener that violate its protocol",
  refused: "Connections, datagrams and events refused by each listener: no matching log or key, too many, or too slow",
};

type Listener = ListenerTally & { readonly counts: Tally<ListenerCount>; readonly dropped: () => number };

/** Returns the counts of a listener by name. They are registered as metrics at the first call. */
export function listenerMetrics(registry: Registry): (name: string) => ListenerTally {
  const listeners = new Map<string, Listener>();
  return (name) => {
    if (listeners.size === 0) register(registry, listeners);
    const known = listeners.get(name) ?? createListener();
    listeners.set(name, known);
    return known;
  };
}

function createListener(): Listener {
  const counts = createTally(LISTENER_COUNTS);
  const system: (() => number)[] = [];
  return {
    counts,
    connections: 0,
    add: (what, count) => counts.add(what, count),
    watchSystemDrops: (read) => void system.push(read),
    dropped: () => (counts.read().get("dropped") ?? 0) + system.reduce((sum, read) => sum + read(), 0),
  };
}

function register(registry: Registry, listeners: ReadonlyMap<string, Listener>): void {
  for (const what of LISTENER_COUNTS) {
    const metric = `loggia_listener_${what === "stored" ? "events" : what}_total`;
    readCounters(registry, metric, HELP[what], "listener", () =>
      Array.from(listeners, ([name, { counts, dropped }]) => {
        return [name, what === "dropped" ? dropped() : (counts.read().get(what) ?? 0)] as const;
      }),
    );
  }
  const help = "Open connections of each listener";
  readGauges(registry, "loggia_listener_connections", help, "listener", () =>
    Array.from(listeners, ([name, { connections }]) => [name, connections] as const),
  );
}
