import type { LogKey, UserId } from "./event.ts";
import type { EventId } from "./id.ts";

/**
 * The deletion of an event by a person, with everybody's bookmarks and alerts, or of one person's
 * alert about it. It takes effect from when it is known: an event or alert written later stays
 * deleted.
 */
export type Deletion = {
  readonly log: LogKey;
  readonly event: EventId;
  /** User whose alert about the event was deleted; null if the event itself was. */
  readonly alertOf: UserId | null;
};
