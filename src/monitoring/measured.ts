import type { Bus } from "../bus/bus.ts";
import type { Store, WriteOutcome } from "../store/store.ts";

export type QueryKind = "list" | "group" | "users" | "find" | "data" | "marks";
export type Write = "events" | "alerts" | "visits";

/** Receives the durations of calls to the engines. */
export type EngineObserver = {
  append(records: number, duration_s: number, ok: boolean): void;
  write(what: Write, outcomes: readonly WriteOutcome[], duration_s: number): void;
  query(kind: QueryKind, duration_s: number, ok: boolean): void;
  /** Called for each list of fields with the number of attributes that it leaves out. */
  unlisted(attributes: number): void;
};

/** Wraps a store so that the durations of writes and reads are observed. */
export function measureStore(store: Store, observe: EngineObserver): Store {
  const timed = <Input extends readonly unknown[], Answer>(
    kind: QueryKind,
    read: (...input: Input) => Promise<Answer>,
  ): ((...input: Input) => Promise<Answer>) => {
    return async (...input) => {
      const start_ms = performance.now();
      let ok = false;
      try {
        const answer = await read(...input);
        ok = true;
        return answer;
      } finally {
        observe.query(kind, secondsSince(start_ms), ok);
      }
    };
  };
  const timedWrite = async (what: Write, write: () => Promise<WriteOutcome[]>): Promise<WriteOutcome[]> => {
    const start_ms = performance.now();
    const outcomes = await write();
    if (outcomes.length > 0) observe.write(what, outcomes, secondsSince(start_ms));
    return outcomes;
  };
  return {
    ...store,
    writeEvents: (events, position) => timedWrite("events", () => store.writeEvents(events, position)),
    writeAlerts: (alerts) => timedWrite("alerts", () => store.writeAlerts(alerts)),
    writeVisits: (visits) => timedWrite("visits", () => store.writeVisits(visits)),
    list: timed("list", (plan, options) => store.list(plan, options)),
    rows: timed("list", (plan) => store.rows(plan)),
    group: timed("group", (plan) => store.group(plan)),
    fields: async (query) => {
      const answer = await store.fields(query);
      observe.unlisted(answer.unlisted);
      return answer;
    },
    users: timed("users", (plan) => store.users(plan)),
    find: timed("find", (from, log, id) => store.find(from, log, id)),
    data: timed("data", (log, id) => store.data(log, id)),
    annotations: timed("marks", (ids) => store.annotations(ids)),
  };
}

/** Wraps the appends of the write coalescer so that their durations are observed. */
export function measureAppend(bus: Pick<Bus, "append">, observe: EngineObserver): Pick<Bus, "append"> {
  return {
    async append(topic, records, options) {
      const start_ms = performance.now();
      let ok = false;
      try {
        await bus.append(topic, records, options);
        ok = true;
      } finally {
        observe.append(records.length, secondsSince(start_ms), ok);
      }
    },
  };
}

function secondsSince(start_ms: number): number {
  return (performance.now() - start_ms) / 1000;
}
