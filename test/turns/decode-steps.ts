import { LoggiaError } from "../../src/errors.ts";
import { DEFAULT_LIMITS } from "../../src/events/limits.ts";
import { readFieldChoice } from "../../src/ingest/kit/choice.ts";
import { fittedLine } from "../../src/ingest/append/fitted-line.ts";
import { matchProtocol } from "../../src/ingest/protocols/match.ts";
import { receivedOf } from "../support/received.ts";
import { busy_ms } from "../support/turns.ts";
import type { WorstRequest } from "./shapes.ts";

/** Processor time after which decoding of a request is given up; its longest steps are known then. */
const MOST_MS = 3_000;

/** What decoding a request took: its longest step, in milliseconds of processor time, and the events. */
type DecodeSteps = { readonly longest_ms: number; readonly events: number };

/**
 * Decodes a request as the posting listener does, and measures the time between two moments at
 * which other work could run.
 */
function decodeInSteps({ method, path, headers, body }: WorstRequest): DecodeSteps {
  const match = matchProtocol(method, path);
  if (match?.endpoint.kind !== "post") throw new Error(`nothing takes ${path}`);
  const query = new URLSearchParams(path.split("?", 2)[1] ?? "");
  const received = receivedOf(body, { headers, query, choice: readFieldChoice(query, headers) });
  const options = { limits: DEFAULT_LIMITS, read_ms: Date.now(), tags: [] };
  const start_ms = busy_ms();
  let last_ms = start_ms;
  let longest_ms = 0;
  let events = 0;
  const look = (): void => {
    const now_ms = busy_ms();
    longest_ms = Math.max(longest_ms, now_ms - last_ms);
    last_ms = now_ms;
  };
  try {
    for (const item of match.endpoint.read(received).items) {
      if (!("fault" in item)) {
        fittedLine(item, options);
        events += 1;
      }
      look();
      if (last_ms - start_ms > MOST_MS) break;
    }
  } catch (error) {
    if (!(error instanceof LoggiaError)) throw error;
  }
  look();
  return { longest_ms, events };
}

/**
 * Decodes a request until its longest step is short enough, at most five times. Compilation or
 * garbage collection may lengthen a step of one attempt, but not of all five.
 */
export function bestStep_ms(request: WorstRequest, limit_ms: number): number {
  let best_ms = Infinity;
  for (let attempt = 0; attempt < 5 && best_ms > limit_ms; attempt++) {
    best_ms = Math.min(best_ms, decodeInSteps(request).longest_ms);
  }
  return best_ms;
}
