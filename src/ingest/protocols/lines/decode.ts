import { LoggiaError } from "../../../errors.ts";
import type { FieldChoice } from "../choice.ts";
import { eventOfDocument } from "../document.ts";
import { isObject, parseExactly, withoutMark } from "../json.ts";
import type { Steps } from "../json-scanner.ts";
import { markedIf } from "../line.ts";
import { beginOf, isBlank, linesOf } from "../lines.ts";
import { readOnly } from "../long-json.ts";
import { PENDING } from "../protocol.ts";
import type { ProducerEvent, ReadEvent } from "../protocol.ts";

const NO_ATTRIBUTES: ProducerEvent["attributes"] = new Map();

/**
 * The events of a body with one event a line. Blank lines are none.
 * @param json whether lines that are objects of JSON are read as such; others stay text
 * @throws LoggiaError `bad_body` where there is no event
 */
export function* decodeLines(body: Buffer, json: boolean, choice: FieldChoice): Generator<ReadEvent> {
  let count = 0;
  for (const line of linesOf(withoutMark(body))) {
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
