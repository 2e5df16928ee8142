export const LISTENER_COUNTS = ["stored", "cut", "dropped", "malformed", "refused"] as const;
/**
 * Counters of a listener.
 * - stored: events that the bus holds
 * - cut: events of which something was cut to fit the limits
 * - dropped: events and datagrams that were lost for lack of room
 * - malformed: frames and messages that violate the protocol
 * - refused: events with a wrong key, and connections and datagrams beyond the limits or from
 *   senders without a log
 */
export type ListenerCount = (typeof LISTENER_COUNTS)[number];

/** Counts of one listener. */
export type ListenerTally = {
  add(what: ListenerCount, count?: number): void;
  /** Number of open connections. */
  connections: number;
  /** Registers the function that reads how many datagrams the system dropped before delivery. */
  watchSystemDrops(read: () => number): void;
};
