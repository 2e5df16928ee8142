import { LoggiaError } from "../../../errors.ts";
import { LIST, OBJECT } from "../../../json/json-bytes.ts";
import { USUAL } from "../../kit/choice.ts";
import type { FieldChoice } from "../../kit/choice.ts";
import type { ProducerEvent, ReadEvent } from "../../kit/endpoint.ts";
import { withoutMark } from "../../kit/json.ts";
import { JsonScanner } from "../../kit/json-scanner.ts";
import { eventOfObject, eventOfPlainLine, eventsOfJson, eventsOfValues } from "../../kit/line-events.ts";
import { isPending } from "../../kit/steps.ts";
import type { Steps } from "../../kit/steps.ts";
import { readFilledLines, indexIn, LINE_FEED } from "../../kit/text-lines.ts";
import type { TextLine } from "../../kit/text-lines.ts";

/** Matches the beginning of a list of objects, or of an empty list. */
const LIST_BEGIN = /^\s*\[\s*[{\]]/;
/** Matches the beginning of an object. */
const OBJECT_BEGIN = /^\s*\{/;
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
  if (json && (yield* isDocument(body))) return yield* eventsOfValues(body, choice);
  let count = 0;
  for (const line of readFilledLines(body)) {
    if (isPending(line)) {
      yield line;
      continue;
    }
    count += 1;
    if (!json || !(yield* eventsOfJson(line, choice))) yield eventOfPlainLine(line);
  }
  if (count === 0) throw new LoggiaError("bad_body", "The body must have at least one line that is not blank");
}

/**
 * Returns whether a body holds lists of objects, or objects over several lines, instead of one
 * value per line. It examines the first value and the beginning of the second.
 */
function* isDocument(body: Buffer): Steps<boolean> {
  const begin = body.toString("latin1", 0, BEGIN_BYTES);
  const isList = LIST_BEGIN.test(begin);
  if (!isList && !OBJECT_BEGIN.test(begin)) return false;
  const start = begin.search(/\S/);
  const feed = yield* indexIn(body, LINE_FEED, start);
  if (!isList && feed === -1) return false;
  try {
    const scanner = new JsonScanner(body);
    const end = yield* scanner.endOf(start);
    if (!isList && end <= feed) return false;
    const next = scanner.skipBlank(end);
    return next >= body.length || body[next] === OBJECT.open || body[next] === LIST.open;
  } catch (error) {
    if (error instanceof LoggiaError) return false;
    throw error;
  }
}

/** Decodes a line as {@link decodeLines} does with `json`, without fields chosen by a client. */
export function* eventOfLine(line: TextLine): Steps<ProducerEvent> {
  return (yield* eventOfObject(line, USUAL)) ?? eventOfPlainLine(line);
}
