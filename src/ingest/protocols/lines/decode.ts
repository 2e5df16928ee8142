import { LoggiaError } from "../../../errors.ts";
import { USUAL } from "../../kit/choice.ts";
import type { FieldChoice } from "../../kit/choice.ts";
import { eventOfDocument, eventOfText } from "../../kit/document.ts";
import { isObject, parseExactly, withoutMark } from "../../kit/json.ts";
import { JsonScanner } from "../../kit/json-scanner.ts";
import type { Steps } from "../../kit/steps.ts";
import { tagIfCut } from "../../kit/cut-tag.ts";
import { lineBeginning, readFilledLines, indexIn, LINE_FEED } from "../../kit/text-lines.ts";
import type { TextLine } from "../../kit/text-lines.ts";
import { readOnly, runOfValues } from "../../kit/long-json.ts";
import { isPending } from "../../kit/steps.ts";
import type { ProducerEvent, ReadEvent } from "../../kit/endpoint.ts";

/** `{` and `[`. */
const OPENING: ReadonlySet<number> = new Set([0x7b, 0x5b]);

/** Matches the beginning of a list of objects, or of an empty list. */
const LIST = /^\s*\[\s*[{\]]/;
/** Matches the beginning of an object. */
const OBJECT = /^\s*\{/;
/** Matches what may be the end of an object and the beginning of another. */
const BETWEEN_OBJECTS = /\}[ \t]*\{/;
/** Bytes examined at the beginning of a body. */
const BEGIN_BYTES = 256;

/**
 * Decodes a body with one event per line. Blank lines are skipped.
 * @param json whether to decode JSON: objects of a line each or one behind another, lists of
 * objects, or objects over several lines. Other lines stay text
 * @throws LoggiaError `bad_body` if there is no event
 */
export function* decodeLines(given: Buffer, json: boolean, choice: FieldChoice): Generator<ReadEvent> {
  const body = withoutMark(given);
  if (json && (yield* isDocument(body))) return yield* decodeDocument(body, choice);
  let count = 0;
  for (const line of readFilledLines(body)) {
    if (isPending(line)) {
      yield line;
      continue;
    }
    count += 1;
    const event = json ? yield* eventOfObject(line, choice) : null;
    if (event !== null) yield event;
    else if (json && (yield* isRunOfObjects(line))) yield* decodeDocument(bytesOf(line), choice);
    else yield eventOfPlain(line);
  }
  if (count === 0) throw new LoggiaError("bad_body", "The body must have at least one line that is not blank");
}

/**
 * Returns whether a body holds lists of objects, or objects over several lines, instead of one
 * value per line. It examines the first value and the beginning of the second.
 */
function* isDocument(body: Buffer): Steps<boolean> {
  const begin = body.toString("latin1", 0, BEGIN_BYTES);
  const isList = LIST.test(begin);
  if (!isList && !OBJECT.test(begin)) return false;
  const start = begin.search(/\S/);
  const feed = yield* indexIn(body, LINE_FEED, start);
  if (!isList && feed === -1) return false;
  try {
    const scanner = new JsonScanner(body);
    const end = yield* scanner.endOf(start);
    if (!isList && end <= feed) return false;
    const next = scanner.skipBlank(end);
    return next >= body.length || OPENING.has(body[next]!);
  } catch (error) {
    if (error instanceof LoggiaError) return false;
    throw error;
  }
}

/** Returns whether a line is several objects one behind another, as Fluent Bit's `json_stream`. */
function* isRunOfObjects(line: TextLine): Steps<boolean> {
  if (typeof line === "string" && !BETWEEN_OBJECTS.test(line)) return false;
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
  return count > 1;
}

function bytesOf(line: TextLine): Buffer {
  return typeof line === "string" ? Buffer.from(line) : line;
}

/** Yields the events of lists of objects, or of objects. Other values become text. */
function* decodeDocument(body: Buffer, choice: FieldChoice): Generator<ReadEvent> {
  for (const read of runOfValues(body)) {
    if ("fault" in read) {
      yield read;
      continue;
    }
    const { value, isCut } = read;
    yield tagIfCut(isCut, isObject(value) ? eventOfDocument(value, choice) : eventOfText(JSON.stringify(value)));
  }
}

/** Decodes a line as {@link decodeLines} does with `json`, without fields chosen by a client. */
export function* eventOfLine(line: TextLine): Steps<ProducerEvent> {
  return (yield* eventOfObject(line, USUAL)) ?? eventOfPlain(line);
}

function eventOfPlain(line: TextLine): ProducerEvent {
  if (typeof line === "string") return eventOfText(line);
  const { text, isCut } = lineBeginning(line);
  return tagIfCut(isCut, eventOfText(text));
}

/** Returns the event of a line that is a JSON object; null for other lines. */
function* eventOfObject(line: TextLine, choice: FieldChoice): Steps<ProducerEvent | null> {
  return typeof line === "string" ? eventOfJson(line, choice) : yield* eventOfLong(line, choice);
}

function eventOfJson(line: string, choice: FieldChoice): ProducerEvent | null {
  if (!line.trimStart().startsWith("{")) return null;
  let document: unknown;
  try {
    document = parseExactly(line);
  } catch {
    return null;
  }
  return isObject(document) ? eventOfDocument(document, choice) : null;
}

/** Like {@link eventOfJson}, for a line that is too long to be parsed at once. */
function* eventOfLong(line: Buffer, choice: FieldChoice): Steps<ProducerEvent | null> {
  try {
    const { value, isCut } = yield* readOnly(line);
    return isObject(value) ? tagIfCut(isCut, eventOfDocument(value, choice)) : null;
  } catch (error) {
    if (error instanceof LoggiaError) return null;
    throw error;
  }
}
