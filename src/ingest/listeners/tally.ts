/** Listeners by name, as metrics tell them. */
export const LISTENERS = ["syslog_tcp", "syslog_udp", "gelf_tcp", "gelf_udp", "forward", "otlp_grpc"] as const;
export type ListenerName = (typeof LISTENERS)[number];

export const LISTENER_COUNTS = ["stored", "cut", "dropped", "malformed", "refused"] as const;
/**
 * - stored: events that the bus holds
 * - cut: events of which something was cut to fit
 * - dropped: events and datagrams that were lost for want of room
 * - malformed: what could not be read as the protocol has it
 * - refused: events with a wrong key, and connections and datagrams beyond the limits or of
 *   senders without a log
 */
export type ListenerCount = (typeof LISTENER_COUNTS)[number];

/** Counts of one listener. */
export type ListenerTally = {
  add(what: ListenerCount, count?: number): void;
  /** Connections that are open. */
  connections: number;
  /** Reads how many datagrams the system dropped before the listener saw them. */
  watchSystemDrops(read: () => number): void;
};
