import { LoggiaError } from "../../../errors.ts";
import type { FieldChoice } from "../choice.ts";
import { eventOfDocument, eventOfText } from "../document.ts";
import { isObject, parseExactly, withoutMark } from "../json.ts";
import { JsonScanner } from "../json-scanner.ts";
import type { Steps } from "../json-scanner.ts";
import { markedIf } from "../line.ts";
import { beginOf, isBlank, LINE_FEED, linesOf } from "../lines.ts";
import { readOnly, runOfValues } from "../long-json.ts";
import { PENDING } from "../protocol.ts";
import type { ProducerEvent, ReadEvent } from "../protocol.ts";

/** `{` and `[`. */
const OPENING: ReadonlySet<number> = new Set([0x7b, 0x5b]);

/** A list of objects, as senders of JSON in batches post it. An empty list is one, too. */
const LIST = /^\s*\[\s*[{\]]/;
/** An object that goes on in the next line. */
const OBJECT = /^\s*\{/;
/** So much of a body is looked at to see what it begins with. */
const BEGIN_BYTES = 256;

/**
 * The events of a body with one event a line. Blank lines are none.
 * @param json whether JSON is read as such: lines that are objects, lists of objects, or objects
 *   over several lines. Other lines stay text
 * @throws LoggiaError `bad_body` where there is no event
 */
export function* decodeLines(given: Buffer, json: boolean, choice: FieldChoice): Generator<ReadEvent> {
  const body = withoutMark(given);
  if (json && (yield* isDocument(body))) return yield* decodeDocument(body, choice);
  let count = 0;
  for (const line of linesOf(body)) {
    if (isBlank(line)) {
      yield PENDING;
      continue;
    }
    count += 1;
    if (typeof line === "string") yield (json ? eventOfJson(line, choice) : null) ?? eventOfText(line);
    else yield (json ? yield* eventOfLong(line, choice) : null) ?? markedIf(true, eventOfText(beginOf(line)));
  }
  if (count === 0) throw new LoggiaError("bad_body", "The body must hold at least one line that is not blank");
}

/**
 * Whether a body is lists of objects, or objects over several lines, and not one value a line: by
 * its first value, and whether another one follows that.
 */
function* isDocument(body: Buffer): Steps<boolean> {
  const begin = body.toString("latin1", 0, BEGIN_BYTES);
  const isList = LIST.test(begin);
  if (!isList && !OBJECT.test(begin)) return false;
  const start = begin.search(/\S/);
  const feed = body.indexOf(LINE_FEED, start);
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

/** The events of lists of objects, or of objects. What is no object stays text. */
function* decodeDocument(body: Buffer, choice: FieldChoice): Generator<ReadEvent> {
  for (const read of runOfValues(body)) {
    if ("fault" in read) {
      yield read;
      continue;
    }
    const { value, isCut } = read;
    yield markedIf(isCut, isObject(value) ? eventOfDocument(value, choice) : eventOfText(JSON.stringify(value)));
  }
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

/** The same of a line that is too long to be parsed at once. */
function* eventOfLong(line: Buffer, choice: FieldChoice): Steps<ProducerEvent | null> {
  try {
    const { value } = yield* readOnly(line);
    return isObject(value) ? markedIf(true, eventOfDocument(value, choice)) : null;
  } catch (error) {
    if (error instanceof LoggiaError) return null;
    throw error;
  }
}
