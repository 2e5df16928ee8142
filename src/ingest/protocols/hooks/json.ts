import { LoggiaError } from "../../../errors.ts";
import { eventOfDocument } from "../document.ts";
import { isObject } from "../json.ts";
import type { ProducerEvent, ReadEvent, Received } from "../protocol.ts";
import { payloadOf, textAt } from "./payload.ts";

/** Names of what reads as a text where none of the usual ones is there. */
const TEXTS = ["title", "summary", "subject", "description", "reason"] as const;
const NO_ATTRIBUTES: ProducerEvent["attributes"] = new Map();

/**
 * The events of any JSON: an object is one, so is each of a list; plain text is one.
 * @throws LoggiaError `bad_body`
 */
export function* decodeJson(received: Received): Generator<ReadEvent> {
  const payload = payloadOf(received);
  if (typeof payload === "string") return yield eventOfText(payload);
  if (!isObject(payload) && !Array.isArray(payload)) {
    throw new LoggiaError("bad_body", "The body must be an object or a list of them");
  }
  for (const one of Array.isArray(payload) ? (payload as readonly unknown[]) : [payload]) {
    if (!isObject(one)) yield { fault: "an item of the list is no object" };
    else {
      const event = eventOfDocument(one, received.choice);
      yield event.text === "" ? { ...event, text: textAt(one, ...TEXTS) } : event;
    }
  }
}

function eventOfText(text: string): ProducerEvent {
  return {
    text,
    severity: null,
    source: "",
    user: "",
    link: "",
    geo: null,
    tags: [],
    time: null,
    attributes: NO_ATTRIBUTES,
  };
}
