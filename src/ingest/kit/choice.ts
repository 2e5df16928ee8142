import type { IncomingHttpHeaders } from "node:http";

import { splitTags } from "../../events/tags.ts";
import type { TimeReading } from "./time-forms.ts";

/** Names of the producer's fields to use, in order of preference: the first one present counts. */
export type FieldChoice = {
  /** If empty, the protocol's usual fields. */
  readonly text: readonly string[];
  readonly time: readonly string[];
  readonly source: readonly string[];
  /** Tags added to each event. */
  readonly tags: readonly string[];
  /** How the time is read. Default: as protocols read it */
  readonly times?: TimeReading;
};

/** No choice: each field is the usual one of the protocol. */
export const USUAL: FieldChoice = Object.freeze({ text: [], time: [], source: [], tags: [] });

const LONGEST = 1_000;

/**
 * Reads the parameters `text_field`, `time_field`, `source_field` and `tags`, or the headers
 * `X-Loggia-Text-Field` and so on: some clients can set only one of these.
 */
export function readFieldChoice(query: URLSearchParams, headers: IncomingHttpHeaders): FieldChoice {
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
