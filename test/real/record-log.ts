import type { ExecutionContext } from "ava";
import { inspect } from "node:util";
import { type Logger, pino } from "pino";

/** A logger that keeps everything it logs, down to traces. */
export type RecordedLog = {
  readonly log: Logger;
  /**
   * Asserts that no secret is in the log, or in what `error` shows when it is logged, causes
   * included.
   */
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
