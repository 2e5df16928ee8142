import { LoggiaError } from "../../../errors.ts";
import { eventOfDocument, eventOfText } from "../../kit/document.ts";
import { isObject } from "../../kit/json.ts";
import { tagIfCut } from "../../kit/cut-tag.ts";
import type { ProducerEvent, ReadEvent, Received } from "../../kit/endpoint.ts";
import { payloadItems, readPayload, textAt } from "./payload.ts";
import type { PayloadFields } from "./payload.ts";

/** Names of fields that serve as text if none of the usual ones is present. */
const TEXTS = ["title", "summary", "subject", "description", "reason"] as const;

/**
 * Decodes any JSON. An object is one event, so is each object of a list, and plain text is one.
 * @throws LoggiaError `bad_body`
 */
export function* decodeJson(received: Received): Generator<ReadEvent> {
  const payload = yield* readPayload(received);
  const { value, isCut } = payload;
  if (typeof value === "string") return yield tagIfCut(isCut, eventOfText(value));
  if (isObject(value)) return yield tagIfCut(isCut, eventOf(value, received.choice));
  const items = yield* payloadItems(payload, []);
  if (items === null) throw new LoggiaError("bad_body", "The body must be an object or an array of objects");
  for (const item of items) {
    if ("fault" in item) yield item;
    else if (isObject(item.value)) yield tagIfCut(item.isCut, eventOf(item.value, received.choice));
    else yield { fault: "an item of the array is not an object" };
  }
}

function eventOf(document: PayloadFields, choice: Received["choice"]): ProducerEvent {
  const event = eventOfDocument(document, choice);
  return event.text === "" ? { ...event, text: textAt(document, ...TEXTS) } : event;
}
