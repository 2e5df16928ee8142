import type { Bus } from "../bus/bus.ts";
import type { Store, WriteOutcome } from "../store/store.ts";

export type Question = "list" | "group" | "users" | "find" | "data" | "marks";
export type Write = "events" | "alerts" | "visits";

/** Receives the durations of calls to the engines. */
export type EngineObserver = {
  append(records: number, duration_s: number, ok: boolean): void;
  write(what: Write, outcomes: readonly WriteOutcome[], duration_s: number): void;
  question(kind: Question, duration_s: number, ok: boolean): void;
};

/** Wraps a store so that the durations of writes and reads are observed. */
export function measureStore(store: Store, observe: EngineObserver): Store {
  const asked = <Input extends readonly unknown[], Answer>(
    kind: Question,
    ask: (...input: Input) => Promise<Answer>,
  ): ((...input: Input) => Promise<Answer>) => {
    return async (...input) => {
      const start_ms = performance.now();
      let ok = false;
      try {
        const answer = await ask(...input);
        ok = true;
        return answer;
      } finally {
        observe.question(kind, secondsSince(start_ms), ok);
      }
    };
  };
  const written = async (what: Write, write: () => Promise<WriteOutcome[]>): Promise<WriteOutcome[]> => {
    const start_ms = performance.now();
    const outcomes = await write();
    if (outcomes.length > 0) observe.write(what, outcomes, secondsSince(start_ms));
    return outcomes;
  };
  return {
    ...store,
    writeEvents: (events, position) => written("events", () => store.writeEvents(events, position)),
    writeAlerts: (alerts) => written("alerts", () => store.writeAlerts(alerts)),
    writeVisits: (visits) => written("visits", () => store.writeVisits(visits)),
    list: asked("list", (plan, options) => store.list(plan, options)),
    rows: asked("list", (plan) => store.rows(plan)),
    group: asked("group", (plan) => store.group(plan)),
    users: asked("users", (plan) => store.users(plan)),
    find: asked("find", (from, log, id) => store.find(from, log, id)),
    data: asked("data", (log, id) => store.data(log, id)),
    annotations: asked("marks", (ids) => store.annotations(ids)),
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
