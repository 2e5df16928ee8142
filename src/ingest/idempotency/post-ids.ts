import type { EventId } from "../../events/id.ts";

/**
 * Reserves ids before the lines are appended. Receives the first id, and the creation time of lines
 * without their own. If it throws, the lines are not appended and the caller gets the error.
 */
export type Reserve = (first: EventId, created: number) => Promise<void>;

/**
 * Source of the ids of lines: new ids, which may have to be reserved, or ids assigned earlier,
 * given by the first of them.
 */
export type Ids =
  | {
      readonly reserve: Reserve | null;
      /** Called if the lines were not handed to the bus after a reservation began. */
      readonly release?: () => void;
    }
  | { readonly first: EventId; readonly created: number };

export function idReserve(ids: Ids): Reserve | null {
  return "reserve" in ids ? ids.reserve : null;
}

/** Tells the source of the ids that the lines were not handed to the bus. */
export function releaseIds(ids: Ids): void {
  if ("reserve" in ids) ids.release?.();
}
