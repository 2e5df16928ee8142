import type { ExecutionContext } from "ava";
import { pino } from "pino";

import { LoggiaError } from "../../../src/errors.ts";
import { HOST_CLOCK } from "../../../src/events/clock.ts";
import { parseLogKey } from "../../../src/events/event.ts";
import { firstIdAt } from "../../../src/events/id.ts";
import { DEFAULT_LIMITS } from "../../../src/events/limits.ts";
import { GuessLimiter } from "../../../src/auth/requests/guess-limiter.ts";
import { createRateLimiter } from "../../../src/ratelimit/rate-limiter.ts";
import { createIngestMemory } from "../../../src/ingest/kit/ingest-memory.ts";
import type { ListenerContext } from "../../../src/ingest/listeners/listener.ts";
import type { ListenerCount } from "../../../src/ingest/listeners/tally.ts";
import { RecentIds } from "../../../src/ingest/append/recent-ids.ts";
import type { RouteSettings, SocketSettings, Transport } from "../../../src/settings/listeners.ts";
import { UTC } from "../../../src/query/zone.ts";
import { LOG, serviceOf } from "../../support/service.ts";
import { Scheduler } from "../../../src/scheduling/scheduler.ts";

/** A bus that the test can mark as full, and the texts that it has received. */
export type Bus = { isFull: boolean; readonly texts: string[]; readonly logs: Set<string>; refusals: number };

/**
 * Returns the context of a listener: the catalog of a real service and a bus that the test can
 * fill.
 */
export async function contextOf(
  t: ExecutionContext,
  given: Partial<ListenerContext> = {},
): Promise<{ context: ListenerContext; bus: Bus; counts: Map<ListenerCount, number> }> {
  const service = await serviceOf(t, "embedded");
  const bus: Bus = { isFull: false, texts: [], logs: new Set(), refusals: 0 };
  const counts = new Map<ListenerCount, number>();
  const abandoned = new AbortController();
  t.teardown(() => abandoned.abort());
  const context: ListenerContext = {
    catalog: service.ports.catalog,
    scheduler: new Scheduler(),
    coalescer: {
      async submitLines(log, lines) {
        await new Promise(setImmediate);
        if (bus.isFull) {
          bus.refusals += 1;
          throw new LoggiaError("overloaded", "full");
        }
        bus.logs.add(log);
        for (const { fields } of lines) bus.texts.push((JSON.parse(`{${fields}`) as { text: string }).text);
        return firstIdAt(0);
      },
    },
    idempotency: { post: () => Promise.reject(new Error("not asked for")) },
    recent: new RecentIds(),
    limiter: createRateLimiter(),
    guesses: new GuessLimiter(),
    clock: HOST_CLOCK,
    limits: DEFAULT_LIMITS,
    memory: createIngestMemory(),
    log: pino({ level: "silent" }),
    tallyOf: () => ({
      connections: 0,
      add: (what, count = 1) => void counts.set(what, (counts.get(what) ?? 0) + count),
      watchSystemDrops() {},
    }),
    connections: { connections: 1_000, descriptors: Number.POSITIVE_INFINITY },
    datagrams_s: 100_000,
    abandoned: abandoned.signal,
    ...given,
  };
  return { context, bus, counts };
}

/** Returns a socket whose senders all post to the first log. */
export function socketFor(transport: Transport, route: Partial<RouteSettings> = {}): SocketSettings {
  const all: RouteSettings = {
    log: parseLogKey(LOG),
    from: null,
    tags: [],
    zone: UTC,
    year: null,
    json: false,
    sharedKey: null,
  };
  return { host: "127.0.0.1", port: 0, transport, routes: [{ ...all, ...route }] };
}

/** Appends every batch, as if each were the first with its key. */
export const FORGETFUL: ListenerContext["idempotency"] = {
  post: async (_batch, append) => ({
    first: await append({ reserve: async () => {}, release: () => {} }),
    read_ms: 0,
    trusted_ms: 0,
  }),
};
