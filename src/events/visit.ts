import type { LogKey } from "./event.ts";
import type { EventId } from "./id.ts";

/**
 * A use of the producer's application by one of its users, as accepted. Its id comes from the same
 * source as event ids, so it is counted once however often the bus delivers it. Absent texts are
 * "".
 */
export type Visit = {
  readonly id: EventId;
  readonly log: LogKey;
  /** Milliseconds since the Unix epoch, UTC. */
  readonly created: number;
  /**
   * Identifies the user, never blank. In a log, visits with equal folded `user` belong to one user.
   */
  readonly user: string;
  readonly email: string;
  /** Where in the application the user is: an address or a title. */
  readonly page: string;
};
