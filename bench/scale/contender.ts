import type { ScaleEvent } from "./events.ts";
import type { Asked } from "./questions.ts";

/** A service that is loaded with all events and asked all queries. */
export type Contender = AsyncDisposable &
  Loaded &
  Answerer & {
    readonly pid: number;
    /** Folder of all its files. */
    readonly folder: string;
    /** Whether a file of the folder belongs to a bus that events pass before they are stored. */
    readonly isOfBus: (file: string) => boolean;
  };

/** A service that takes events. */
export type Loaded = {
  readonly postPort: number;
  /** Status of the response to an accepted batch. */
  readonly accepts: number;
  /** Encodes an event as a line of a batch. */
  readonly lineOf: (event: ScaleEvent) => string;
  /** Builds a complete HTTP request that posts lines. */
  readonly requestOf: (body: string) => string;
  /** Waits until `count` events can be found. @throws Error after `timeout_ms` */
  readonly waitForEvents: (count: number, timeout_ms: number) => Promise<void>;
};

/** A service that answers queries. */
export type Answerer = {
  readonly name: string;
  /** Asks a query. @returns a function that parses the responses and counts their records */
  readonly ask: (question: Asked) => Promise<() => number>;
};
