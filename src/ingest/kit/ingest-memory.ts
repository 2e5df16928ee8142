import { BodyBudget } from "../../http/body-budget.ts";
import { FairTurns } from "../../scheduling/fair-turns.ts";

const MB = 1024 * 1024;

/** Budgets of what producers send, shared by all listeners of a process. */
export type IngestMemory = {
  /** Bodies of known producers, and events that wait for the bus. By quota owner. */
  readonly bodies: BodyBudget;
  /** Bodies of strangers: forms, and hooks whose signature is not verified yet. By network. */
  readonly unverified: BodyBudget;
  /** Bodies of hooks from networks that signed rightly before. By quota owner. */
  readonly proven: BodyBudget;
  /** Unfinished frames of connections without a key. By network. */
  readonly unfinished: BodyBudget;
  /** Turns of large bodies to be decoded. */
  readonly turns: FairTurns;
  /** Turns of large batches. */
  readonly batchTurns: FairTurns;
};

/** Time that an unfinished frame waits for room before others are dropped for it. */
const UNFINISHED_WAIT_MS = 5_000;

export function createIngestMemory(): IngestMemory {
  const who = "from your network";
  const small_bytes = 8 * MB;
  return {
    bodies: new BodyBudget(),
    unverified: new BodyBudget({ most_bytes: 64 * MB, small_bytes, wait_ms: 0, evicts: true, who }),
    proven: new BodyBudget({ most_bytes: 64 * MB, small_bytes }),
    unfinished: new BodyBudget({ most_bytes: 136 * MB, small_bytes, wait_ms: UNFINISHED_WAIT_MS, evicts: true, who }),
    turns: new FairTurns(),
    batchTurns: new FairTurns(),
  };
}
