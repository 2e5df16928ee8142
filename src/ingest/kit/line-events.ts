import { LoggiaError } from "../../errors.ts";
import type { FieldChoice } from "./choice.ts";
import { tagIfCut } from "./cut-tag.ts";
import { eventOfDocument, eventOfText } from "./document.ts";
import type { ProducerEvent, ReadEvent } from "./endpoint.ts";
import { isObject } from "./json.ts";
import { runOfValues } from "./long-json.ts";
import { eventOfOwn } from "./own-event.ts";
import { isPending } from "./steps.ts";
import type { Steps } from "./steps.ts";
import { lineBeginning, objectOfLine } from "./text-lines.ts";
import type { TextLine } from "./text-lines.ts";

/** Matches the beginning of a list of objects. */
const LIST = /^\s*\[\s*\{/;
/** Matches what may be the end of an object and the beginning of another. */
const BETWEEN_OBJECTS = /\}[ \t]*\{/;

/**
 * Yields the events of a line of JSON: of an object, a list of objects, or objects one behind
 * another. Returns whether it is one of these; it yields nothing for other lines.
 */
export function* eventsOfJson(line: TextLine, choice: FieldChoice): Generator<ReadEvent, boolean> {
  const event = yield* eventOfObject(line, choice);
  if (event !== null) {
    yield event;
    return true;
  }
  if (!(yield* isRunOfObjects(line))) return false;
  yield* eventsOfValues(bytesOf(line), choice);
  return true;
}

/** Returns the event of a line that is a JSON object; null for other lines. */
export function* eventOfObject(line: TextLine, choice: FieldChoice): Steps<ProducerEvent | null> {
  const read = yield* objectOfLine(line);
  return read === null ? null : tagIfCut(read.isCut, eventOfMembers(read.value, choice));
}

function eventOfMembers(document: Readonly<Record<string, unknown>>, choice: FieldChoice): ProducerEvent {
  return eventOfOwn(document, choice) ?? eventOfDocument(document, choice);
}

/** Returns the event of a line as it is. */
export function eventOfPlainLine(line: TextLine): ProducerEvent {
  if (typeof line === "string") return eventOfText(line);
  const { text, isCut } = lineBeginning(line);
  return tagIfCut(isCut, eventOfText(text));
}

/** Returns whether a line is a list of objects or several, as Fluent Bit's `json_stream`. */
function* isRunOfObjects(line: TextLine): Steps<boolean> {
  const isList = LIST.test(typeof line === "string" ? line : line.toString("latin1", 0, BEGIN_BYTES));
  if (typeof line === "string" && !isList && !BETWEEN_OBJECTS.test(line)) return false;
  let count = 0;
  try {
    for (const read of runOfValues(bytesOf(line))) {
      if ("fault" in read) yield read;
      else if (isObject(read.value)) count += 1;
      else return false;
    }
  } catch (error) {
    if (error instanceof LoggiaError) return false;
    throw error;
  }
  return count > 0;
}

/** Bytes examined at the beginning of a line. */
const BEGIN_BYTES = 256;

function bytesOf(line: TextLine): Buffer {
  return typeof line === "string" ? Buffer.from(line) : line;
}

/**
 * Yields the events of lists of objects, or of objects. Other values become text.
 * @throws LoggiaError `bad_body`
 */
export function* eventsOfValues(bytes: Buffer, choice: FieldChoice): Generator<ReadEvent> {
  for (const read of runOfValues(bytes)) {
    if (isPending(read)) {
      yield read;
      continue;
    }
    const { value, isCut } = read;
    const event = isObject(value) ? eventOfMembers(value, choice) : eventOfText(JSON.stringify(value));
    yield tagIfCut(isCut, event);
  }
}
