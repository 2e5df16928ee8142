import type { PostedEvent } from "./event.ts";
import { NO_KEYWORDS } from "./keywords.ts";
import { NO_TAGS } from "./tags.ts";

/** The fields of an event that has only a text. */
export const ABSENT_FIELDS: Omit<PostedEvent, "text"> = Object.freeze({
  ...NO_KEYWORDS,
  tags: NO_TAGS,
  value: null,
  geo: null,
  data: null,
  attributes: null,
});
