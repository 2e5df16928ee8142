import { acceptedAt } from "../events/id.ts";
import { decodeRecord } from "../events/record.ts";
import type { Bus } from "./bus.ts";

/**
 * Returns a function that reads, once and on its first call, the acceptance time of the largest id
 * on the bus.
 */
export function readLastAccepted(bus: Bus): () => Promise<number> {
  const read = async (): Promise<number> => {
    const lines = (await bus.last("events")).flatMap(({ value }) => decodeRecord(value));
    const ids = lines.flatMap((line) =>
      line.kind === "event"
        ? line.event.id
        : line.kind === "visit"
          ? line.visit.id
          : line.kind === "deletion"
            ? line.id
            : [],
    );
    return Math.max(0, ...ids.map(acceptedAt));
  };
  let result: Promise<number> | null = null;
  return () => (result ??= read());
}
