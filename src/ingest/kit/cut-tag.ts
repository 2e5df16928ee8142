import type { ReadEvent } from "./endpoint.ts";

/** Tag of events of which something was cut. */
export const CUT_TAG = "cut";

/** Returns the event, with the tag if parts of it were left out when it was decoded. */
export function tagIfCut<E extends ReadEvent>(isCut: boolean, event: E): E {
  return isCut && !("fault" in event) ? { ...event, tags: [...event.tags, CUT_TAG] } : event;
}
