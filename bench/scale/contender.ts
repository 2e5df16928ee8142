import type { ScaleEvent } from "./events.ts";
import type { Asked } from "./questions.ts";

/** A service that is loaded with all events and asked all questions. */
export type Contender = AsyncDisposable & {
  readonly name: string;
  readonly pid: number;
  /** Where all of its files are. */
  readonly folder: string;
  /** Whether a file of the folder is of a bus that events pass before they are stored. */
  readonly isOfBus: (file: string) => boolean;
  readonly postPort: number;
  /** The status of an answer that has taken a batch. */
  readonly accepts: number;
  /** An event as a line of a batch. */
  readonly lineOf: (event: ScaleEvent) => string;
  /** A whole HTTP request that posts lines. */
  readonly requestOf: (body: string) => string;
  /** Waits until so many events can be found. @throws Error after so long */
  readonly holds: (count: number, patience_ms: number) => Promise<void>;
  /** Asks a question. @returns the answers' bodies */
  readonly ask: (question: Asked) => Promise<readonly string[]>;
  /** How many records an answer holds. */
  readonly recordsOf: (body: string) => number;
};
