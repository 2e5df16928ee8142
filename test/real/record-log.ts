import type { ExecutionContext } from "ava";
import { inspect } from "node:util";
import { type Logger, pino } from "pino";

/** A logger that keeps all that it is told, down to traces. */
export type RecordedLog = {
  readonly log: Logger;
  /** None of `secrets` stands in what was logged, nor in what `error` shows to whoever logs it, causes included. */
  holdsNone(t: ExecutionContext, error: Error, secrets: readonly string[]): void;
};

export function recordLog(): RecordedLog {
  const lines: string[] = [];
  const log = pino({ level: "trace" }, { write: (line: string) => void lines.push(line) });
  return {
    log,
    holdsNone(t, error, secrets) {
      const shown = lines.join("") + inspect(error, { depth: 8 });
      for (const secret of secrets) t.false(shown.includes(secret), `${secret} shows in ${shown}`);
    },
  };
}
