import type { IncomingHttpHeaders } from "node:http";

import { splitTags } from "../posting/validated-event.ts";

/** Which fields of a producer's events are chosen for what: the first that is there counts. */
export type FieldChoice = {
  /** Empty lists: those that producers usually have. */
  readonly text: readonly string[];
  readonly time: readonly string[];
  readonly source: readonly string[];
  /** Tags that each event gets besides its own. */
  readonly tags: readonly string[];
};

const LONGEST = 1_000;

/**
 * What a request chooses by `text_field`, `time_field`, `source_field` and `tags`, or by the
 * headers `X-Loggia-Text-Field` and so on: some clients can set only one of these.
 */
export function choiceOf(query: URLSearchParams, headers: IncomingHttpHeaders): FieldChoice {
  const given = (name: string): readonly string[] => {
    const header = headers[`x-loggia-${name.replace("_", "-")}`];
    const text = query.get(name) ?? (typeof header === "string" ? header : "");
    return text
      .slice(0, LONGEST)
      .split(",")
      .map((part) => part.trim())
      .filter((part) => part !== "");
  };
  return {
    text: given("text_field"),
    time: given("time_field"),
    source: given("source_field"),
    tags: splitTags(given("tags").join(" ")),
  };
}
