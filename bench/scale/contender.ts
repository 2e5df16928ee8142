import type { ScaleEvent } from "./events.ts";
import type { Asked } from "./questions.ts";

/** A service that is loaded with all events and asked all questions. */
export type Contender = AsyncDisposable &
  Loaded &
  Answerer & {
    readonly pid: number;
    /** Where all of its files are. */
    readonly folder: string;
    /** Whether a file of the folder is of a bus that events pass before they are stored. */
    readonly isOfBus: (file: string) => boolean;
  };

/** Who takes the events. */
export type Loaded = {
  readonly postPort: number;
  /** The status of an answer that has taken a batch. */
  readonly accepts: number;
  /** An event as a line of a batch. */
  readonly lineOf: (event: ScaleEvent) => string;
  /** A whole HTTP request that posts lines. */
  readonly requestOf: (body: string) => string;
  /** Waits until so many events can be found. @throws Error after so long */
  readonly holds: (count: number, patience_ms: number) => Promise<void>;
};

/** Who is asked the questions. */
export type Answerer = {
  readonly name: string;
  /** Asks a question. @returns counts the records of the answers, which need not be parsed for that before */
  readonly ask: (question: Asked) => Promise<() => number>;
};
