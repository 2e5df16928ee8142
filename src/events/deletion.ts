import type { LogKey, UserId } from "./event.ts";
import type { EventId } from "./id.ts";

/**
 * The deletion of an event by a person, with everybody's bookmarks and alerts; or of one person's
 * alert about it. It holds from whenever it is known: an event or alert that is written later stays
 * deleted.
 */
export type Deletion = {
  readonly log: LogKey;
  readonly event: EventId;
  /** Whose alert about the event was deleted; null: the event itself. */
  readonly alertOf: UserId | null;
};
