import type { Registry } from "@prometheus-io/client";

import { LISTENER_COUNTS } from "../ingest/listeners/tally.ts";
import type { ListenerCount, ListenerName, ListenerTally } from "../ingest/listeners/tally.ts";
import { readCounters, readGauges } from "./families.ts";
import { createTally } from "./tally.ts";
import type { Tally } from "./tally.ts";

const HELP: Readonly<Record<ListenerCount, string>> = {
  stored: "Events that came by each listener and that the bus holds",
  cut: "Events of each listener of which something was cut to fit",
  dropped: "Events and datagrams that each listener lost for want of room, those that the system dropped included",
  malformed: "What came by each listener and could not be read",
  refused:
    "Connections, datagrams and events that each listener refused: no log or key for them, too many, or too slow",
};

type Listener = ListenerTally & { readonly counts: Tally<ListenerCount>; readonly dropped: () => number };

/** Returns the counts of a listener by name. They are registered as metrics at the first call. */
export function listenerMetrics(registry: Registry): (name: ListenerName) => ListenerTally {
  const listeners = new Map<ListenerName, Listener>();
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

function register(registry: Registry, listeners: ReadonlyMap<ListenerName, Listener>): void {
  for (const what of LISTENER_COUNTS) {
    const metric = `loggia_listener_${what === "stored" ? "events" : what}_total`;
    readCounters(registry, metric, HELP[what], "listener", () =>
      Array.from(listeners, ([name, { counts, dropped }]) => {
        return [name, what === "dropped" ? dropped() : (counts.read().get(what) ?? 0)] as const;
      }),
    );
  }
  const help = "Connections of each listener that are open";
  readGauges(registry, "loggia_listener_connections", help, "listener", () =>
    Array.from(listeners, ([name, { connections }]) => [name, connections] as const),
  );
}
